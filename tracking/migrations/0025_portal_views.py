"""Sessions of staff, who see the portal as an affiliate does."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def refer_to_viewer():
    """A column of each table."""
    return models.ForeignKey(
        db_index=False,
        null=True,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to=settings.AUTH_USER_MODEL,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("tracking", "0024_bounced_email"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("portallink", "viewed_by", refer_to_viewer()),
        migrations.AddField("portalsession", "viewed_by", refer_to_viewer()),
        migrations.AlterField(
            model_name="portallink",
            name="purpose",
            field=models.CharField(
                choices=[
                    ("sign_in", "Sign In"),
                    ("set_password", "Set Password"),
                    ("view", "View"),
                ],
                max_length=16,
            ),
        ),
    ]
