"""An index of the conversions with a warning, which staff check."""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("tracking", "0018_parts_of_order_ids")]

    operations = [
        AddIndexConcurrently(
            model_name="conversion",
            index=models.Index(
                fields=["account", "-created_at", "-id"],
                condition=models.Q(warnings__isnull=False),
                name="conversions_to_check",
            ),
        ),
    ]
