"""Self-billing documents, and settings of mail about payments."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import accounts.encryption
import tracking.amounts


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_role_finance"),
        ("payouts", "0022_encrypted_payout_details"),
        ("tracking", "0021_mails"),
    ]

    operations = [
        migrations.AddField(
            model_name="payoutline",
            name="settled_on",
            field=models.DateField(null=True),
        ),
        migrations.AddField(
            model_name="payoutsettings",
            name="document_prefix",
            field=models.CharField(db_default="SB-", default="SB-", max_length=16),
        ),
        migrations.AddField(
            model_name="payoutsettings",
            name="documents_from",
            field=models.DateField(null=True),
        ),
        migrations.AddField(
            model_name="payoutsettings",
            name="mail_subject",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="payoutsettings",
            name="mail_text",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.AddField(
            model_name="payoutsettings",
            name="mails_payments",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="payoutsettings",
            name="payer_vat_id",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                max_length=32,
                verbose_name="payer VAT ID",
            ),
        ),
        migrations.CreateModel(
            name="Document",
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
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("self_billing", "Self-billing document"),
                            ("correction", "Correction"),
                        ],
                        max_length=16,
                    ),
                ),
                ("year", models.PositiveSmallIntegerField()),
                ("number", models.PositiveIntegerField()),
                ("label", models.CharField(max_length=48, verbose_name="number")),
                ("issued_on", models.DateField()),
                ("first_day", models.DateField(null=True)),
                ("last_day", models.DateField(null=True)),
                ("currency", models.CharField(max_length=3)),
                ("net", tracking.amounts.AmountField()),
                ("vat", tracking.amounts.AmountField(verbose_name="VAT")),
                ("total", tracking.amounts.AmountField()),
                (
                    "vat_rate",
                    models.DecimalField(decimal_places=2, max_digits=5, verbose_name="VAT rate"),
                ),
                ("sentence", models.CharField(blank=True, max_length=500)),
                ("issuer", accounts.encryption.EncryptedJSONField(default=dict)),
                ("supplier", accounts.encryption.EncryptedJSONField(default=dict)),
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
                    "affiliate",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.affiliate",
                    ),
                ),
                (
                    "corrects",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.document",
                    ),
                ),
                (
                    "payment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.payment",
                    ),
                ),
            ],
            options={
                "default_related_name": "documents",
                "indexes": [
                    models.Index(
                        fields=["account", "affiliate", "-id"],
                        name="documents_by_affiliate",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "year", "number"),
                        name="one_document_per_number",
                    ),
                    models.UniqueConstraint(
                        fields=("account", "label"), name="one_document_per_label"
                    ),
                    models.UniqueConstraint(
                        fields=("account", "payment", "kind"),
                        name="one_document_of_a_kind_per_payment",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DocumentSequence",
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
                ("year", models.PositiveSmallIntegerField()),
                ("last_number", models.PositiveIntegerField(default=0)),
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
                "default_related_name": "document_sequences",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "year"),
                        name="one_document_sequence_per_year",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TaxData",
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
                ("is_business", models.BooleanField()),
                ("country", models.CharField(max_length=2)),
                (
                    "vat_id",
                    models.CharField(blank=True, max_length=32, verbose_name="VAT ID"),
                ),
                ("consented_on", models.DateField(null=True)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
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
            ],
            options={
                "default_related_name": "tax_data",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "affiliate"),
                        name="one_tax_data_per_affiliate",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TaxRule",
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
                ("is_business", models.BooleanField()),
                ("country", models.CharField(blank=True, max_length=2)),
                ("rate", models.DecimalField(decimal_places=2, max_digits=5)),
                ("sentence", models.CharField(blank=True, max_length=500)),
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
                "default_related_name": "tax_rules",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "is_business", "country"),
                        name="one_tax_rule_per_country",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("rate__gte", 0), ("rate__lt", 100)),
                        name="tax_rule_rate_in_range",
                    ),
                ],
            },
        ),
    ]
