"""What the models do not say: plans, a log that nobody changes, counters that may be lost."""

from django.db import migrations

from accounts.append_only import AllowDeletionWithAccount
from accounts.migration_operations import MakeUnlogged, RefuseFormerDatabase

FEATURES = ("api", "clicks", "bonuses", "mlm", "payouts")
PLANS = {
    "basic": (),
    "pro": ("api", "clicks"),
    "enterprise": FEATURES,
}


def create_plans(apps, schema_editor):
    plans = apps.get_model("accounts", "Plan").objects.using(schema_editor.connection.alias)
    for name, features in PLANS.items():
        plans.create(name=name, **dict.fromkeys(features, True))


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        RefuseFormerDatabase(),
        migrations.RunPython(create_plans, migrations.RunPython.noop),
        AllowDeletionWithAccount("auditlogentry"),
        MakeUnlogged("ratewindow"),
    ]
