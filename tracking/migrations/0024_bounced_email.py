"""The e-mail address to which mail could not be delivered."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0023_affiliate_language")]

    operations = [
        migrations.AddField(
            model_name="affiliate",
            name="bounced_email",
            field=models.CharField(max_length=762, null=True),
        )
    ]
