"""Find payout methods with equal details."""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("payouts", "0020_payout_method_checks"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="payoutmethod",
            index=models.Index(
                fields=["account", "blind_index"],
                condition=models.Q(blind_index__isnull=False),
                name="payout_methods_by_index",
            ),
        ),
    ]
