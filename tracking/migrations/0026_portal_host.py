"""The host of a portal, if the company has one for it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0025_portal_views")]

    operations = [
        migrations.AddField(
            model_name="portalsettings",
            name="host",
            field=models.CharField(max_length=253, null=True),
        )
    ]
