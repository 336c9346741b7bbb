"""The name of the sender of mail to affiliates."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0035_applications")]

    operations = [
        migrations.AddField(
            model_name="portalsettings",
            name="sender_name",
            field=models.CharField(max_length=255, null=True),
        )
    ]
