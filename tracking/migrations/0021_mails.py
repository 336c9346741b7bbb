"""Mail, stored before it is sent."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_role_finance"),
        ("tracking", "0020_hold_days"),
    ]

    operations = [
        migrations.CreateModel(
            name="Mail",
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
                ("kind", models.CharField(max_length=32)),
                ("about", models.CharField(max_length=64)),
                ("recipient", models.CharField(max_length=255)),
                ("subject", models.CharField(max_length=255)),
                ("text", models.TextField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("due_at", models.DateTimeField(null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("sent_at", models.DateTimeField(null=True)),
                ("error", models.CharField(blank=True, max_length=255)),
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
            ],
            options={
                "default_related_name": "mails",
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)),
                        fields=["account", "due_at"],
                        name="mails_due",
                    ),
                    models.Index(
                        fields=["account", "affiliate", "-id"],
                        name="mails_by_affiliate",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "kind", "about"), name="one_mail_of_a_kind"
                    )
                ],
            },
        ),
    ]
