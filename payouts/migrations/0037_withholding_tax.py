"""The tax that payout runs withhold, and its ledger account."""

from django.db import migrations, models

import tracking.amounts


class Migration(migrations.Migration):
    dependencies = [
        ("payouts", "0036_kinds_of_suppliers"),
    ]

    operations = [
        migrations.AddField(
            model_name="document",
            name="tax_withheld",
            field=tracking.amounts.AmountField(null=True),
        ),
        migrations.AddField(
            model_name="payment",
            name="tax_withheld",
            field=tracking.amounts.AmountField(null=True),
        ),
        migrations.AddField(
            model_name="payoutline",
            name="tax_withheld",
            field=tracking.amounts.AmountField(null=True),
        ),
        migrations.AddField(
            model_name="taxrule",
            name="withholding_rate",
            field=models.DecimalField(db_default=0, decimal_places=2, default=0, max_digits=5),
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
                    ("withholding_tax", "Withholding tax"),
                ],
                max_length=16,
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
                    ("payment_canceled", "Payment canceled"),
                    ("funded", "Funded"),
                    ("opening_balance", "Opening balance"),
                    ("tax_withheld", "Tax withheld"),
                    ("tax_returned", "Withheld tax taken back"),
                ],
                max_length=16,
            ),
        ),
    ]
