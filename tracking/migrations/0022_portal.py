"""The portal of affiliates: settings, sessions and links."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_role_finance"),
        ("tracking", "0021_mails"),
    ]

    operations = [
        migrations.CreateModel(
            name="PortalLink",
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
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("sign_in", "Sign In"),
                            ("set_password", "Set Password"),
                        ],
                        max_length=16,
                    ),
                ),
                ("token_hash", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
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
                "default_related_name": "portal_links",
                "indexes": [
                    models.Index(
                        fields=["account", "affiliate"],
                        name="portal_links_of_affiliate",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "token_hash"),
                        name="one_portal_link_per_token",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PortalSession",
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
                ("token_hash", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
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
                "default_related_name": "portal_sessions",
                "indexes": [
                    models.Index(
                        fields=["account", "affiliate"],
                        name="portal_sessions_of_affiliate",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "token_hash"),
                        name="one_portal_session_per_token",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PortalSettings",
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
                ("is_on", models.BooleanField(default=False)),
                ("is_open", models.BooleanField(default=False)),
                ("welcome_text", models.TextField(blank=True)),
                (
                    "order_ids",
                    models.CharField(
                        choices=[
                            ("none", "not at all"),
                            ("last_four", "the last four characters"),
                            ("whole", "whole"),
                        ],
                        default="last_four",
                        max_length=16,
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "default_related_name": "portal_settings",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account",), name="one_portal_settings_per_account"
                    )
                ],
            },
        ),
    ]
