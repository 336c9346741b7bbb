"""Add the transfer type of opening balances."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payouts", "0024_connections")]

    operations = [
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
                    ("opening_balance", "Opening Balance"),
                ],
                max_length=16,
            ),
        ),
    ]
