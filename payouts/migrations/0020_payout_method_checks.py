"""Add when a payout method changed, why it is on hold, and its blind index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0017_quarters_of_stale_days"),
        ("payouts", "0019_payout_runs"),
        ("tracking", "0020_hold_days"),
    ]

    operations = [
        migrations.AddField(
            model_name="payoutmethod",
            name="blind_index",
            field=models.CharField(max_length=64, null=True),
        ),
        migrations.AddField(
            model_name="payoutmethod",
            name="details_changed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="payoutmethod",
            name="on_hold_reason",
            field=models.CharField(db_default="", default="", max_length=500),
        ),
    ]
