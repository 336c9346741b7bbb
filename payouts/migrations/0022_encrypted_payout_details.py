"""Take payout details for encrypted: columns and rows stay as they are.

Rows are encrypted when they are written, all of them by `rotate_encryption`: the release
that still runs would not read what a migration encrypts.
"""

from django.db import migrations

from accounts.encryption import EncryptedJSONField


class Migration(migrations.Migration):
    dependencies = [
        ("payouts", "0021_payout_methods_by_index"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="payment",
                    name="payout_details",
                    field=EncryptedJSONField(default=dict),
                ),
                migrations.AlterField(
                    model_name="payoutmethod",
                    name="details",
                    field=EncryptedJSONField(default=dict),
                ),
            ],
        ),
    ]
