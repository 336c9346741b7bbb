"""Index the transfers that are of no commission and no payment: opening balances.

Each payment asks for those of its affiliate, whose other transfers are many.
"""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payouts", "0025_opening_balances")]

    operations = [
        AddIndexConcurrently(
            model_name="transfer",
            index=models.Index(
                fields=["account", side],
                condition=models.Q(commission=None, payment=None),
                name=f"other_transfers_by_{side}",
            ),
        )
        for side in ("debit", "credit")
    ]
