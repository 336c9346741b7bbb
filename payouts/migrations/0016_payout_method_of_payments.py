"""Add how a payment was paid; earlier payments do not say."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("payouts", "0015_refunds_and_corrections"),
    ]

    operations = [
        migrations.AddField(
            model_name="payment",
            name="payout_details",
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddField(
            model_name="payment",
            name="payout_kind",
            field=models.CharField(
                choices=[
                    ("", "none"),
                    ("paypal", "PayPal"),
                    ("wire_transfer", "Wire transfer"),
                    ("bank", "Bank account"),
                    ("other", "Other"),
                ],
                max_length=16,
                null=True,
            ),
        ),
    ]
