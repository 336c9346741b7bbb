"""Find conversions by any part of their order IDs."""

from django.db import migrations

from accounts.text_parts import IndexTextParts


class Migration(migrations.Migration):
    atomic = False  # IndexTextParts

    dependencies = [("tracking", "0017_program_group")]

    operations = [IndexTextParts("conversion", "external_id")]
