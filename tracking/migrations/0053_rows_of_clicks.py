"""Indexes of the rows that name a click, by which it can be removed."""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently

IS_NAMED = models.Q(click__isnull=False)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("tracking", "0052_pruned_click_counts")]

    operations = [
        AddIndexConcurrently(
            model_name="customer",
            index=models.Index(fields=["click"], condition=IS_NAMED, name="customers_of_click"),
        ),
        AddIndexConcurrently(
            model_name="conversion",
            index=models.Index(fields=["click"], condition=IS_NAMED, name="conversions_of_click"),
        ),
        AddIndexConcurrently(
            model_name="conversionclaim",
            index=models.Index(fields=["click"], condition=IS_NAMED, name="claims_of_click"),
        ),
        AddIndexConcurrently(
            model_name="visitor",
            index=models.Index(fields=["click"], name="visitors_of_click"),
        ),
    ]
