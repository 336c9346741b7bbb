"""Index the transfers of an account in the order in which the back office lists them.

By the primary key alone, the database passed the newer rows of all other accounts.
"""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payouts", "0004_bonus_ended_at")]

    operations = [
        AddIndexConcurrently(
            model_name="transfer",
            index=models.Index(fields=["account", "-id"], name="transfers_newest_first"),
        )
    ]
