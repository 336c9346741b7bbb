from django.db import migrations, models
from django.db.models.functions import Lower

from accounts.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False  # AddIndexConcurrently

    dependencies = [
        ("accounts", "0001_initial"),
        ("tracking", "0003_claim_indexes"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="coupon",
            index=models.Index(
                models.F("account"),
                Lower("code"),
                models.F("code"),
                name="coupons_by_lowered_code",
            ),
        ),
        migrations.CreateModel(
            name="FailedPageCall",
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
                ("day", models.DateField()),
                ("reason", models.CharField(max_length=64)),
                ("page", models.CharField(blank=True, max_length=255)),
                ("count", models.PositiveIntegerField()),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.PROTECT,
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "default_related_name": "failed_page_calls",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "day", "reason", "page"),
                        name="one_failed_page_call_per_page",
                    )
                ],
            },
        ),
    ]
