from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0062_addresses_without_quotes")]

    operations = [
        migrations.AddField(
            model_name="shopevent",
            name="is_claim",
            field=models.BooleanField(db_default=False, default=False),
        )
    ]
