"""Add what of a document's total is an opening balance."""

from django.db import migrations

from tracking.amounts import AmountField


class Migration(migrations.Migration):
    dependencies = [("payouts", "0026_other_transfers")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="opening",
            field=AmountField(null=True),
        ),
    ]
