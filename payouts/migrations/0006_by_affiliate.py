"""Index ledger accounts and statistics by affiliate: unique indexes have it last.

No balance is part of an index, so a change of balance still changes none.
"""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payouts", "0005_transfers_newest_first")]

    operations = [
        AddIndexConcurrently(
            model_name="ledgeraccount",
            index=models.Index(
                fields=["account", "affiliate"], name="ledger_accounts_by_affiliate"
            ),
        ),
        AddIndexConcurrently(
            model_name="dailystats",
            index=models.Index(
                fields=["account", "affiliate", "day"], name="daily_stats_of_affiliate"
            ),
        ),
    ]
