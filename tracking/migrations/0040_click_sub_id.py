"""Add the sub-id that an affiliate puts into a link."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0023_affiliate_language")]

    operations = [
        migrations.AddField(
            model_name="click",
            name="sub_id",
            field=models.CharField(max_length=64, null=True),
        )
    ]
