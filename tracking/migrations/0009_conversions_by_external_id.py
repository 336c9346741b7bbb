from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False  # AddIndexConcurrently

    dependencies = [("tracking", "0008_suffixes_of_affiliates")]

    operations = [
        AddIndexConcurrently(
            model_name="conversion",
            index=models.Index(
                fields=["account", "external_id"],
                name="conversions_by_external_id",
                opclasses=["int8_ops", "varchar_pattern_ops"],
            ),
        ),
        migrations.RemoveIndex(model_name="conversion", name="deleted_conversions_by_id"),
    ]
