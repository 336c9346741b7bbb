"""Index the enrollments and notes of an account as the back office lists them."""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("tracking", "0010_customer_emails")]

    operations = [
        AddIndexConcurrently(
            model_name="enrollment",
            index=models.Index(
                fields=["account", "-applied_at", "-id"],
                name="applications_newest_first",
            ),
        ),
        AddIndexConcurrently(
            model_name="note",
            index=models.Index(fields=["account", "-created_at", "-id"], name="notes_newest_first"),
        ),
    ]
