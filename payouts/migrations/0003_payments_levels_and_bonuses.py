import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import tracking.amounts
from accounts.engines import AppendOnly


class Migration(migrations.Migration):
    """Payments and the payout balance; group rates, levels and bonuses.

    It alters the ledger, so its triggers are made again.
    """

    dependencies = [
        ("accounts", "0005_idempotency_keys"),
        ("payouts", "0002_append_only_ledger"),
        ("tracking", "0002_groups_prospects_and_notes"),
    ]

    operations = [
        migrations.CreateModel(
            name="Bonus",
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
                ("public_id", models.CharField(max_length=32)),
                ("title", models.CharField(max_length=255)),
                (
                    "goal_type",
                    models.CharField(
                        choices=[
                            ("conversions", "Conversions"),
                            ("conversion_amount", "Conversion Amount"),
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
                            ("all_time", "All Time"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("percentage", "Percentage"), ("fixed", "Fixed")],
                        max_length=16,
                    ),
                ),
                ("value", tracking.amounts.AmountField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="GroupRate",
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
                        choices=[("percentage", "Percentage"), ("fixed", "Fixed")],
                        max_length=16,
                    ),
                ),
                ("value", tracking.amounts.AmountField()),
            ],
        ),
        migrations.CreateModel(
            name="Level",
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
                ("level", models.PositiveSmallIntegerField()),
                ("title", models.CharField(max_length=255)),
                (
                    "kind",
                    models.CharField(
                        choices=[("percentage", "Percentage"), ("fixed", "Fixed")],
                        max_length=16,
                    ),
                ),
                ("value", tracking.amounts.AmountField()),
            ],
        ),
        migrations.CreateModel(
            name="Payment",
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
                ("public_id", models.CharField(max_length=32)),
                ("amount", tracking.amounts.AmountField()),
                ("currency", models.CharField(max_length=3)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("canceled_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="PayoutMethod",
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
                            ("paypal", "PayPal"),
                            ("wire_transfer", "Wire transfer"),
                            ("bank", "Bank account"),
                            ("other", "Other"),
                        ],
                        max_length=16,
                    ),
                ),
                ("details", models.JSONField(default=dict)),
                ("is_primary", models.BooleanField(default=False)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="commission",
            name="a_commission_is_not_negative",
        ),
        migrations.AddField(
            model_name="commission",
            name="follows",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="payouts.commission",
            ),
        ),
        migrations.AddField(
            model_name="commission",
            name="period_start",
            field=models.DateField(null=True),
        ),
        migrations.AddField(
            model_name="commission",
            name="removed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="commissiontype",
            name="mlm",
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.AddField(
            model_name="transfer",
            name="reverses",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="payouts.transfer",
            ),
        ),
        migrations.AlterField(
            model_name="commission",
            name="conversion",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="commissions",
                to="tracking.conversion",
            ),
        ),
        migrations.AlterField(
            model_name="commission",
            name="kind",
            field=models.CharField(
                choices=[
                    ("regular", "Regular"),
                    ("level", "Level"),
                    ("bonus", "Bonus"),
                ],
                default="regular",
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="commission",
            name="sub_amount",
            field=tracking.amounts.AmountField(null=True),
        ),
        migrations.AlterField(
            model_name="ledgeraccount",
            name="kind",
            field=models.CharField(
                choices=[
                    ("expense", "Expense"),
                    ("pending", "Pending"),
                    ("payable", "Payable"),
                    ("paid", "Paid"),
                    ("funding", "Funding"),
                    ("external", "External"),
                ],
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="transfer",
            name="commission",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="payouts.commission",
            ),
        ),
        migrations.AlterField(
            model_name="transfer",
            name="kind",
            field=models.CharField(
                choices=[
                    ("earned", "Earned"),
                    ("approved", "Approved"),
                    ("reopened", "Reopened"),
                    ("withdrawn", "Withdrawn"),
                    ("paid", "Paid"),
                    ("payment_canceled", "Payment Canceled"),
                    ("funded", "Funded"),
                ],
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="transfer",
            name="step",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="bonus",
            name="account",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="bonuses",
                to="accounts.account",
            ),
        ),
        migrations.AddField(
            model_name="bonus",
            name="program",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tracking.program",
            ),
        ),
        migrations.AddField(
            model_name="commission",
            name="bonus",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="payouts.bonus",
            ),
        ),
        migrations.AddField(
            model_name="grouprate",
            name="account",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="group_rates",
                to="accounts.account",
            ),
        ),
        migrations.AddField(
            model_name="grouprate",
            name="commission_type",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="payouts.commissiontype",
            ),
        ),
        migrations.AddField(
            model_name="grouprate",
            name="group",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tracking.affiliategroup",
            ),
        ),
        migrations.AddField(
            model_name="level",
            name="account",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="levels",
                to="accounts.account",
            ),
        ),
        migrations.AddField(
            model_name="level",
            name="program",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tracking.program",
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="account",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="payments",
                to="accounts.account",
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="affiliate",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="payments",
                to="tracking.affiliate",
            ),
        ),
        migrations.AddField(
            model_name="commission",
            name="payment",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="payouts.payment",
            ),
        ),
        migrations.AddField(
            model_name="transfer",
            name="payment",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="payouts.payment",
            ),
        ),
        migrations.AddIndex(
            model_name="commission",
            index=models.Index(
                condition=models.Q(
                    ("payment", None), ("removed_at", None), ("status", "approved")
                ),
                fields=["account", "affiliate", "currency", "created_at", "id"],
                name="commissions_to_cover",
            ),
        ),
        migrations.AddIndex(
            model_name="commission",
            index=models.Index(
                condition=models.Q(("payment__isnull", False)),
                fields=["account", "payment"],
                name="commissions_of_payment",
            ),
        ),
        migrations.AddConstraint(
            model_name="commission",
            constraint=models.UniqueConstraint(
                condition=models.Q(("bonus__isnull", False)),
                fields=("account", "bonus", "affiliate", "period_start"),
                name="one_bonus_per_period",
            ),
        ),
        migrations.AddConstraint(
            model_name="commission",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("amount__gte", 0),
                    models.Q(
                        ("sub_amount__gte", 0), ("sub_amount", None), _connector="OR"
                    ),
                ),
                name="a_commission_is_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="commission",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("payment", None),
                    models.Q(("removed_at", None), ("status", "approved")),
                    _connector="OR",
                ),
                name="a_covered_commission_counts",
            ),
        ),
        migrations.AddConstraint(
            model_name="commission",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("bonus__isnull", False), ("conversion", None)),
                    models.Q(("bonus", None), ("conversion__isnull", False)),
                    _connector="OR",
                ),
                name="a_commission_has_one_cause",
            ),
        ),
        migrations.AddConstraint(
            model_name="transfer",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind", "paid")),
                fields=("account", "payment"),
                name="one_transfer_per_payment",
            ),
        ),
        migrations.AddConstraint(
            model_name="transfer",
            constraint=models.UniqueConstraint(
                fields=("account", "reverses"), name="one_reversal_per_transfer"
            ),
        ),
        migrations.AddConstraint(
            model_name="transfer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("commission__isnull", False),
                        ("payment", None),
                        ("step__isnull", False),
                    ),
                    models.Q(("commission", None), ("step", None)),
                    _connector="OR",
                ),
                name="a_transfer_has_one_cause",
            ),
        ),
        migrations.AddField(
            model_name="payoutmethod",
            name="account",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="payout_methods",
                to="accounts.account",
            ),
        ),
        migrations.AddField(
            model_name="payoutmethod",
            name="affiliate",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="payout_methods",
                to="tracking.affiliate",
            ),
        ),
        migrations.AddIndex(
            model_name="bonus",
            index=models.Index(
                fields=["account", "program"], name="bonuses_of_program"
            ),
        ),
        migrations.AddConstraint(
            model_name="bonus",
            constraint=models.UniqueConstraint(
                fields=("account", "public_id"), name="one_bonus_per_id"
            ),
        ),
        migrations.AddConstraint(
            model_name="bonus",
            constraint=models.CheckConstraint(
                condition=models.Q(("goal__gte", 0), ("value__gte", 0)),
                name="a_bonus_is_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="grouprate",
            constraint=models.UniqueConstraint(
                fields=("account", "commission_type", "group"),
                name="one_rate_per_type_and_group",
            ),
        ),
        migrations.AddConstraint(
            model_name="grouprate",
            constraint=models.CheckConstraint(
                condition=models.Q(("value__gte", 0)),
                name="a_group_rate_is_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="level",
            constraint=models.UniqueConstraint(
                fields=("account", "program", "level"), name="one_rate_per_level"
            ),
        ),
        migrations.AddConstraint(
            model_name="level",
            constraint=models.CheckConstraint(
                condition=models.Q(("value__gte", 0), ("level__gte", 2)),
                name="a_level_is_above_the_seller",
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                fields=["account", "-created_at", "-id"], name="payments_newest_first"
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="payments_of_affiliate",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.UniqueConstraint(
                fields=("account", "public_id"), name="one_payment_per_id"
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0)), name="a_payment_pays_something"
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutmethod",
            constraint=models.UniqueConstraint(
                fields=("account", "affiliate", "kind"),
                name="one_payout_method_per_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="payoutmethod",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_primary", True)),
                fields=("account", "affiliate"),
                name="one_primary_payout_method",
            ),
        ),
        AppendOnly("transfer"),
    ]
