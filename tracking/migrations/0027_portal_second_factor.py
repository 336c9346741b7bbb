"""The second factor of affiliates."""

import django.db.models.deletion
from django.db import migrations, models

import accounts.encryption


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_role_finance"),
        ("tracking", "0026_portal_host"),
    ]

    operations = [
        migrations.AlterField(
            model_name="portallink",
            name="purpose",
            field=models.CharField(
                choices=[
                    ("sign_in", "Sign In"),
                    ("set_password", "Set Password"),
                    ("view", "View"),
                    ("second_factor", "Second Factor"),
                ],
                max_length=16,
            ),
        ),
        migrations.CreateModel(
            name="PortalSecondFactor",
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
                ("secret", accounts.encryption.EncryptedTextField()),
                ("confirmed_at", models.DateTimeField(null=True)),
                ("last_step", models.BigIntegerField(default=0)),
                ("recovery_codes", models.JSONField(default=list)),
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
                "default_related_name": "portal_second_factors",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "affiliate"),
                        name="one_second_factor_per_affiliate",
                    )
                ],
            },
        ),
    ]
