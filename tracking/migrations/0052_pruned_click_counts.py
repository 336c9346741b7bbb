import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0019_click_days"),
        ("tracking", "0051_former_id_digests"),
    ]

    operations = [
        migrations.CreateModel(
            name="PrunedClickCount",
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
                ("quarter", models.DateTimeField()),
                ("landing_page", models.CharField(max_length=2048, null=True)),
                ("referrer_host", models.CharField(max_length=255, null=True)),
                ("sub_id", models.CharField(max_length=64, null=True)),
                ("clicks", models.PositiveIntegerField()),
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
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.affiliate",
                    ),
                ),
                (
                    "program",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.program",
                    ),
                ),
                (
                    "prospect",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.prospect",
                    ),
                ),
            ],
            options={
                "default_related_name": "pruned_click_counts",
                "indexes": [
                    models.Index(fields=["account", "quarter"], name="pruned_clicks_by_time"),
                    models.Index(
                        fields=["account", "affiliate", "quarter"],
                        name="pruned_clicks_of_affiliate",
                    ),
                    models.Index(
                        condition=models.Q(("prospect__isnull", False)),
                        fields=["account", "prospect"],
                        name="pruned_clicks_of_prospect",
                    ),
                ],
            },
        ),
    ]
