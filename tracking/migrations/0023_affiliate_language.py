"""The language that an affiliate chose for the portal and for mail."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0022_portal")]

    operations = [
        migrations.AddField(
            model_name="affiliate",
            name="language",
            field=models.CharField(max_length=8, null=True),
        )
    ]
