from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("payouts", "0005_commissions_under_review"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="commission",
            index=models.Index(
                condition=models.Q(("under_review_since__isnull", False)),
                fields=["account", "affiliate"],
                name="commissions_under_review",
            ),
        ),
    ]
