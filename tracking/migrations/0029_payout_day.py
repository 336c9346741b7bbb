"""The day of the month on which payments are planned."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0028_click_sub_id")]

    operations = [
        migrations.AddField(
            model_name="portalsettings",
            name="payout_day",
            field=models.PositiveSmallIntegerField(null=True),
        )
    ]
