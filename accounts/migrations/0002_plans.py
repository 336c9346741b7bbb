from django.db import migrations

FEATURES = ("api", "clicks", "bonuses", "mlm", "payouts")
PLANS = {
    "basic": (),
    "pro": ("api", "clicks"),
    "enterprise": FEATURES,
}


def add_plans(apps, schema_editor):
    plans = apps.get_model("accounts", "Plan").objects.using(
        schema_editor.connection.alias
    )
    for name, features in PLANS.items():
        plans.create(name=name, **dict.fromkeys(features, True))


def remove_plans(apps, schema_editor):
    plans = apps.get_model("accounts", "Plan").objects.using(
        schema_editor.connection.alias
    )
    plans.filter(name__in=PLANS).delete()


class Migration(migrations.Migration):
    """The plans that exist from the first day."""

    dependencies = [("accounts", "0001_initial")]
    operations = [migrations.RunPython(add_plans, remove_plans)]
