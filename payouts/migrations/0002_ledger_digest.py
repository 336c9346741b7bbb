import django.utils.timezone
from django.db import migrations, models

from accounts.append_only import MakeAppendOnly


class Migration(migrations.Migration):
    dependencies = [
        ("payouts", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="LedgerDigest",
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
                ("previous", models.CharField(blank=True, max_length=64)),
                ("sealed_until", models.DateTimeField()),
                ("segments", models.JSONField()),
                ("digest", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("previous",), name="one_ledger_digest_per_predecessor"
                    )
                ],
            },
        ),
        MakeAppendOnly("ledgerdigest"),
    ]
