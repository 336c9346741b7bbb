import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Who signs in to the back office: staff of an account, and operators."""

    # Django's own tables point at users, and believe that an app's first migration has them.
    run_before = [("admin", "0001_initial")]
    dependencies = [
        ("accounts", "0006_webhooks"),
    ]

    operations = [
        migrations.CreateModel(
            name="User",
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
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "last_login",
                    models.DateTimeField(
                        blank=True, null=True, verbose_name="last login"
                    ),
                ),
                ("email", models.EmailField(max_length=254)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("manager", "Manager"),
                            ("owner", "Owner"),
                        ],
                        default="owner",
                        max_length=16,
                    ),
                ),
                ("is_active", models.BooleanField(default=True)),
                ("is_superuser", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="staff",
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("email",), name="one_user_per_email"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("account__isnull", True), ("is_superuser", True)),
                            models.Q(
                                ("account__isnull", False), ("is_superuser", False)
                            ),
                            _connector="OR",
                        ),
                        name="staff_of_an_account_or_operator",
                    ),
                ],
            },
        ),
    ]
