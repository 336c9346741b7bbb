"""Let nothing but the deletion of an account change transfers, nothing at all digests."""

from django.db import migrations

from accounts.append_only import AllowDeletionWithAccount, MakeAppendOnly


class Migration(migrations.Migration):
    dependencies = [
        ("payouts", "0001_initial"),
        ("accounts", "0002_plans_and_triggers"),
    ]

    operations = [AllowDeletionWithAccount("transfer"), MakeAppendOnly("ledgerdigest")]
