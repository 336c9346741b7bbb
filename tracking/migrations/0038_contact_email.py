"""The address that affiliates write to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0037_connections")]

    operations = [
        migrations.AddField(
            model_name="portalsettings",
            name="contact_email",
            field=models.CharField(max_length=254, null=True),
        )
    ]
