"""When an affiliate asked in the portal to be removed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0032_questions")]

    operations = [
        migrations.AddField(
            model_name="affiliate",
            name="deletion_asked_at",
            field=models.DateTimeField(null=True),
        )
    ]
