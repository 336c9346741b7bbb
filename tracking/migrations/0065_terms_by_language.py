"""Texts of the terms by language, and in which one an affiliate accepted them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tracking", "0064_mark_claimed_facts")]

    operations = [
        migrations.AddField(
            model_name="portalterms",
            name="translations",
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddField(
            model_name="termsacceptance",
            name="language",
            field=models.CharField(blank=True, db_default="", default="", max_length=8),
        ),
    ]
