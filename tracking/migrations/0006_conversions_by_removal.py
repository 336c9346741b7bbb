"""An index of removed conversions, for the number of refunds in a period."""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("tracking", "0005_deleted_conversions_by_id")]

    operations = [
        AddIndexConcurrently(
            model_name="conversion",
            index=models.Index(
                fields=["account", "deleted_at"],
                condition=models.Q(deleted_at__isnull=False),
                name="conversions_by_removal",
            ),
        ),
    ]
