import django.db.models.deletion
import django.db.models.functions.comparison
import django.utils.timezone
from django.db import migrations, models

import accounts.encryption
import tracking.amounts


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("tracking", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Bonus",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.CharField(max_length=32)),
                ("title", models.CharField(max_length=255)),
                (
                    "goal_type",
                    models.CharField(
                        choices=[
                            ("conversions", "Conversions"),
                            ("conversion_amount", "Conversion amount"),
                        ],
                        max_length=32,
                    ),
                ),
                ("goal", tracking.amounts.AmountField()),
                (
                    "period",
                    models.CharField(
                        choices=[
                            ("week", "Week"),
                            ("month", "Month"),
                            ("quarter", "Quarter"),
                            ("year", "Year"),
                            ("all_time", "All time"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("percentage", "Percentage"), ("fixed", "Fixed")], max_length=16
                    ),
                ),
                ("value", tracking.amounts.AmountField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(null=True)),
                ("granted_until", models.DateField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "program",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.program",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "bonuses",
                "default_related_name": "bonuses",
                "indexes": [models.Index(fields=["account", "program"], name="bonuses_by_program")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "public_id"), name="unique_bonus_public_id"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("goal__gte", 0), ("value__gte", 0)),
                        name="bonus_amounts_not_negative",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CommissionType",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("identifier", models.CharField(max_length=64)),
                ("title", models.CharField(max_length=255)),
                (
                    "kind",
                    models.CharField(
                        choices=[("percentage", "Percentage"), ("fixed", "Fixed")], max_length=16
                    ),
                ),
                ("value", tracking.amounts.AmountField()),
                ("is_default", models.BooleanField(default=False)),
                (
                    "mlm",
                    models.BooleanField(db_default=True, default=True, verbose_name="pays parents"),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "program",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="commission_types",
                        to="tracking.program",
                    ),
                ),
            ],
            options={
                "default_related_name": "commission_types",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "program", "identifier"),
                        name="unique_commission_type_identifier",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_default", True)),
                        fields=("account", "program"),
                        name="unique_default_commission_type",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("value__gte", 0)),
                        name="commission_type_value_not_negative",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Correction",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                    models.Index(fields=["account", "conversion"], name="corrections_of_conversion")
                ],
            },
        ),
        migrations.CreateModel(
            name="DailyLandingPageClicks",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("landing_page", models.TextField()),
                ("clicks", models.PositiveIntegerField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="daily_landing_page_clicks",
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["account", "day"], name="landing_page_clicks_by_day")
                ],
            },
        ),
        migrations.CreateModel(
            name="DailyStats",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("time_zone", models.CharField(db_default="UTC", max_length=64)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("clicks", models.PositiveIntegerField(default=0)),
                ("customers", models.PositiveIntegerField(default=0)),
                ("conversions", models.PositiveIntegerField(default=0)),
                ("revenue", tracking.amounts.AmountField(null=True)),
                ("commissions_pending", tracking.amounts.AmountField(null=True)),
                ("commissions_approved", tracking.amounts.AmountField(null=True)),
                ("commissions_disapproved", tracking.amounts.AmountField(null=True)),
                ("paid", tracking.amounts.AmountField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="daily_stats",
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
                (
                    "program",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.program",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["account", "affiliate", "day"], name="daily_stats_of_affiliate"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("account"),
                        models.F("day"),
                        django.db.models.functions.comparison.Coalesce("program", 0),
                        django.db.models.functions.comparison.Coalesce("affiliate", 0),
                        models.F("currency"),
                        name="one_row_of_daily_stats",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DocumentSequence",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                        fields=("account", "year"), name="one_document_sequence_per_year"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="GroupRate",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("percentage", "Percentage"), ("fixed", "Fixed")], max_length=16
                    ),
                ),
                ("value", tracking.amounts.AmountField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "commission_type",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.commissiontype",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.affiliategroup",
                    ),
                ),
            ],
            options={
                "default_related_name": "group_rates",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "commission_type", "group"), name="unique_group_rate"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("value__gte", 0)), name="group_rate_value_not_negative"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LedgerAccount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("expense", "Expense"),
                            ("pending", "Pending"),
                            ("payable", "Payable"),
                            ("paid", "Paid"),
                            ("funding", "Funding"),
                            ("external", "External"),
                            ("withholding_tax", "Withholding tax"),
                        ],
                        max_length=16,
                    ),
                ),
                ("balance", tracking.amounts.AmountField(null=True)),
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
                "verbose_name": "balance",
                "verbose_name_plural": "balances",
                "default_related_name": "ledger_accounts",
                "indexes": [
                    models.Index(
                        fields=["account", "affiliate"], name="ledger_accounts_by_affiliate"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("affiliate__isnull", False)),
                        fields=("account", "currency", "kind", "affiliate"),
                        name="unique_affiliate_ledger_account",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("affiliate", None)),
                        fields=("account", "currency", "kind"),
                        name="unique_tenant_ledger_account",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("balance", None),
                            models.Q(
                                ("balance__gt", -900000000000000), ("balance__lt", 900000000000000)
                            ),
                            _connector="OR",
                        ),
                        name="ledger_account_balance_in_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LedgerDigest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("previous", models.CharField(blank=True, max_length=64)),
                ("sealed_until", models.DateTimeField()),
                ("segments", models.JSONField()),
                ("digest", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("previous",), name="one_ledger_digest_per_predecessor"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Level",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("level", models.PositiveSmallIntegerField()),
                ("title", models.CharField(max_length=255)),
                (
                    "kind",
                    models.CharField(
                        choices=[("percentage", "Percentage"), ("fixed", "Fixed")], max_length=16
                    ),
                ),
                ("value", tracking.amounts.AmountField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "program",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.program",
                    ),
                ),
            ],
            options={
                "default_related_name": "levels",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "program", "level"), name="unique_program_level"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("value__gte", 0), ("level__gte", 2)),
                        name="level_at_least_minimum",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Payment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.CharField(max_length=32, verbose_name="ID")),
                ("amount", tracking.amounts.AmountField()),
                ("tax_withheld", tracking.amounts.AmountField(null=True)),
                ("currency", models.CharField(max_length=3)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("canceled_at", models.DateTimeField(null=True, verbose_name="canceled")),
                ("cancel_reason", models.CharField(db_default="", default="", max_length=500)),
                (
                    "payout_kind",
                    models.CharField(
                        choices=[
                            ("", "none"),
                            ("paypal", "PayPal"),
                            ("wire_transfer", "Wire transfer"),
                            ("bank", "Bank account"),
                            ("wise", "Wise"),
                            ("other", "Other"),
                        ],
                        max_length=16,
                        null=True,
                    ),
                ),
                ("payout_details", accounts.encryption.EncryptedJSONField(default=dict)),
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
                        related_name="payments",
                        to="tracking.affiliate",
                    ),
                ),
            ],
            options={
                "default_related_name": "payments",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="payments_newest_first"
                    ),
                    models.Index(
                        fields=["account", "affiliate", "-created_at", "-id"],
                        name="payments_by_affiliate",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "public_id"), name="unique_payment_public_id"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("amount__gt", 0)), name="payment_amount_positive"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Document",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                ("tax_withheld", tracking.amounts.AmountField(null=True)),
                ("opening", tracking.amounts.AmountField(null=True)),
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
                        fields=["account", "affiliate", "-id"], name="documents_by_affiliate"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "year", "number"), name="one_document_per_number"
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
            name="Commission",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("regular", "Regular"), ("level", "Level"), ("bonus", "Bonus")],
                        default="regular",
                        max_length=16,
                    ),
                ),
                ("is_extra", models.BooleanField(db_default=False, default=False)),
                ("commission_type", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=255)),
                ("currency", models.CharField(max_length=3)),
                (
                    "sub_amount",
                    tracking.amounts.AmountField(null=True, verbose_name="line item amount"),
                ),
                ("amount", tracking.amounts.AmountField()),
                (
                    "rate_kind",
                    models.CharField(
                        choices=[("percentage", "Percentage"), ("fixed", "Fixed")], max_length=16
                    ),
                ),
                ("rate", tracking.amounts.AmountField()),
                ("calculation", models.TextField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("approved", "Approved"),
                            ("disapproved", "Disapproved"),
                        ],
                        max_length=16,
                    ),
                ),
                ("comment", models.CharField(max_length=1000, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finalized_at", models.DateTimeField(null=True)),
                ("deleted_at", models.DateTimeField(null=True, verbose_name="removed")),
                ("period_start", models.DateField(null=True)),
                ("goal_missed_at", models.DateTimeField(null=True)),
                ("due_at", models.DateTimeField(null=True)),
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
                        related_name="commissions",
                        to="tracking.affiliate",
                    ),
                ),
                (
                    "base_commission",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.commission",
                    ),
                ),
                (
                    "bonus",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.bonus",
                    ),
                ),
                (
                    "conversion",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="commissions",
                        to="tracking.conversion",
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
            ],
            options={
                "default_related_name": "commissions",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="commissions_newest_first"
                    ),
                    models.Index(
                        fields=["account", "conversion"], name="commissions_by_conversion"
                    ),
                    models.Index(
                        fields=["account", "affiliate", "-created_at", "-id"],
                        name="commissions_by_affiliate",
                    ),
                    models.Index(
                        fields=["account", "status", "-created_at", "-id"],
                        name="commissions_with_status",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("deleted_at", None), ("payment", None), ("status", "approved")
                        ),
                        fields=["account", "affiliate", "currency", "created_at", "id"],
                        name="commissions_unpaid",
                    ),
                    models.Index(
                        condition=models.Q(("payment__isnull", False)),
                        fields=["account", "payment"],
                        name="commissions_by_payment",
                    ),
                    models.Index(
                        condition=models.Q(("goal_missed_at__isnull", False)),
                        fields=["account", "-created_at", "-id"],
                        name="commissions_of_missed_goals",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("bonus__isnull", False)),
                        fields=("account", "bonus", "affiliate", "period_start"),
                        name="unique_bonus_commission_per_period",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("amount__gte", 0),
                            models.Q(("sub_amount__gte", 0), ("sub_amount", None), _connector="OR"),
                        ),
                        name="commission_amounts_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("payment", None),
                            models.Q(("deleted_at", None), ("status", "approved")),
                            _connector="OR",
                        ),
                        name="paid_commission_is_approved",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("bonus__isnull", False), ("conversion", None)),
                            models.Q(("bonus", None), ("conversion__isnull", False)),
                            _connector="OR",
                        ),
                        name="commission_has_conversion_or_bonus",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("is_extra", False), ("conversion__isnull", False), _connector="OR"
                        ),
                        name="extra_commission_has_conversion",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PaymentAllocation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="payment_allocations",
                        to="accounts.account",
                    ),
                ),
                (
                    "commission",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.commission",
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
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "commission", "payment"),
                        name="one_allocation_per_payment",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutMethod",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("paypal", "PayPal"),
                            ("wire_transfer", "Wire transfer"),
                            ("bank", "Bank account"),
                            ("wise", "Wise"),
                            ("other", "Other"),
                        ],
                        max_length=16,
                    ),
                ),
                ("details", accounts.encryption.EncryptedJSONField(default=dict)),
                ("is_primary", models.BooleanField(default=False, verbose_name="primary")),
                ("details_changed_at", models.DateTimeField(null=True)),
                ("on_hold_reason", models.CharField(db_default="", default="", max_length=500)),
                ("blind_index", models.CharField(max_length=64, null=True)),
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
                        related_name="payout_methods",
                        to="tracking.affiliate",
                    ),
                ),
            ],
            options={
                "default_related_name": "payout_methods",
                "indexes": [
                    models.Index(
                        condition=models.Q(("blind_index__isnull", False)),
                        fields=["account", "blind_index"],
                        name="payout_methods_by_index",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "affiliate", "kind"), name="unique_payout_method_kind"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_primary", True)),
                        fields=("account", "affiliate"),
                        name="unique_primary_payout_method",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutMinimum",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                        condition=models.Q(("amount__gt", 0)), name="payout_minimum_positive"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                            ("partly_failed", "Partly failed"),
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
                ("confirmed_at", models.DateTimeField(null=True, verbose_name="confirmed")),
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
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="payout_runs_newest_first"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "public_id"), name="one_payout_run_per_id"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutLine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                ("amount", tracking.amounts.AmountField()),
                ("tax_withheld", tracking.amounts.AmountField(null=True)),
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
                            ("left_out", "Left out"),
                            ("taken_out", "Taken out"),
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
                            ("withheld", "withheld by staff"),
                            ("document_incomplete", "document incomplete"),
                        ],
                        max_length=32,
                    ),
                ),
                ("note", models.CharField(blank=True, max_length=500)),
                ("receiver", accounts.encryption.EncryptedJSONField(default=dict)),
                ("bank_reference", models.CharField(blank=True, max_length=255)),
                ("bank_reason", models.CharField(blank=True, max_length=500)),
                ("answered_on", models.DateField(null=True)),
                ("settled_on", models.DateField(null=True)),
                ("debits", models.JSONField(null=True)),
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
                "indexes": [
                    models.Index(
                        fields=["account", "affiliate", "-id"], name="payout_lines_by_affiliate"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "run", "affiliate", "currency"),
                        name="one_payout_line_per_balance",
                    ),
                    models.UniqueConstraint(
                        fields=("account", "payment"), name="one_payout_line_per_payment"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                        fields=("account", "message_id"), name="one_payout_file_per_message_id"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutSettings",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("payer_name", models.CharField(blank=True, max_length=70)),
                (
                    "payer_iban",
                    accounts.encryption.EncryptedTextField(blank=True, verbose_name="payer IBAN"),
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
                ("documents_from", models.DateField(null=True)),
                (
                    "document_prefix",
                    models.CharField(db_default="SB-", default="SB-", max_length=16),
                ),
                (
                    "payer_vat_id",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        max_length=32,
                        verbose_name="payer VAT ID",
                    ),
                ),
                ("requires_documents", models.BooleanField(db_default=False, default=False)),
                ("mails_payments", models.BooleanField(db_default=False, default=False)),
                (
                    "mail_subject",
                    models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
                ("mail_text", models.TextField(blank=True, db_default="", default="")),
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
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account",), name="one_payout_settings_per_account"
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
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                ("canceled_at", models.DateTimeField(null=True)),
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
                        condition=models.Q(("amount__gte", 0)), name="refund_amount_not_negative"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TaxData",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("is_business", models.BooleanField()),
                ("is_small_business", models.BooleanField(db_default=False, default=False)),
                ("country", models.CharField(max_length=2)),
                ("vat_id", models.CharField(blank=True, max_length=32, verbose_name="VAT ID")),
                (
                    "tax_number",
                    models.CharField(blank=True, db_default="", default="", max_length=32),
                ),
                (
                    "legal_name",
                    models.CharField(blank=True, db_default="", default="", max_length=140),
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
                        fields=("account", "affiliate"), name="one_tax_data_per_affiliate"
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
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("is_business", models.BooleanField()),
                ("is_small_business", models.BooleanField(db_default=False, default=False)),
                ("country", models.CharField(blank=True, max_length=2)),
                ("rate", models.DecimalField(decimal_places=2, max_digits=5)),
                ("sentence", models.CharField(blank=True, max_length=500)),
                (
                    "withholding_rate",
                    models.DecimalField(db_default=0, decimal_places=2, default=0, max_digits=5),
                ),
                (
                    "required_number",
                    models.CharField(
                        blank=True,
                        choices=[
                            (None, "Nothing"),
                            ("either", "A VAT ID or a tax number"),
                            ("vat_id", "A VAT ID"),
                            ("tax_number", "A tax number"),
                            ("reverse_charge", "A VAT ID of another country: reverse charge"),
                        ],
                        db_default="",
                        default="",
                        max_length=16,
                    ),
                ),
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
                        fields=("account", "is_business", "is_small_business", "country"),
                        name="one_tax_rule_per_kind_and_country",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("rate__gte", 0), ("rate__lt", 100)),
                        name="tax_rule_rate_in_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Transfer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("earned", "Earned"),
                            ("approved", "Approved"),
                            ("reopened", "Reopened"),
                            ("withdrawn", "Withdrawn"),
                            ("paid", "Paid"),
                            ("payment_canceled", "Payment canceled"),
                            ("funded", "Funded"),
                            ("opening_balance", "Opening balance"),
                            ("tax_withheld", "Tax withheld"),
                            ("tax_returned", "Withheld tax taken back"),
                        ],
                        max_length=16,
                    ),
                ),
                ("amount", tracking.amounts.AmountField()),
                ("sequence_number", models.PositiveIntegerField(null=True)),
                ("actor", models.CharField(max_length=255, null=True)),
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
                    "commission",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.commission",
                    ),
                ),
                (
                    "credit",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.ledgeraccount",
                    ),
                ),
                (
                    "debit",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.ledgeraccount",
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
                    "reversal_of",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payouts.transfer",
                        verbose_name="reverses",
                    ),
                ),
            ],
            options={
                "verbose_name": "ledger entry",
                "verbose_name_plural": "ledger entries",
                "default_related_name": "transfers",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="transfers_by_time"
                    ),
                    models.Index(fields=["account", "debit"], name="transfers_by_debit"),
                    models.Index(fields=["account", "credit"], name="transfers_by_credit"),
                    models.Index(
                        condition=models.Q(("commission", None), ("payment", None)),
                        fields=["account", "debit"],
                        name="other_transfers_by_debit",
                    ),
                    models.Index(
                        condition=models.Q(("commission", None), ("payment", None)),
                        fields=["account", "credit"],
                        name="other_transfers_by_credit",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "commission", "sequence_number"),
                        name="unique_transfer_sequence_number",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "paid")),
                        fields=("account", "payment"),
                        name="unique_paid_transfer",
                    ),
                    models.UniqueConstraint(
                        fields=("account", "reversal_of"), name="unique_transfer_reversal"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("commission__isnull", False),
                                ("payment", None),
                                ("sequence_number__isnull", False),
                            ),
                            models.Q(("commission", None), ("sequence_number", None)),
                            _connector="OR",
                        ),
                        name="transfer_has_single_source",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("amount__gt", 0)), name="transfer_amount_positive"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("debit", models.F("credit")), _negated=True),
                        name="transfer_sides_differ",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WithheldBalance",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("created_by", models.CharField(max_length=255)),
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
            ],
            options={
                "default_related_name": "withheld_balances",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "affiliate", "currency"),
                        name="one_withheld_balance_per_balance",
                    )
                ],
            },
        ),
    ]
