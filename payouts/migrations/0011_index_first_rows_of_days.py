from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("payouts", "0010_exchange_rates"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="dailystats",
            index=models.Index(
                fields=["account", "day"],
                condition=models.Q(program=None, affiliate=None),
                name="stored_days",
            ),
        ),
    ]
