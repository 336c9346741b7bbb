import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Who is told of changes outside, and what each is to be told."""

    dependencies = [
        ("accounts", "0005_idempotency_keys"),
    ]

    operations = [
        migrations.AddField(
            model_name="account",
            name="uses_webhooks",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name="WebhookEndpoint",
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
                ("public_id", models.CharField(max_length=32)),
                ("url", models.CharField(max_length=2000)),
                ("events", models.JSONField(default=list)),
                ("affiliate", models.CharField(blank=True, max_length=64)),
                (
                    "method",
                    models.CharField(
                        choices=[("GET", "Get"), ("POST", "Post")],
                        default="POST",
                        max_length=4,
                    ),
                ),
                ("secret", models.CharField(blank=True, max_length=64)),
                ("old_secret", models.CharField(blank=True, max_length=64)),
                ("old_secret_until", models.DateTimeField(null=True)),
                ("failing_since", models.DateTimeField(null=True)),
                ("rests_until", models.DateTimeField(null=True)),
                ("disabled_at", models.DateTimeField(null=True)),
                ("disabled_because", models.CharField(blank=True, max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="webhook_endpoints",
                        to="accounts.account",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
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
                ("webhook_id", models.CharField(max_length=32)),
                ("url", models.TextField(blank=True)),
                ("body", models.BinaryField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("due_at", models.DateTimeField(null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("attempted_at", models.DateTimeField(null=True)),
                ("delivered_at", models.DateTimeField(null=True)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("answer", models.TextField(blank=True)),
                ("trouble", models.CharField(blank=True, max_length=255)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="accounts.account",
                    ),
                ),
                (
                    "event",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.event",
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.webhookendpoint",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="webhookendpoint",
            index=models.Index(
                fields=["account", "affiliate"], name="endpoints_by_affiliate"
            ),
        ),
        migrations.AddConstraint(
            model_name="webhookendpoint",
            constraint=models.UniqueConstraint(
                fields=("account", "public_id"), name="one_endpoint_per_public_id"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False)),
                fields=["account", "endpoint", "due_at"],
                name="deliveries_that_wait",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                fields=["account", "created_at"], name="deliveries_by_age"
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(
                fields=("account", "endpoint", "event"),
                name="one_delivery_per_endpoint_and_event",
            ),
        ),
    ]
