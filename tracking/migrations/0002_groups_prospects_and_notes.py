import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Groups, parents, custom fields and notes of affiliates; prospects."""

    dependencies = [
        ("accounts", "0005_idempotency_keys"),
        ("tracking", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="CustomField",
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
                ("slug", models.CharField(max_length=64)),
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
            ],
        ),
        migrations.CreateModel(
            name="Note",
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
                ("note", models.CharField(max_length=5000)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="Prospect",
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
                ("firstname", models.CharField(max_length=255)),
                ("lastname", models.CharField(max_length=255)),
                ("email", models.CharField(max_length=254, null=True)),
                ("email_folded", models.CharField(max_length=762, null=True)),
                ("company_name", models.CharField(max_length=255, null=True)),
                ("company_description", models.CharField(max_length=1000, null=True)),
                ("address", models.CharField(max_length=255, null=True)),
                ("address_two", models.CharField(max_length=255, null=True)),
                ("postal_code", models.CharField(max_length=255, null=True)),
                ("city", models.CharField(max_length=255, null=True)),
                ("state", models.CharField(max_length=255, null=True)),
                ("country", models.CharField(max_length=2, null=True)),
                ("custom_fields", models.JSONField(default=dict)),
                ("meta_data", models.JSONField(default=dict)),
                (
                    "signup_source",
                    models.CharField(
                        choices=[
                            ("api", "Api"),
                            ("form", "Form"),
                            ("import", "Import"),
                        ],
                        max_length=16,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("promoted_at", models.DateTimeField(null=True)),
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
                    ),
                ),
                ("removed_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name="affiliate",
            name="custom_fields",
            field=models.JSONField(
                db_default=models.Value({}, models.JSONField()), default=dict
            ),
        ),
        migrations.AddField(
            model_name="affiliate",
            name="parent",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tracking.affiliate",
            ),
        ),
        migrations.AddField(
            model_name="affiliate",
            name="promoted_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="affiliate",
            name="promotion_method",
            field=models.CharField(max_length=16, null=True),
        ),
        migrations.AlterField(
            model_name="click",
            name="affiliate",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="clicks",
                to="tracking.affiliate",
            ),
        ),
        migrations.AlterField(
            model_name="click",
            name="enrolment",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tracking.enrolment",
            ),
        ),
        migrations.AlterField(
            model_name="conversionattempt",
            name="source",
            field=models.CharField(
                choices=[("api", "Api"), ("postback", "Postback")], max_length=16
            ),
        ),
        migrations.AlterField(
            model_name="referralcode",
            name="enrolment",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="referral_codes",
                to="tracking.enrolment",
            ),
        ),
        migrations.AlterField(
            model_name="source",
            name="affiliate",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="sources",
                to="tracking.affiliate",
            ),
        ),
        migrations.CreateModel(
            name="AffiliateGroup",
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
                ("title", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="affiliate_groups",
                        to="accounts.account",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="affiliate",
            name="group",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="members",
                to="tracking.affiliategroup",
            ),
        ),
        migrations.AddIndex(
            model_name="affiliate",
            index=models.Index(
                fields=["account", "parent"], name="affiliates_of_parent"
            ),
        ),
        migrations.AddIndex(
            model_name="affiliate",
            index=models.Index(fields=["account", "group"], name="affiliates_of_group"),
        ),
        migrations.AddField(
            model_name="customfield",
            name="account",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="field_definitions",
                to="accounts.account",
            ),
        ),
        migrations.AddField(
            model_name="note",
            name="account",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="notes",
                to="accounts.account",
            ),
        ),
        migrations.AddField(
            model_name="note",
            name="affiliate",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tracking.affiliate",
            ),
        ),
        migrations.AddField(
            model_name="prospect",
            name="account",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="prospects",
                to="accounts.account",
            ),
        ),
        migrations.AddField(
            model_name="prospect",
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
            model_name="prospect",
            name="group",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tracking.affiliategroup",
            ),
        ),
        migrations.AddField(
            model_name="prospect",
            name="program",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="tracking.program",
            ),
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
        migrations.AddField(
            model_name="referralcode",
            name="prospect",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="referral_codes",
                to="tracking.prospect",
            ),
        ),
        migrations.AddField(
            model_name="source",
            name="prospect",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="sources",
                to="tracking.prospect",
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
                    models.Q(
                        ("affiliate__isnull", False), ("enrolment__isnull", False)
                    ),
                    models.Q(
                        ("affiliate", None),
                        ("enrolment", None),
                        ("prospect__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="a_click_is_somebodys",
            ),
        ),
        migrations.AddConstraint(
            model_name="referralcode",
            constraint=models.UniqueConstraint(
                fields=("account", "prospect"), name="one_referral_code_per_prospect"
            ),
        ),
        migrations.AddConstraint(
            model_name="referralcode",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("enrolment__isnull", False),
                    ("prospect__isnull", False),
                    _connector="OR",
                ),
                name="a_referral_code_names_somebody",
            ),
        ),
        migrations.AddConstraint(
            model_name="source",
            constraint=models.UniqueConstraint(
                fields=("account", "prospect"), name="one_source_per_prospect"
            ),
        ),
        migrations.AddConstraint(
            model_name="source",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("affiliate__isnull", False),
                    ("prospect__isnull", False),
                    _connector="OR",
                ),
                name="a_source_is_somebodys",
            ),
        ),
        migrations.AddIndex(
            model_name="affiliategroup",
            index=models.Index(
                fields=["account", "-created_at", "-id"], name="groups_newest_first"
            ),
        ),
        migrations.AddConstraint(
            model_name="affiliategroup",
            constraint=models.UniqueConstraint(
                fields=("account", "public_id"), name="one_group_per_id"
            ),
        ),
        migrations.AddConstraint(
            model_name="customfield",
            constraint=models.UniqueConstraint(
                fields=("account", "slug"), name="one_custom_field_per_slug"
            ),
        ),
        migrations.AddIndex(
            model_name="note",
            index=models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="notes_of_affiliate",
            ),
        ),
        migrations.AddConstraint(
            model_name="note",
            constraint=models.UniqueConstraint(
                fields=("account", "public_id"), name="one_note_per_id"
            ),
        ),
        migrations.AddIndex(
            model_name="prospect",
            index=models.Index(
                fields=["account", "-created_at", "-id"], name="prospects_newest_first"
            ),
        ),
        migrations.AddIndex(
            model_name="prospect",
            index=models.Index(
                fields=["account", "email_folded"], name="prospects_by_email"
            ),
        ),
        migrations.AddConstraint(
            model_name="prospect",
            constraint=models.UniqueConstraint(
                fields=("account", "public_id"), name="one_prospect_per_id"
            ),
        ),
    ]
