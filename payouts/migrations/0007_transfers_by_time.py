"""Index the transfers of an account by time: the back office filters them by days.

The index of their ids alone goes: nothing else lists them.
"""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payouts", "0006_by_affiliate")]

    operations = [
        AddIndexConcurrently(
            model_name="transfer",
            index=models.Index(fields=["account", "-created_at", "-id"], name="transfers_by_time"),
        ),
        migrations.RemoveIndex(model_name="transfer", name="transfers_newest_first"),
    ]
