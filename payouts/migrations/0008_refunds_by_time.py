from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("payouts", "0007_alerts"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="refund",
            index=models.Index(fields=["account", "created_at"], name="refunds_by_time"),
        ),
    ]
