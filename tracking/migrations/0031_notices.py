"""Which mails an affiliate wants."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0030_email_changes")]

    operations = [
        migrations.AddField(
            model_name="affiliate",
            name="notices",
            field=models.JSONField(null=True),
        )
    ]
