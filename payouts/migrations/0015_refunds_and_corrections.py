"""Add refunds of conversions, and the reasons of corrections."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import tracking.amounts


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0015_logo_and_link_color"),
        ("payouts", "0014_reason_codes"),
        ("tracking", "0017_program_group"),
    ]

    operations = [
        migrations.CreateModel(
            name="Correction",
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
                ("reason", models.CharField(max_length=500)),
                ("actor", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                        related_name="corrections",
                        to="tracking.conversion",
                    ),
                ),
            ],
            options={
                "default_related_name": "corrections",
                "indexes": [
                    models.Index(
                        fields=["account", "conversion"],
                        name="corrections_of_conversion",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Refund",
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
                ("external_id", models.CharField(max_length=255, null=True)),
                ("amount", tracking.amounts.AmountField()),
                ("currency", models.CharField(max_length=3)),
                ("is_full", models.BooleanField()),
                ("lines", models.JSONField(default=list)),
                ("reason", models.CharField(max_length=500)),
                ("actor", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                        related_name="refunds",
                        to="tracking.conversion",
                    ),
                ),
            ],
            options={
                "default_related_name": "refunds",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "conversion", "external_id"),
                        name="one_refund_per_external_id",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("amount__gte", 0)),
                        name="refund_amount_not_negative",
                    ),
                ],
            },
        ),
    ]
