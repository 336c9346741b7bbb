"""Find what somebody did, and when something was done, without reading all entries."""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False  # AddIndexConcurrently

    dependencies = [("accounts", "0015_logo_and_link_color")]

    operations = [
        AddIndexConcurrently(
            model_name="auditlogentry",
            index=models.Index(fields=["account", "actor", "-id"], name="audit_log_by_actor"),
        ),
        AddIndexConcurrently(
            model_name="auditlogentry",
            index=models.Index(fields=["account", "kind", "-id"], name="audit_log_by_kind"),
        ),
    ]
