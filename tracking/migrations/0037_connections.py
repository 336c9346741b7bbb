import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import accounts.encryption


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0018_role_finance"),
        ("tracking", "0036_sender_name"),
    ]

    operations = [
        migrations.AlterField(
            model_name="conversionattempt",
            name="origin",
            field=models.CharField(
                choices=[
                    ("api", "Api"),
                    ("postback", "Postback"),
                    ("browser", "Browser"),
                    ("shop", "Shop"),
                ],
                max_length=16,
            ),
        ),
        migrations.CreateModel(
            name="Connection",
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
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("stripe", "Stripe"),
                            ("woocommerce", "WooCommerce"),
                            ("shopify", "Shopify"),
                            ("paddle", "Paddle"),
                            ("other", "Any other shop"),
                        ],
                        max_length=16,
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("listen", "Listen only"),
                            ("live", "Live"),
                            ("off", "Off"),
                        ],
                        default="listen",
                        max_length=16,
                    ),
                ),
                ("secrets", accounts.encryption.EncryptedJSONField(default=list)),
                ("source_key", accounts.encryption.EncryptedTextField(blank=True)),
                ("settings", models.JSONField(default=dict)),
                ("caught_up_until", models.DateTimeField(null=True)),
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
                    "program",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.program",
                    ),
                ),
            ],
            options={
                "default_related_name": "connections",
                "indexes": [models.Index(fields=["account", "id"], name="connections_of_account")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("public_id",), name="one_connection_per_public_id"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ShopCustomer",
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
                ("key", models.CharField(max_length=255)),
                ("facts", models.JSONField(default=dict)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "connection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.connection",
                    ),
                ),
            ],
            options={
                "default_related_name": "shop_customers",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "connection", "key"),
                        name="one_shop_customer_per_key",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ShopOrder",
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
                ("label", models.CharField(blank=True, max_length=255)),
                ("customer_key", models.CharField(blank=True, max_length=255)),
                ("facts", models.JSONField(default=dict)),
                ("is_adopted", models.BooleanField(default=False)),
                ("lines", models.JSONField(default=list)),
                ("suspended", models.JSONField(default=list)),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("processed_again", "Processed again."),
                            ("no_referral", "Nobody referred this customer."),
                            ("no_amount", "The sale has no amount."),
                            (
                                "removed",
                                "The sale was removed before. To count it, process the event again.",
                            ),
                            (
                                "known_already",
                                "This sale was reported in another way before. The address of this shop has a secret only, so what it reports is a claim, which changes nothing there.",
                            ),
                            (
                                "needs_signature",
                                "The account takes no sales without a signature, and the address of this shop has a secret only.",
                            ),
                            ("affiliate_deleted", "Affiliate is deleted."),
                            (
                                "affiliate_not_approved",
                                "Affiliate is not approved for this program.",
                            ),
                            ("cookie_expired", "Cookie expired."),
                            ("program_archived", "Program is archived."),
                        ],
                        max_length=32,
                    ),
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
                (
                    "connection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="orders",
                        to="tracking.connection",
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
                "default_related_name": "shop_orders",
                "indexes": [
                    models.Index(
                        condition=models.Q(("conversion__isnull", False)),
                        fields=["account", "conversion"],
                        name="shop_orders_by_conversion",
                    ),
                    models.Index(
                        fields=["account", "connection", "customer_key"],
                        name="shop_orders_by_customer",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ShopEvent",
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
                ("key", models.CharField(max_length=255, verbose_name="ID")),
                ("kind", models.CharField(max_length=255)),
                ("body", models.TextField(blank=True)),
                ("occurred_at", models.DateTimeField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("received", "Received"),
                            ("done", "Done"),
                            ("no_referral", "No referral"),
                            ("waiting", "Waits for its sale"),
                            ("ignored", "Ignored"),
                            ("failed", "Failed"),
                        ],
                        default="received",
                        max_length=16,
                    ),
                ),
                ("result", models.JSONField(default=list)),
                ("customer_key", models.CharField(blank=True, max_length=255)),
                ("due_at", models.DateTimeField(null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "connection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="tracking.connection",
                    ),
                ),
                (
                    "order",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.shoporder",
                    ),
                ),
            ],
            options={
                "default_related_name": "shop_events",
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)),
                        fields=["account", "due_at"],
                        name="shop_events_due",
                    ),
                    models.Index(
                        fields=["account", "-created_at", "-id"],
                        name="shop_events_newest_first",
                    ),
                    models.Index(
                        fields=["account", "connection", "-created_at", "-id"],
                        name="shop_events_of_connection",
                    ),
                    models.Index(
                        fields=["account", "connection", "customer_key"],
                        name="shop_events_by_customer",
                    ),
                    models.Index(fields=["account", "order"], name="shop_events_of_order"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "connection", "key"),
                        name="one_shop_event_per_key",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ShopReference",
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
                ("reference", models.CharField(max_length=255)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "connection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.connection",
                    ),
                ),
                (
                    "order",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="references",
                        to="tracking.shoporder",
                    ),
                ),
            ],
            options={
                "default_related_name": "shop_references",
                "indexes": [
                    models.Index(fields=["account", "order"], name="references_of_shop_order")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "connection", "reference"),
                        name="one_shop_order_per_reference",
                    )
                ],
            },
        ),
    ]
