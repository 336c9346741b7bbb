from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False  # AddIndexConcurrently

    dependencies = [
        ("payouts", "0012_granted_until"),
    ]

    operations = [
        migrations.AddField(
            model_name="commission",
            name="goal_missed_at",
            field=models.DateTimeField(null=True),
        ),
        AddIndexConcurrently(
            model_name="commission",
            index=models.Index(
                fields=["account", "-created_at", "-id"],
                condition=models.Q(("goal_missed_at__isnull", False)),
                name="commissions_of_missed_goals",
            ),
        ),
    ]
