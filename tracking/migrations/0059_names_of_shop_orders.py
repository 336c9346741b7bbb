from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0019_click_days"),
        ("tracking", "0058_codes_in_any_case"),
    ]

    operations = [
        migrations.AddField(
            model_name="shoporder",
            name="name",
            field=models.CharField(blank=True, db_default="", default="", max_length=255),
        ),
    ]
