"""Add when a commission is due, and the payout method Wise."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("payouts", "0017_time_zone_of_daily_stats"),
    ]

    operations = [
        migrations.AddField(
            model_name="commission",
            name="due_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AlterField(
            model_name="payment",
            name="payout_kind",
            field=models.CharField(
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
        migrations.AlterField(
            model_name="payoutmethod",
            name="kind",
            field=models.CharField(
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
    ]
