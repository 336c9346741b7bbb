"""Further hosts of shops, and when affiliates chose their codes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0056_settings_of_table_imports")]

    operations = [
        migrations.AddField(
            model_name="program",
            name="shop_hosts",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="enrollment",
            name="code_chosen_at",
            field=models.DateTimeField(null=True),
        ),
    ]
