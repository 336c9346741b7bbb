"""Index the status of deleted commissions too, which the back office lists."""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payouts", "0002_ledger_digest")]

    operations = [
        AddIndexConcurrently(
            model_name="commission",
            index=models.Index(
                fields=["account", "status", "-created_at", "-id"],
                name="commissions_with_status",
            ),
        ),
        migrations.RemoveIndex(model_name="commission", name="commissions_by_status"),
    ]
