"""The day of the month on which payments are planned."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0023_affiliate_language")]

    operations = [
        migrations.AddField(
            model_name="portalsettings",
            name="payout_day",
            field=models.PositiveSmallIntegerField(null=True),
        )
    ]
