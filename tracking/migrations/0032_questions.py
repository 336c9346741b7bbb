"""Questions of affiliates about sales, and what their answers need."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_role_finance"),
        ("tracking", "0031_notices"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversionattempt",
            name="affiliate",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tracking.affiliate",
            ),
        ),
        migrations.AddField(
            model_name="portalsettings",
            name="shows_comments",
            field=models.BooleanField(null=True),
        ),
        migrations.AddField(
            model_name="portalsettings",
            name="shows_recruit_sales",
            field=models.BooleanField(null=True),
        ),
        migrations.CreateModel(
            name="Question",
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
                ("public_id", models.CharField(max_length=32, verbose_name="ID")),
                ("order_id", models.CharField(blank=True, max_length=255)),
                ("day", models.DateField()),
                ("answer_given", models.CharField(blank=True, max_length=32)),
                ("text", models.CharField(blank=True, max_length=2000)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("answered", "Answered"),
                            ("closed", "Closed"),
                        ],
                        default="open",
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("answered_at", models.DateTimeField(null=True)),
                ("answered_by", models.CharField(blank=True, max_length=255)),
                ("answer", models.CharField(blank=True, max_length=2000)),
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
                (
                    "conversion",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.conversion",
                    ),
                ),
            ],
            options={
                "default_related_name": "questions",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"],
                        name="questions_newest_first",
                    ),
                    models.Index(
                        fields=["account", "affiliate", "-created_at", "-id"],
                        name="questions_of_affiliate",
                    ),
                    models.Index(fields=["account", "order_id"], name="questions_by_order"),
                    models.Index(
                        condition=models.Q(("state", "open")),
                        fields=["account"],
                        name="open_questions",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "public_id"), name="one_question_per_id"
                    )
                ],
            },
        ),
    ]
