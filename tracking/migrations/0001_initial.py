import functools

import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import accounts.encryption
import accounts.ids
import tracking.amounts
import tracking.models.sources


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("accounts", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="AffiliateGroup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.CharField(max_length=32, verbose_name="ID")),
                ("title", models.CharField(max_length=255)),
                (
                    "hold_days",
                    models.PositiveSmallIntegerField(null=True, verbose_name="days on hold"),
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
                "default_related_name": "affiliate_groups",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="groups_newest_first"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "public_id"), name="one_group_per_id"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Affiliate",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("firstname", models.CharField(max_length=255, verbose_name="first name")),
                ("lastname", models.CharField(max_length=255, verbose_name="last name")),
                ("email", models.CharField(max_length=254, null=True, verbose_name="e-mail")),
                ("email_folded", models.CharField(max_length=762, null=True)),
                (
                    "company_name",
                    models.CharField(max_length=255, null=True, verbose_name="company"),
                ),
                ("company_description", models.CharField(max_length=1000, null=True)),
                ("address", models.CharField(max_length=255, null=True)),
                (
                    "address_two",
                    models.CharField(
                        max_length=255, null=True, verbose_name="address, second line"
                    ),
                ),
                ("postal_code", models.CharField(max_length=255, null=True)),
                ("city", models.CharField(max_length=255, null=True)),
                ("state", models.CharField(max_length=255, null=True)),
                ("country", models.CharField(max_length=2, null=True)),
                ("meta_data", models.JSONField(default=dict, verbose_name="metadata")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("promoted_at", models.DateTimeField(null=True, verbose_name="became affiliate")),
                ("deleted_at", models.DateTimeField(null=True, verbose_name="removed")),
                ("slug", models.CharField(max_length=64, verbose_name="ID")),
                (
                    "log_id",
                    models.CharField(
                        default=functools.partial(accounts.ids.generate_public_id, *("af",)),
                        max_length=32,
                    ),
                ),
                ("password", models.CharField(max_length=255)),
                (
                    "custom_fields",
                    models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
                ),
                (
                    "promotion_method",
                    models.CharField(max_length=16, null=True, verbose_name="became affiliate by"),
                ),
                ("language", models.CharField(max_length=8, null=True)),
                ("bounced_email", models.CharField(max_length=762, null=True)),
                ("notices", models.JSONField(null=True)),
                ("invited_at", models.DateTimeField(null=True)),
                ("signed_in_at", models.DateTimeField(null=True)),
                ("deletion_asked_at", models.DateTimeField(null=True)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.affiliate",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="members",
                        to="tracking.affiliategroup",
                    ),
                ),
            ],
            options={
                "default_related_name": "affiliates",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="affiliates_newest_first"
                    ),
                    models.Index(fields=["account", "parent"], name="affiliates_of_parent"),
                    models.Index(fields=["account", "group"], name="affiliates_of_group"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "slug"), name="one_affiliate_per_slug"
                    ),
                    models.UniqueConstraint(
                        fields=("account", "log_id"), name="one_affiliate_per_log_id"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at", None)),
                        fields=("account", "email_folded"),
                        name="one_affiliate_per_email",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Click",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "public_id",
                    models.UUIDField(default=accounts.ids.generate_uuid7, verbose_name="ID"),
                ),
                ("referrer", models.CharField(max_length=2048, null=True)),
                ("landing_page", models.CharField(max_length=2048, null=True)),
                (
                    "user_agent",
                    models.CharField(max_length=1000, null=True, verbose_name="browser"),
                ),
                ("ip", models.GenericIPAddressField(null=True, verbose_name="IP address")),
                ("sub_id", models.CharField(max_length=64, null=True)),
                ("meta_data", models.JSONField(default=dict, verbose_name="metadata")),
                ("dedup_key", models.CharField(max_length=64, null=True)),
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
                    "affiliate",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="clicks",
                        to="tracking.affiliate",
                    ),
                ),
            ],
            options={
                "default_related_name": "clicks",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="clicks_newest_first"
                    ),
                    models.Index(
                        fields=["account", "affiliate", "-created_at", "-id"],
                        name="clicks_of_affiliate",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "public_id"), name="one_click_per_id"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("dedup_key__isnull", False)),
                        fields=("account", "dedup_key"),
                        name="one_click_per_dedup_key",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConversionAttempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("api", "API"),
                            ("postback", "Postback"),
                            ("browser", "Browser"),
                            ("shop", "Shop"),
                        ],
                        max_length=16,
                    ),
                ),
                ("external_id", models.CharField(max_length=255)),
                ("failed_at", models.DateTimeField()),
                ("reason", models.CharField(max_length=64)),
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
                "default_related_name": "conversion_attempts",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "origin", "external_id"),
                        name="one_attempt_per_external_id",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Customer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.CharField(max_length=32, verbose_name="ID")),
                ("customer_id", models.CharField(max_length=255, verbose_name="customer ID")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("new", "New"),
                            ("trial", "Trial"),
                            ("lead", "Lead"),
                            ("paying", "Paying"),
                            ("canceled", "Canceled"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "initial_status",
                    models.CharField(
                        choices=[
                            ("new", "New"),
                            ("trial", "Trial"),
                            ("lead", "Lead"),
                            ("paying", "Paying"),
                            ("canceled", "Canceled"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "is_confirmed",
                    models.BooleanField(db_default=True, default=True, verbose_name="confirmed"),
                ),
                ("is_contested", models.BooleanField(db_default=False, default=False)),
                ("meta_data", models.JSONField(default=dict, verbose_name="metadata")),
                ("email_folded", models.CharField(max_length=765, null=True)),
                ("warnings", models.JSONField(null=True)),
                (
                    "user_agent",
                    models.CharField(max_length=1000, null=True, verbose_name="browser"),
                ),
                ("ip", models.GenericIPAddressField(null=True, verbose_name="IP address")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("deleted_at", models.DateTimeField(null=True, verbose_name="removed")),
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
                        related_name="customers",
                        to="tracking.affiliate",
                    ),
                ),
                (
                    "click",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.click",
                    ),
                ),
            ],
            options={
                "default_related_name": "customers",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="customers_newest_first"
                    ),
                    models.Index(
                        fields=["account", "affiliate", "-created_at", "-id"],
                        name="customers_of_affiliate",
                    ),
                    models.Index(
                        condition=models.Q(("email_folded__isnull", False)),
                        fields=["account", "email_folded"],
                        name="customers_by_email",
                    ),
                    models.Index(
                        condition=models.Q(("is_confirmed", False)),
                        fields=["account", "affiliate"],
                        name="unconfirmed_customers",
                    ),
                    models.Index(
                        condition=models.Q(("click__isnull", False)),
                        fields=["click"],
                        name="customers_of_click",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "public_id"), name="one_customer_per_id"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at", None)),
                        fields=("account", "customer_id"),
                        name="one_customer_per_customer_id",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Conversion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "external_id",
                    models.CharField(max_length=255, null=True, verbose_name="order ID"),
                ),
                ("amount", tracking.amounts.AmountField()),
                ("currency", models.CharField(max_length=3)),
                ("tracking_source", models.CharField(max_length=16, verbose_name="attributed by")),
                ("meta_data", models.JSONField(default=dict, verbose_name="metadata")),
                ("warnings", models.JSONField(null=True)),
                (
                    "user_agent",
                    models.CharField(max_length=1000, null=True, verbose_name="browser"),
                ),
                ("ip", models.GenericIPAddressField(null=True, verbose_name="IP address")),
                (
                    "claim_status",
                    models.CharField(
                        choices=[("open", "Open"), ("reviewed", "Reviewed")],
                        max_length=16,
                        null=True,
                    ),
                ),
                ("is_amount_claimed", models.BooleanField(db_default=False, default=False)),
                ("is_contested", models.BooleanField(db_default=False, default=False)),
                ("disputed_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("deleted_at", models.DateTimeField(null=True, verbose_name="removed")),
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
                        related_name="conversions",
                        to="tracking.affiliate",
                    ),
                ),
                (
                    "click",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.click",
                    ),
                ),
                (
                    "customer",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="conversions",
                        to="tracking.customer",
                    ),
                ),
            ],
            options={
                "default_related_name": "conversions",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="conversions_newest_first"
                    ),
                    models.Index(
                        fields=["account", "affiliate", "-created_at", "-id"],
                        name="conversions_of_affiliate",
                    ),
                    models.Index(
                        fields=["account", "customer", "-created_at", "-id"],
                        name="conversions_of_customer",
                    ),
                    models.Index(
                        condition=models.Q(("click__isnull", False)),
                        fields=["click"],
                        name="conversions_of_click",
                    ),
                    models.Index(
                        condition=models.Q(("claim_status", "open"), ("deleted_at", None)),
                        fields=["account", "affiliate"],
                        name="open_claims_of_affiliate",
                    ),
                    models.Index(
                        fields=["account", "external_id"],
                        name="conversions_by_external_id",
                        opclasses=["int8_ops", "varchar_pattern_ops"],
                    ),
                    models.Index(
                        condition=models.Q(("deleted_at__isnull", False)),
                        fields=["account", "deleted_at"],
                        name="conversions_by_removal",
                    ),
                    models.Index(
                        condition=models.Q(("warnings__isnull", False)),
                        fields=["account", "-created_at", "-id"],
                        name="conversions_to_check",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at", None)),
                        fields=("account", "external_id"),
                        name="one_conversion_per_external_id",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("amount__gte", 0)),
                        name="conversion_amount_not_negative",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AttributionRecord",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("engine", models.CharField(max_length=16)),
                ("inputs", models.TextField()),
                ("outcome", models.TextField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
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
                (
                    "customer",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.customer",
                    ),
                ),
            ],
            options={
                "default_related_name": "attribution_records",
                "indexes": [
                    models.Index(fields=["account", "customer"], name="attribution_of_customer"),
                    models.Index(
                        fields=["account", "conversion"], name="attribution_of_conversion"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("customer", None), ("conversion", None), _connector="XOR"
                        ),
                        name="attribution_record_has_one_subject",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CustomField",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.CharField(max_length=64, verbose_name="ID")),
                ("title", models.CharField(max_length=255)),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("text", "Text"),
                            ("textarea", "Textarea"),
                            ("select", "Select"),
                            ("multiselect", "Multiselect"),
                            ("checkbox", "Checkbox"),
                            ("url", "Url"),
                        ],
                        max_length=16,
                    ),
                ),
                ("required", models.BooleanField(default=False)),
                ("options", models.JSONField(null=True)),
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
                "default_related_name": "field_definitions",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "slug"), name="one_custom_field_per_slug"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Enrollment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("approved", models.BooleanField(null=True, verbose_name="approval")),
                ("promoted_by_claim", models.BooleanField(db_default=False, default=False)),
                ("code_chosen_at", models.DateTimeField(null=True)),
                (
                    "applied_at",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="applied"),
                ),
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
                        related_name="enrollments",
                        to="tracking.affiliate",
                    ),
                ),
            ],
            options={
                "verbose_name": "program affiliate",
                "verbose_name_plural": "program affiliates",
                "default_related_name": "enrollments",
                "indexes": [
                    models.Index(
                        fields=["account", "-applied_at", "-id"], name="applications_newest_first"
                    ),
                    models.Index(fields=["account", "affiliate"], name="programs_of_affiliate"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Coupon",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("code", models.CharField(max_length=64)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "enrollment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="coupons",
                        to="tracking.enrollment",
                    ),
                ),
            ],
            options={
                "default_related_name": "coupons",
                "indexes": [
                    models.Index(
                        models.F("account"),
                        django.db.models.functions.text.Lower("code"),
                        models.F("code"),
                        name="coupons_by_lowered_code",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "code"), name="one_coupon_per_code"),
                    models.UniqueConstraint(
                        fields=("account", "enrollment"), name="one_coupon_per_enrollment"
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="click",
            name="enrollment",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tracking.enrollment",
            ),
        ),
        migrations.CreateModel(
            name="FailedPageCall",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("reason", models.CharField(max_length=64)),
                ("page", models.CharField(blank=True, max_length=255)),
                ("count", models.PositiveIntegerField()),
                ("first_at", models.DateTimeField(verbose_name="first")),
                ("last_at", models.DateTimeField(verbose_name="last")),
                ("last_order_id", models.CharField(blank=True, db_default="", max_length=255)),
                ("last_amount", models.CharField(blank=True, db_default="", max_length=255)),
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
                "default_related_name": "failed_page_calls",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "day", "reason", "page"),
                        name="one_failed_page_call_per_page",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FormerExternalId",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("external_id", models.CharField(max_length=255)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "conversion",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="former_external_ids",
                        to="tracking.conversion",
                    ),
                ),
            ],
            options={
                "default_related_name": "former_external_ids",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "external_id", "conversion"),
                        name="one_former_external_id_per_conversion",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FormerIdDigest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
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
                "default_related_name": "former_id_digests",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "digest"), name="one_digest_per_former_id"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportedObject",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("source", models.CharField(max_length=255)),
                ("kind", models.CharField(max_length=32)),
                ("source_id", models.CharField(max_length=255)),
                ("local_id", models.BigIntegerField()),
                ("fingerprint", models.CharField(max_length=64)),
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
                "default_related_name": "imported_objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "source", "kind", "source_id"),
                        name="one_import_per_object",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LateChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="late_changes",
                        to="accounts.account",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["account", "day"], name="late_changes_by_day")],
            },
        ),
        migrations.CreateModel(
            name="Mail",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("due_at", models.DateTimeField(null=True, verbose_name="next attempt")),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("kind", models.CharField(max_length=32)),
                ("about", models.CharField(max_length=64)),
                ("recipient", models.CharField(max_length=255)),
                ("subject", models.CharField(max_length=255)),
                ("text", models.TextField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                    models.Index(fields=["account", "affiliate", "-id"], name="mails_by_affiliate"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "kind", "about"), name="one_mail_of_a_kind"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Note",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.CharField(max_length=32, verbose_name="ID")),
                ("note", models.CharField(max_length=5000)),
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
                "default_related_name": "notes",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="notes_newest_first"
                    ),
                    models.Index(
                        fields=["account", "affiliate", "-created_at", "-id"],
                        name="notes_of_affiliate",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "public_id"), name="one_note_per_id")
                ],
            },
        ),
        migrations.CreateModel(
            name="PortalLink",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("sign_in", "Sign in"),
                            ("set_password", "Set password"),
                            ("view", "View"),
                            ("second_factor", "Second factor"),
                            ("leave_email", "Leave e-mail address"),
                            ("enter_email", "Enter e-mail address"),
                        ],
                        max_length=16,
                    ),
                ),
                ("token_hash", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                ("new_email", models.CharField(max_length=254, null=True)),
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
                    "viewed_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "default_related_name": "portal_links",
                "indexes": [
                    models.Index(fields=["account", "affiliate"], name="portal_links_of_affiliate")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "token_hash"), name="one_portal_link_per_token"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PortalSecondFactor",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                        fields=("account", "affiliate"), name="one_second_factor_per_affiliate"
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
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                (
                    "viewed_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "default_related_name": "portal_sessions",
                "indexes": [
                    models.Index(
                        fields=["account", "affiliate"], name="portal_sessions_of_affiliate"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "token_hash"), name="one_portal_session_per_token"
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
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("is_on", models.BooleanField(default=False)),
                ("is_open", models.BooleanField(default=False)),
                ("welcome_text", models.TextField(blank=True)),
                ("host", models.CharField(max_length=253, null=True)),
                ("sender_name", models.CharField(max_length=255, null=True)),
                ("contact_email", models.CharField(max_length=254, null=True)),
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
                ("shows_comments", models.BooleanField(null=True)),
                ("shows_recruit_sales", models.BooleanField(null=True)),
                ("payout_day", models.PositiveSmallIntegerField(null=True)),
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
        migrations.CreateModel(
            name="PortalTerms",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("text", models.TextField(blank=True)),
                (
                    "translations",
                    models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
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
                "default_related_name": "portal_terms",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "version"), name="one_portal_terms_per_version"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Program",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.CharField(max_length=64, verbose_name="ID")),
                ("title", models.CharField(max_length=255)),
                ("currency", models.CharField(max_length=3)),
                (
                    "cookie_time",
                    models.PositiveSmallIntegerField(
                        default=45, verbose_name="cookie lifetime in days"
                    ),
                ),
                ("landing_page", models.CharField(blank=True, max_length=2048)),
                ("shop_hosts", models.JSONField(null=True)),
                ("link_parameters", models.JSONField(null=True)),
                (
                    "program_group",
                    models.CharField(blank=True, db_column="group_label", max_length=255),
                ),
                (
                    "auto_approve_affiliates",
                    models.BooleanField(
                        default=False, verbose_name="approve affiliates automatically"
                    ),
                ),
                (
                    "auto_approve_commissions",
                    models.BooleanField(
                        default=False, verbose_name="approve commissions automatically"
                    ),
                ),
                (
                    "auto_approve_browser_sales",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        verbose_name="approve sales reported by pages like others",
                    ),
                ),
                (
                    "trust_browser_customers",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        verbose_name="trust customers named by pages",
                    ),
                ),
                (
                    "hold_days",
                    models.PositiveSmallIntegerField(
                        db_default=0, default=0, verbose_name="days on hold"
                    ),
                ),
                ("recurring", models.BooleanField(default=True)),
                (
                    "recurring_cap",
                    models.PositiveIntegerField(
                        null=True, verbose_name="rewarded conversions per customer"
                    ),
                ),
                (
                    "recurring_period_days",
                    models.PositiveIntegerField(
                        null=True, verbose_name="rewarded days per customer"
                    ),
                ),
                ("archived_at", models.DateTimeField(null=True, verbose_name="archived")),
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
                "default_related_name": "programs",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="programs_newest_first"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "slug"), name="one_program_per_slug")
                ],
            },
        ),
        migrations.CreateModel(
            name="PortalApplication",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("email", models.CharField(max_length=254)),
                ("email_folded", models.CharField(max_length=762)),
                ("data", models.JSONField()),
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
                    "terms",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.portalterms",
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
            ],
            options={
                "default_related_name": "portal_applications",
                "indexes": [
                    models.Index(fields=["account", "email_folded"], name="applications_by_email")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "token_hash"), name="one_portal_application_per_token"
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="enrollment",
            name="program",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="enrollments",
                to="tracking.program",
            ),
        ),
        migrations.AddField(
            model_name="customer",
            name="program",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="customers",
                to="tracking.program",
            ),
        ),
        migrations.CreateModel(
            name="Creative",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("title", models.CharField(max_length=255)),
                (
                    "kind",
                    models.CharField(choices=[("image", "Image"), ("text", "Text")], max_length=16),
                ),
                ("text", models.TextField(blank=True)),
                ("file_name", models.CharField(blank=True, max_length=64)),
                ("media_type", models.CharField(blank=True, max_length=32)),
                ("width", models.PositiveIntegerField(null=True)),
                ("height", models.PositiveIntegerField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("archived_at", models.DateTimeField(null=True, verbose_name="archived")),
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
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="creatives",
                        to="tracking.program",
                    ),
                ),
            ],
            options={
                "default_related_name": "creatives",
                "indexes": [
                    models.Index(fields=["account", "program", "-id"], name="creatives_of_program")
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("file_name", ""), ("kind", "text")),
                            models.Q(
                                ("height__gt", 0), ("kind", "image"), ("text", ""), ("width__gt", 0)
                            ),
                            _connector="OR",
                        ),
                        name="creative_has_image_or_text",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ConversionClaim",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "tracking_id",
                    models.CharField(max_length=255, null=True, verbose_name="tracking ID"),
                ),
                ("amount", tracking.amounts.AmountField()),
                ("currency", models.CharField(max_length=3)),
                ("line_items", models.JSONField(default=list)),
                ("attribution", models.JSONField(default=dict)),
                ("is_original", models.BooleanField(default=False, verbose_name="reported first")),
                ("confirmed_at", models.DateTimeField(null=True, verbose_name="confirmed")),
                ("decided_at", models.DateTimeField(null=True, verbose_name="decided")),
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
                    "affiliate",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.affiliate",
                    ),
                ),
                (
                    "click",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.click",
                    ),
                ),
                (
                    "conversion",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="claims",
                        to="tracking.conversion",
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
            ],
            options={
                "verbose_name": "contested claim",
                "default_related_name": "conversion_claims",
                "indexes": [
                    models.Index(fields=["account", "conversion"], name="claims_of_conversion"),
                    models.Index(
                        condition=models.Q(("click__isnull", False)),
                        fields=["click"],
                        name="claims_of_click",
                    ),
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="claims_newest_first"
                    ),
                    models.Index(
                        condition=models.Q(("decided_at", None), ("is_original", True)),
                        fields=["account"],
                        name="open_contests",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("amount__gte", 0)), name="claim_amount_not_negative"
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="conversion",
            name="program",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="conversions",
                to="tracking.program",
            ),
        ),
        migrations.CreateModel(
            name="Connection",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                        choices=[("listen", "Listen only"), ("live", "Live"), ("off", "Off")],
                        default="listen",
                        max_length=16,
                    ),
                ),
                ("secrets", accounts.encryption.EncryptedJSONField(default=list)),
                (
                    "source_key",
                    accounts.encryption.EncryptedTextField(
                        blank=True, verbose_name="key for catching up"
                    ),
                ),
                ("settings", models.JSONField(default=dict)),
                ("caught_up_until", models.DateTimeField(null=True)),
                ("refused_count", models.SmallIntegerField(db_default=0, default=0)),
                ("refused_since", models.DateTimeField(null=True)),
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
                "verbose_name": "shop",
                "default_related_name": "connections",
                "indexes": [models.Index(fields=["account", "id"], name="connections_of_account")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("public_id",), name="one_connection_per_public_id"
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="click",
            name="program",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="clicks",
                to="tracking.program",
            ),
        ),
        migrations.CreateModel(
            name="Asset",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "hex",
                    models.CharField(
                        default=tracking.models.sources.generate_hex_suffix, max_length=6
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
                (
                    "program",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assets",
                        to="tracking.program",
                    ),
                ),
            ],
            options={
                "default_related_name": "assets",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "program"), name="one_generic_asset_per_program"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Prospect",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("firstname", models.CharField(max_length=255, verbose_name="first name")),
                ("lastname", models.CharField(max_length=255, verbose_name="last name")),
                ("email", models.CharField(max_length=254, null=True, verbose_name="e-mail")),
                ("email_folded", models.CharField(max_length=762, null=True)),
                (
                    "company_name",
                    models.CharField(max_length=255, null=True, verbose_name="company"),
                ),
                ("company_description", models.CharField(max_length=1000, null=True)),
                ("address", models.CharField(max_length=255, null=True)),
                (
                    "address_two",
                    models.CharField(
                        max_length=255, null=True, verbose_name="address, second line"
                    ),
                ),
                ("postal_code", models.CharField(max_length=255, null=True)),
                ("city", models.CharField(max_length=255, null=True)),
                ("state", models.CharField(max_length=255, null=True)),
                ("country", models.CharField(max_length=2, null=True)),
                ("meta_data", models.JSONField(default=dict, verbose_name="metadata")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("promoted_at", models.DateTimeField(null=True, verbose_name="became affiliate")),
                ("deleted_at", models.DateTimeField(null=True, verbose_name="removed")),
                ("public_id", models.CharField(max_length=32, verbose_name="ID")),
                ("custom_fields", models.JSONField(default=dict)),
                (
                    "signup_source",
                    models.CharField(
                        choices=[("api", "API"), ("form", "Form"), ("import", "Import")],
                        max_length=16,
                        verbose_name="sign-up source",
                    ),
                ),
                (
                    "promotion_method",
                    models.CharField(
                        choices=[
                            ("customer", "Customer"),
                            ("conversion", "Conversion"),
                            ("manual", "Manual"),
                        ],
                        max_length=16,
                        null=True,
                        verbose_name="became affiliate by",
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
                    "group",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.affiliategroup",
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
            ],
            options={
                "default_related_name": "prospects",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="prospects_newest_first"
                    ),
                    models.Index(fields=["account", "email_folded"], name="prospects_by_email"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "public_id"), name="one_prospect_per_id"
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="click",
            name="prospect",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tracking.prospect",
            ),
        ),
        migrations.CreateModel(
            name="PrunedClickCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
        migrations.CreateModel(
            name="Question",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.CharField(max_length=32, verbose_name="ID")),
                ("order_id", models.CharField(blank=True, max_length=255, verbose_name="order ID")),
                ("day", models.DateField()),
                ("answer_given", models.CharField(blank=True, max_length=32)),
                ("text", models.CharField(blank=True, max_length=2000)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("answered", "Answered"), ("closed", "Closed")],
                        default="open",
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("answered_at", models.DateTimeField(null=True)),
                ("answered_by", models.CharField(blank=True, max_length=255)),
                ("answer", models.CharField(blank=True, max_length=2000)),
                ("is_answer_new", models.BooleanField(null=True)),
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
                        fields=["account", "-created_at", "-id"], name="questions_newest_first"
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
        migrations.CreateModel(
            name="ReferralCode",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("code", models.CharField(max_length=64)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "enrollment",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="referral_codes",
                        to="tracking.enrollment",
                    ),
                ),
                (
                    "prospect",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="referral_codes",
                        to="tracking.prospect",
                    ),
                ),
            ],
            options={
                "default_related_name": "referral_codes",
                "indexes": [
                    models.Index(
                        models.F("account"),
                        django.db.models.functions.text.Lower("code"),
                        models.F("code"),
                        name="referral_codes_by_lowered_code",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "code"), name="one_referral_code_per_code"
                    ),
                    models.UniqueConstraint(
                        fields=("account", "enrollment"), name="one_referral_code_per_enrollment"
                    ),
                    models.UniqueConstraint(
                        fields=("account", "prospect"), name="one_referral_code_per_prospect"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("enrollment__isnull", False),
                            ("prospect__isnull", False),
                            _connector="OR",
                        ),
                        name="referral_code_has_affiliate_or_prospect",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReferralCodeAlias",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("code", models.CharField(max_length=64)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="accounts.account",
                    ),
                ),
                (
                    "enrollment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="referral_code_aliases",
                        to="tracking.enrollment",
                    ),
                ),
            ],
            options={
                "default_related_name": "referral_code_aliases",
                "indexes": [
                    models.Index(fields=["account", "enrollment"], name="aliases_of_enrollment"),
                    models.Index(
                        models.F("account"),
                        django.db.models.functions.text.Lower("code"),
                        models.F("code"),
                        name="aliases_by_lowered_code",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "code"), name="one_alias_per_code")
                ],
            },
        ),
        migrations.CreateModel(
            name="RefusedRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("no_secret", "No signing secret was set"),
                            ("signature", "The signature did not match the secret"),
                            (
                                "time",
                                "The signature was more than five minutes old, or had no time",
                            ),
                            ("unreadable", "The body was no event of this kind of shop"),
                            ("too_large", "The body was too large"),
                        ],
                        max_length=16,
                    ),
                ),
                ("count", models.SmallIntegerField(default=1)),
                ("last_at", models.DateTimeField()),
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
                "default_related_name": "refused_requests",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "connection", "day", "reason"),
                        name="one_refused_request_per_reason",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SearchSuffix",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("suffix", models.CharField(max_length=64)),
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
                "default_related_name": "search_suffixes",
                "indexes": [
                    models.Index(
                        fields=["account", "suffix", "affiliate"],
                        name="affiliates_by_suffix",
                        opclasses=["int8_ops", "varchar_pattern_ops", "int8_ops"],
                    ),
                    models.Index(fields=["account", "affiliate"], name="suffixes_of_affiliate"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ShopCustomer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                        fields=("account", "connection", "key"), name="one_shop_customer_per_key"
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
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("label", models.CharField(blank=True, max_length=255)),
                ("name", models.CharField(blank=True, db_default="", default="", max_length=255)),
                ("customer_key", models.CharField(blank=True, max_length=255)),
                ("facts", models.JSONField(default=dict)),
                ("settings", models.JSONField(null=True)),
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
                    models.Index(
                        condition=models.Q(("name", ""), _negated=True),
                        fields=["account", "name"],
                        name="shop_orders_by_name",
                        opclasses=["int8_ops", "varchar_pattern_ops"],
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
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("due_at", models.DateTimeField(null=True, verbose_name="next attempt")),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("key", models.CharField(max_length=255, verbose_name="ID")),
                ("kind", models.CharField(max_length=255)),
                ("body", models.TextField(blank=True)),
                ("is_claim", models.BooleanField(db_default=False, default=False)),
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
                        verbose_name="shop",
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
                        fields=["account", "-created_at", "-id"], name="shop_events_newest_first"
                    ),
                    models.Index(
                        condition=models.Q(("state", "failed")),
                        fields=["account", "-created_at", "-id"],
                        name="shop_events_failed",
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
                        fields=("account", "connection", "key"), name="one_shop_event_per_key"
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
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
        migrations.CreateModel(
            name="Source",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "hex",
                    models.CharField(
                        default=tracking.models.sources.generate_hex_suffix, max_length=6
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
                (
                    "affiliate",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sources",
                        to="tracking.affiliate",
                    ),
                ),
                (
                    "prospect",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sources",
                        to="tracking.prospect",
                    ),
                ),
            ],
            options={
                "default_related_name": "sources",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "affiliate"), name="one_source_per_affiliate"
                    ),
                    models.UniqueConstraint(
                        fields=("account", "prospect"), name="one_source_per_prospect"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("affiliate__isnull", False),
                            ("prospect__isnull", False),
                            _connector="OR",
                        ),
                        name="source_has_affiliate_or_prospect",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TableImport",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.CharField(max_length=32, verbose_name="ID")),
                ("kind", models.CharField(max_length=32)),
                ("file_name", models.CharField(max_length=255)),
                ("actor", models.CharField(max_length=255)),
                ("created", models.PositiveIntegerField(default=0)),
                ("known", models.PositiveIntegerField(default=0)),
                ("not_stored", models.PositiveIntegerField(default=0)),
                (
                    "settings",
                    models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("undone_at", models.DateTimeField(null=True)),
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
                "default_related_name": "table_imports",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="table_imports_newest_first"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "public_id"), name="one_table_import_per_id"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TableUpload",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=32)),
                ("system", models.CharField(blank=True, max_length=32)),
                ("file_name", models.CharField(max_length=255)),
                ("content", accounts.encryption.EncryptedTextField(blank=True)),
                ("settings", models.JSONField(default=dict)),
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
                    "table_import",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.tableimport",
                    ),
                ),
            ],
            options={
                "default_related_name": "table_uploads",
                "indexes": [
                    models.Index(
                        fields=["account", "-created_at", "-id"], name="table_uploads_newest_first"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TermsAcceptance",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("language", models.CharField(blank=True, db_default="", default="", max_length=8)),
                ("accepted_at", models.DateTimeField()),
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
                    "terms",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.portalterms",
                    ),
                ),
            ],
            options={
                "default_related_name": "terms_acceptances",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "affiliate", "terms"), name="one_acceptance_per_terms"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Visitor",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tracking_id", models.CharField(max_length=32)),
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
                    "click",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tracking.click",
                    ),
                ),
            ],
            options={
                "default_related_name": "visitors",
                "indexes": [models.Index(fields=["click"], name="visitors_of_click")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("account", "tracking_id"), name="one_visitor_per_id"
                    )
                ],
            },
        ),
        migrations.AddIndex(
            model_name="enrollment",
            index=models.Index(
                fields=["account", "program", "-applied_at", "-id"], name="enrollments_newest_first"
            ),
        ),
        migrations.AddConstraint(
            model_name="enrollment",
            constraint=models.UniqueConstraint(
                fields=("account", "program", "affiliate"), name="one_enrollment_per_program"
            ),
        ),
        migrations.AddIndex(
            model_name="customer",
            index=models.Index(
                fields=["account", "program", "-created_at", "-id"], name="customers_of_program"
            ),
        ),
        migrations.AddIndex(
            model_name="conversion",
            index=models.Index(
                fields=["account", "program", "-created_at", "-id"], name="conversions_of_program"
            ),
        ),
        migrations.AddIndex(
            model_name="click",
            index=models.Index(
                fields=["account", "program", "-created_at", "-id"], name="clicks_of_program"
            ),
        ),
        migrations.AddIndex(
            model_name="click",
            index=models.Index(
                condition=models.Q(("prospect__isnull", False)),
                fields=["account", "prospect"],
                name="clicks_of_prospect",
            ),
        ),
        migrations.AddConstraint(
            model_name="click",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("affiliate__isnull", False), ("enrollment__isnull", False)),
                    models.Q(
                        ("affiliate", None), ("enrollment", None), ("prospect__isnull", False)
                    ),
                    _connector="OR",
                ),
                name="click_has_affiliate_or_prospect",
            ),
        ),
    ]
