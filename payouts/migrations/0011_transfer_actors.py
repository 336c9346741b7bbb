"""Who caused a transfer. The rows that exist are append-only and have no actor."""

from django.db import migrations, models

from accounts.append_only import MakeAppendOnly


class Migration(migrations.Migration):
    dependencies = [("payouts", "0010_mark_extra_commissions")]

    operations = [
        migrations.AddField(
            model_name="transfer",
            name="actor",
            field=models.CharField(max_length=255, null=True),
        ),
        MakeAppendOnly("transfer"),
    ]
