"""When an affiliate was last invited to the portal, and last signed in."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0038_contact_email")]

    operations = [
        migrations.AddField(
            model_name="affiliate",
            name=name,
            field=models.DateTimeField(null=True),
        )
        for name in ("invited_at", "signed_in_at")
    ]
