"""Add payout runs, their lines, minimums and settings."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import accounts.encryption
import tracking.amounts


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0017_quarters_of_stale_days"),
        ("payouts", "0018_due_at_and_wise"),
        ("tracking", "0020_hold_days"),
    ]

    operations = [
        migrations.CreateModel(
            name="PayoutRun",
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
                ("public_id", models.CharField(max_length=32, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("confirmed", "Confirmed"),
                            ("exported", "Exported"),
                            ("settled", "Settled"),
                            ("partly_failed", "Partly Failed"),
                            ("discarded", "Discarded"),
                        ],
                        default="draft",
                        max_length=16,
                    ),
                ),
                ("due_before", models.DateTimeField()),
                ("basis", models.JSONField(default=dict)),
                ("note", models.CharField(blank=True, max_length=500)),
                ("created_by", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("confirmed_by", models.CharField(blank=True, max_length=255)),
                ("confirmed_at", models.DateTimeField(null=True)),
                ("exported_at", models.DateTimeField(null=True)),
                ("payer", accounts.encryption.EncryptedJSONField(default=dict)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "default_related_name": "payout_runs",
            },
        ),
        migrations.CreateModel(
            name="PayoutLine",
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
                ("currency", models.CharField(max_length=3)),
                ("amount", tracking.amounts.AmountField()),
                (
                    "method",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("paypal", "PayPal"),
                            ("wire_transfer", "Wire transfer"),
                            ("bank", "Bank account"),
                            ("wise", "Wise"),
                            ("other", "Other"),
                        ],
                        default="",
                        max_length=16,
                    ),
                ),
                ("commission_count", models.PositiveIntegerField(default=0)),
                ("fingerprint", models.CharField(blank=True, max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("included", "Included"),
                            ("left_out", "Left Out"),
                            ("taken_out", "Taken Out"),
                            ("unknown", "no answer yet"),
                            ("settled", "Settled"),
                            ("returned", "refused or returned"),
                            ("canceled", "Canceled"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("below_minimum", "below the minimum"),
                            ("on_hold", "on hold"),
                            ("no_method", "no payout method"),
                            ("method_incomplete", "payout method incomplete"),
                            ("method_on_hold", "payout method to check"),
                            ("negative_balance", "negative balance"),
                            ("withheld", "taken out by staff"),
                        ],
                        max_length=32,
                    ),
                ),
                ("note", models.CharField(blank=True, max_length=500)),
                ("receiver", accounts.encryption.EncryptedJSONField(default=dict)),
                ("bank_reference", models.CharField(blank=True, max_length=255)),
                ("bank_reason", models.CharField(blank=True, max_length=500)),
                ("answered_on", models.DateField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "affiliate",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.affiliate",
                    ),
                ),
                (
                    "payment",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.payment",
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
                "default_related_name": "payout_lines",
            },
        ),
        migrations.CreateModel(
            name="PayoutSettings",
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
                ("payer_name", models.CharField(blank=True, max_length=70)),
                (
                    "payer_iban",
                    models.CharField(blank=True, max_length=34, verbose_name="payer IBAN"),
                ),
                (
                    "payer_bic",
                    models.CharField(blank=True, max_length=11, verbose_name="payer BIC"),
                ),
                ("payer_street", models.CharField(blank=True, max_length=70)),
                ("payer_building", models.CharField(blank=True, max_length=16)),
                ("payer_postal_code", models.CharField(blank=True, max_length=16)),
                ("payer_city", models.CharField(blank=True, max_length=35)),
                ("payer_country", models.CharField(blank=True, max_length=2)),
                ("requires_second_person", models.BooleanField(default=False)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "default_related_name": "payout_settings",
            },
        ),
        migrations.CreateModel(
            name="PayoutMinimum",
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
                ("currency", models.CharField(max_length=3)),
                ("amount", tracking.amounts.AmountField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "affiliate",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.affiliate",
                    ),
                ),
            ],
            options={
                "default_related_name": "payout_minimums",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "affiliate", "currency"),
                        name="one_payout_minimum_per_affiliate",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("affiliate", None)),
                        fields=("account", "currency"),
                        name="one_payout_minimum_per_currency",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("amount__gt", 0)),
                        name="payout_minimum_positive",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="payoutrun",
            index=models.Index(
                fields=["account", "-created_at", "-id"],
                name="payout_runs_newest_first",
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutrun",
            constraint=models.UniqueConstraint(
                fields=("account", "public_id"), name="one_payout_run_per_id"
            ),
        ),
        migrations.AddIndex(
            model_name="payoutline",
            index=models.Index(
                fields=["account", "affiliate", "-id"], name="payout_lines_by_affiliate"
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutline",
            constraint=models.UniqueConstraint(
                fields=("account", "run", "affiliate", "currency"),
                name="one_payout_line_per_balance",
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutline",
            constraint=models.UniqueConstraint(
                fields=("account", "payment"), name="one_payout_line_per_payment"
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutsettings",
            constraint=models.UniqueConstraint(
                fields=("account",), name="one_payout_settings_per_account"
            ),
        ),
    ]
