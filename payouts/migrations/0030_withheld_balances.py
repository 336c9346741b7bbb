"""The balances that staff withhold until they lift it."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_role_finance"),
        ("payouts", "0029_payout_files"),
        ("tracking", "0050_domains_in_ascii"),
    ]

    operations = [
        migrations.AlterField(
            model_name="payoutline",
            name="reason",
            field=models.CharField(
                blank=True,
                choices=[
                    ("below_minimum", "below the minimum"),
                    ("on_hold", "on hold"),
                    ("no_method", "no payout method"),
                    ("method_incomplete", "payout method incomplete"),
                    ("method_on_hold", "payout method to check"),
                    ("negative_balance", "negative balance"),
                    ("withheld", "withheld by staff"),
                ],
                max_length=32,
            ),
        ),
        migrations.CreateModel(
            name="WithheldBalance",
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
                ("currency", models.CharField(max_length=3)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("created_by", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "affiliate",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.affiliate",
                    ),
                ),
            ],
            options={
                "default_related_name": "withheld_balances",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "affiliate", "currency"),
                        name="one_withheld_balance_per_balance",
                    )
                ],
            },
        ),
    ]
