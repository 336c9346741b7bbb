"""Add the ids of the shop that conversions had before they were changed."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("tracking", "0011_newest_first"),
    ]

    operations = [
        migrations.CreateModel(
            name="FormerExternalId",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("external_id", models.CharField(max_length=255)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "conversion",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="former_external_ids",
                        to="tracking.conversion",
                    ),
                ),
            ],
            options={
                "default_related_name": "former_external_ids",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "external_id", "conversion"),
                        name="one_former_external_id_per_conversion",
                    )
                ],
            },
        ),
    ]
