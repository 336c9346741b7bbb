"""Index the parts of order IDs, of which staff search with any."""

from django.db import migrations

from accounts.text_parts import IndexTextParts


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("tracking", "0001_initial"),
        ("accounts", "0002_plans_and_triggers"),
    ]

    operations = [IndexTextParts("conversion", "external_id")]
