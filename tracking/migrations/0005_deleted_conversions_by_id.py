from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False  # AddIndexConcurrently

    dependencies = [("tracking", "0004_page_calls")]

    operations = [
        AddIndexConcurrently(
            model_name="conversion",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", False)),
                fields=["account", "external_id"],
                name="deleted_conversions_by_id",
            ),
        ),
    ]
