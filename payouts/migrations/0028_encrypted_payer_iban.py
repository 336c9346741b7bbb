"""Encrypt the payer's IBAN as those of the affiliates are.

It is encrypted when it is written, or by `rotate_encryption`.
"""

from django.db import migrations

from accounts.encryption import EncryptedTextField


class Migration(migrations.Migration):
    dependencies = [
        ("payouts", "0027_opening_balances_of_documents"),
    ]

    operations = [
        migrations.AlterField(
            model_name="payoutsettings",
            name="payer_iban",
            field=EncryptedTextField("payer IBAN", blank=True),
        ),
    ]
