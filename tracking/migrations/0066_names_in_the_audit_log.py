"""Give each affiliate a random ID for the audit log, which an account that moves keeps."""

from functools import partial

from django.db import migrations, models

from accounts.ids import generate_public_id

generate_log_id = partial(generate_public_id, "af")


def fill(apps, schema_editor):
    rows = apps.get_model("tracking", "affiliate").objects
    for pk in rows.values_list("pk", flat=True):
        rows.filter(pk=pk).update(log_id=generate_log_id())


class Migration(migrations.Migration):
    dependencies = [
        ("tracking", "0065_terms_by_language"),
    ]

    operations = [
        migrations.AddField(
            model_name="affiliate",
            name="log_id",
            field=models.CharField(max_length=32, null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="affiliate",
            name="log_id",
            field=models.CharField(max_length=32, default=generate_log_id),
        ),
        migrations.AddConstraint(
            model_name="affiliate",
            constraint=models.UniqueConstraint(
                fields=["account", "log_id"], name="one_affiliate_per_log_id"
            ),
        ),
    ]
