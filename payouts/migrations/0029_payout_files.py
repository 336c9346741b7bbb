"""The files of payout runs, each as it was when it was first made."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import tracking.amounts


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_role_finance"),
        ("payouts", "0028_encrypted_payer_iban"),
    ]

    operations = [
        migrations.CreateModel(
            name="PayoutFile",
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
                ("format", models.CharField(max_length=16)),
                ("message_id", models.CharField(max_length=35, null=True)),
                ("currency", models.CharField(max_length=3)),
                ("payments", models.JSONField(default=list)),
                ("control_sum", tracking.amounts.AmountField()),
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
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.payoutrun",
                    ),
                ),
            ],
            options={
                "default_related_name": "payout_files",
                "indexes": [models.Index(fields=["account", "run"], name="payout_files_by_run")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "message_id"),
                        name="one_payout_file_per_message_id",
                    )
                ],
            },
        ),
    ]
