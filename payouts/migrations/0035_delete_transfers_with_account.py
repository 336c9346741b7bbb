"""Let the ledger give up the transfers of an account that is being deleted."""

from django.db import migrations

from accounts.append_only import AllowDeletionWithAccount


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0021_account_deletions"),
        ("payouts", "0034_earlier_debits"),
    ]

    operations = [AllowDeletionWithAccount("transfer")]
