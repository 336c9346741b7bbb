"""Columns for what a page alone has stated, and for what several pages claim."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0012_former_external_ids")]

    operations = [
        migrations.AddField(
            model_name=model_name,
            name=name,
            field=models.BooleanField(db_default=False, default=False),
        )
        for model_name, name in (
            ("conversion", "is_amount_claimed"),
            ("conversion", "is_contested"),
            ("customer", "is_contested"),
        )
    ]
