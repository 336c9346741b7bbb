import functools

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import accounts.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Account",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=255)),
                ("uses_payouts", models.BooleanField(default=False)),
                ("pending_as_null", models.BooleanField(default=False)),
                ("uses_webhooks", models.BooleanField(db_default=False, default=False)),
                ("require_signatures", models.BooleanField(db_default=False, default=False)),
                (
                    "max_browser_amount",
                    models.PositiveIntegerField(db_default=100000, default=100000),
                ),
                (
                    "customer_email_keys",
                    models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
                ),
                (
                    "default_currency",
                    models.CharField(blank=True, db_default="", default="", max_length=3),
                ),
                (
                    "default_auto_approve_affiliates",
                    models.BooleanField(db_default=False, default=False),
                ),
                (
                    "default_auto_approve_commissions",
                    models.BooleanField(db_default=False, default=False),
                ),
                (
                    "link_color",
                    models.CharField(db_default="#000000", default="#000000", max_length=7),
                ),
                ("require_second_factor", models.BooleanField(db_default=False, default=False)),
                ("visitor_data_days", models.PositiveSmallIntegerField(db_default=90, default=90)),
                ("click_days", models.PositiveSmallIntegerField(db_default=1095, default=1095)),
                ("clicks_pruned_until", models.DateTimeField(null=True)),
                ("locked_at", models.DateTimeField(null=True)),
                ("time_zone", models.CharField(db_default="UTC", default="UTC", max_length=64)),
                ("onboarding_dismissed_at", models.DateTimeField(null=True)),
                ("reconciled_at", models.DateTimeField(null=True)),
                ("discrepancy_count", models.PositiveIntegerField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("slug",), name="one_account_per_slug")
                ],
            },
        ),
        migrations.CreateModel(
            name="CommandRun",
            fields=[
                ("name", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("succeeded_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="RateWindow",
            fields=[
                ("subject", models.CharField(max_length=255, primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField()),
                ("hits", models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "last_login",
                    models.DateTimeField(blank=True, null=True, verbose_name="last sign-in"),
                ),
                ("email", models.EmailField(max_length=254, verbose_name="e-mail")),
                (
                    "log_id",
                    models.CharField(
                        default=functools.partial(accounts.ids.generate_public_id, *("us",)),
                        max_length=32,
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("manager", "Manager"),
                            ("finance", "Finance"),
                            ("owner", "Owner"),
                        ],
                        default="owner",
                        max_length=16,
                    ),
                ),
                ("is_active", models.BooleanField(default=True, verbose_name="active")),
                ("is_superuser", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("password_reset_at", models.DateTimeField(null=True)),
                (
                    "recovery_codes",
                    models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
                ),
                (
                    "password_reset_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
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
                "verbose_name": "staff user",
                "verbose_name_plural": "staff users",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "email"), name="one_staff_user_per_email"
                    ),
                    models.UniqueConstraint(
                        fields=("account", "log_id"), name="one_staff_user_per_log_id"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("account", None)),
                        fields=("email",),
                        name="one_operator_per_email",
                        violation_error_message="An operator with this e-mail already exists.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("account__isnull", True), ("is_superuser", True)),
                            models.Q(("account__isnull", False), ("is_superuser", False)),
                            _connector="OR",
                        ),
                        name="staff_of_an_account_or_operator",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AccountDeletion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                "default_related_name": "deletions",
                "constraints": [
                    models.UniqueConstraint(fields=("account",), name="one_deletion_per_account")
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                ("prefix", models.CharField(max_length=12)),
                ("name", models.CharField(blank=True, max_length=255)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("manager", "Manager"),
                            ("owner", "Owner"),
                            ("proxy", "Page proxy"),
                        ],
                        default="viewer",
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("last_used_at", models.DateTimeField(null=True, verbose_name="last used")),
                ("revoked_at", models.DateTimeField(null=True, verbose_name="revoked")),
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
                "verbose_name": "API key",
                "verbose_name_plural": "API keys",
                "default_related_name": "api_keys",
                "constraints": [
                    models.UniqueConstraint(fields=("digest",), name="one_key_per_digest"),
                    models.UniqueConstraint(
                        fields=("account", "prefix"), name="one_key_per_prefix"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditLogEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=64)),
                ("subject", models.CharField(max_length=255)),
                ("details", models.JSONField(default=dict)),
                ("actor", models.CharField(max_length=255)),
                ("trace_id", models.CharField(blank=True, max_length=32, verbose_name="trace ID")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                "verbose_name": "audit log entry",
                "verbose_name_plural": "audit log entries",
                "default_related_name": "audit_log",
                "indexes": [
                    models.Index(fields=["account", "-id"], name="audit_log_newest_first"),
                    models.Index(fields=["account", "subject"], name="audit_log_by_subject"),
                    models.Index(fields=["account", "actor", "-id"], name="audit_log_by_actor"),
                    models.Index(fields=["account", "kind", "-id"], name="audit_log_by_kind"),
                ],
            },
        ),
        migrations.CreateModel(
            name="DailyRowCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("list", models.CharField(max_length=64)),
                ("day_end", models.DateTimeField()),
                ("n", models.BigIntegerField()),
                ("is_change", models.BooleanField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="daily_row_counts",
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["account", "list", "day_end", "n"], name="row_counts_by_day"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_change", False)),
                        fields=("account", "list", "day_end"),
                        name="one_row_count_per_day",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="IdempotencyKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=255)),
                ("fingerprint", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("body", models.BinaryField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                "default_related_name": "idempotency_keys",
                "indexes": [
                    models.Index(fields=["account", "created_at"], name="idempotency_keys_by_age")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "key"), name="one_response_per_idempotency_key"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                ("email", models.EmailField(max_length=254, verbose_name="e-mail")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "Viewer"),
                            ("manager", "Manager"),
                            ("finance", "Finance"),
                            ("owner", "Owner"),
                        ],
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True, verbose_name="revoked")),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "invited_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "default_related_name": "invitations",
                "indexes": [models.Index(fields=["account", "email"], name="invitations_by_email")],
                "constraints": [
                    models.UniqueConstraint(fields=("digest",), name="one_invitation_per_digest")
                ],
            },
        ),
        migrations.CreateModel(
            name="Logo",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("media_type", models.CharField(max_length=32)),
                ("image", models.BinaryField()),
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
                "default_related_name": "logos",
                "constraints": [
                    models.UniqueConstraint(fields=("account",), name="one_logo_per_account")
                ],
            },
        ),
        migrations.CreateModel(
            name="Plan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=64)),
                ("api", models.BooleanField(default=False)),
                ("clicks", models.BooleanField(default=False)),
                ("bonuses", models.BooleanField(default=False)),
                ("mlm", models.BooleanField(default=False)),
                ("payouts", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("name",), name="one_plan_per_name")
                ],
            },
        ),
        migrations.AddField(
            model_name="account",
            name="plan",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="accounts.plan",
            ),
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("list", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=64)),
                ("query", models.CharField(max_length=2000)),
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
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "default_related_name": "saved_views",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "user", "list", "name"), name="one_saved_view_per_name"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SigningSecret",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("secret", models.CharField(max_length=64)),
                ("prefix", models.CharField(max_length=12)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("revoked_at", models.DateTimeField(null=True, verbose_name="revoked")),
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
                "default_related_name": "signing_secrets",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "prefix"), name="one_signing_secret_per_prefix"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="StaleDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("quarter", models.DateTimeField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="stale_days",
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["account", "day"], name="stale_days_by_day")],
            },
        ),
        migrations.CreateModel(
            name="WebhookEndpoint",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.CharField(max_length=32, verbose_name="ID")),
                ("url", models.CharField(max_length=2000, verbose_name="URL")),
                ("events", models.JSONField(default=list)),
                ("affiliate", models.CharField(blank=True, max_length=64)),
                (
                    "method",
                    models.CharField(
                        choices=[("GET", "Get"), ("POST", "Post")], default="POST", max_length=4
                    ),
                ),
                ("secret", models.CharField(blank=True, max_length=64)),
                ("old_secret", models.CharField(blank=True, max_length=64)),
                ("old_secret_until", models.DateTimeField(null=True)),
                ("failing_since", models.DateTimeField(null=True)),
                ("backoff_until", models.DateTimeField(null=True, verbose_name="paused until")),
                ("disabled_at", models.DateTimeField(null=True, verbose_name="disabled")),
                (
                    "disabled_because",
                    models.CharField(blank=True, max_length=255, verbose_name="reason"),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                "verbose_name": "webhook",
                "verbose_name_plural": "webhooks",
                "default_related_name": "webhook_endpoints",
                "indexes": [
                    models.Index(fields=["account", "affiliate"], name="endpoints_by_affiliate")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "public_id"), name="one_endpoint_per_public_id"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("due_at", models.DateTimeField(null=True, verbose_name="next attempt")),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("message_id", models.CharField(max_length=32, verbose_name="message ID")),
                ("url", models.TextField(blank=True, verbose_name="URL")),
                ("body", models.BinaryField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("attempted_at", models.DateTimeField(null=True, verbose_name="last attempt")),
                ("delivered_at", models.DateTimeField(null=True, verbose_name="delivered")),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("response_body", models.TextField(blank=True)),
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
                    "event",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.auditlogentry",
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.webhookendpoint",
                        verbose_name="webhook",
                    ),
                ),
            ],
            options={
                "verbose_name": "webhook delivery",
                "verbose_name_plural": "webhook deliveries",
                "default_related_name": "deliveries",
                "indexes": [
                    models.Index(fields=["account", "message_id"], name="deliveries_by_message_id"),
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)),
                        fields=["account", "endpoint", "due_at"],
                        name="deliveries_due",
                    ),
                    models.Index(fields=["account", "created_at"], name="deliveries_by_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "endpoint", "event"),
                        name="one_delivery_per_endpoint_and_event",
                    )
                ],
            },
        ),
    ]
