"""An index of the failed events of shops, which the dashboard counts."""

from django.db import migrations, models

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("tracking", "0041_link_parameters")]

    operations = [
        AddIndexConcurrently(
            model_name="shopevent",
            index=models.Index(
                fields=["account", "-created_at", "-id"],
                condition=models.Q(state="failed"),
                name="shop_events_failed",
            ),
        ),
    ]
