"""Add the hold of programs and groups."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tracking", "0019_conversions_to_check"),
    ]

    operations = [
        migrations.AddField(
            model_name="affiliategroup",
            name="hold_days",
            field=models.PositiveSmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="program",
            name="hold_days",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
    ]
