"""Each text column of each model is in the record of processing of docs/privacy.md.

Columns that name nobody are not in the record but here.
"""

from collections import Counter

from django.apps import apps
from django.db import models

from tests.record_of_processing import list_recorded_columns

TEXT_TYPES = (
    models.BinaryField,
    models.CharField,
    models.GenericIPAddressField,
    models.JSONField,
    models.TextField,
    models.UUIDField,
)
OPTIONAL_APPS = ("otp_totp",)

# Settings, numbers and random IDs, texts about goods. Columns with choices name nobody.
OTHER_COLUMNS_OF_ALL_TABLES = ("currency", "log_id", "public_id")
OTHER_COLUMNS = {
    "accounts.Account": (
        "slug name customer_email_keys default_currency time_zone link_color watches"
    ),
    "accounts.ApiKey": "digest prefix name",
    "accounts.AuditLogEntry": "kind subject details actor trace_id",
    "accounts.CommandRun": "name",
    "accounts.DailyRowCount": "list",
    "accounts.Delivery": "message_id",
    "accounts.IdempotencyKey": "key fingerprint",
    "accounts.Invitation": "digest",
    "accounts.Logo": "media_type image",
    "accounts.Plan": "name",
    "payouts.DailyStats": "time_zone",
    "accounts.SavedView": "list",
    "accounts.SigningSecret": "secret prefix",
    "accounts.WebhookEndpoint": "events secret old_secret disabled_because",
    # Django's own; the back office does not write its log of changes.
    "admin.LogEntry": "object_id object_repr change_message",
    "auth.Group": "name",
    "auth.Permission": "name codename",
    "contenttypes.ContentType": "app_label model",
    "payouts.Alert": "watch subject text dismissed_by",
    "payouts.Bonus": "title",
    "payouts.Document": "label sentence issuer",
    "payouts.TaxData": "country",
    "payouts.TaxRule": "country sentence",
    "payouts.ClosedMonth": "csv pdf digest closed_by reopened_by reason",
    "payouts.Commission": "commission_type name",
    "payouts.CommissionType": "identifier title",
    "payouts.DailyLandingPageClicks": "landing_page",
    "payouts.ExchangeRate": "into_currency",
    "payouts.LedgerDigest": "previous segments digest",
    "payouts.Level": "title",
    "payouts.PayoutFile": "format message_id payments",
    "payouts.PayoutLine": "fingerprint debits",
    "payouts.PayoutRun": "basis note created_by confirmed_by payer",
    "payouts.PayoutSettings": (
        "payer_name payer_iban payer_bic payer_street payer_building"
        " payer_postal_code payer_city payer_country payer_vat_id document_prefix"
        " mail_subject mail_text"
    ),
    "payouts.Correction": "actor",
    "payouts.Rate": "conditions",
    "payouts.Refund": "actor lines",
    "payouts.RiskCase": "rule decided_by",
    "payouts.RiskFinding": "rule key facts",
    "payouts.RiskRule": "rule patterns",
    "payouts.Scenario": "outcome error created_by",
    "payouts.Transfer": "actor",
    "payouts.WithheldBalance": "created_by",
    "tracking.Affiliate": "language notices promotion_method",
    "tracking.AffiliateGroup": "title",
    "tracking.Asset": "hex",
    "tracking.AttributionRecord": "engine",
    "tracking.Conversion": "tracking_source warnings",
    "tracking.Connection": "name secrets source_key settings",
    "tracking.ShopEvent": "kind result",
    "tracking.ShopOrder": "lines suspended settings",
    "tracking.ConversionAttempt": "reason",
    "tracking.Creative": "title text file_name media_type",
    "tracking.CustomField": "slug title options",
    "tracking.Customer": "warnings",
    "tracking.FailedPageCall": "reason page",
    "tracking.ImportedObject": "source kind fingerprint",
    "tracking.Mail": "kind about",
    "tracking.PortalSettings": "contact_email host sender_name welcome_text",
    "tracking.PortalTerms": "text translations",
    "tracking.Program": ("slug title landing_page shop_hosts program_group link_parameters"),
    "tracking.ProgramInvitation": "title",
    "tracking.PrunedClickCount": "landing_page",
    "tracking.Question": "answer_given answered_by",
    "tracking.Source": "hex",
    "tracking.TableImport": "actor kind",
    "tracking.TableUpload": "kind system",
    "tracking.TermsAcceptance": "language",
}


def list_text_columns():
    return {
        (model._meta.label, field.name)
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed
        for field in model._meta.local_fields
        if isinstance(field, TEXT_TYPES)
        and not field.choices
        and field.name not in OTHER_COLUMNS_OF_ALL_TABLES
    }


def test_each_column_is_declared_once():
    declared = Counter(column[:2] for column in list_recorded_columns())
    declared.update(
        (table, name) for table, names in OTHER_COLUMNS.items() for name in names.split()
    )
    found = list_text_columns()

    optional = {each for each in declared if each[0].split(".")[0] in OPTIONAL_APPS}
    assert {each for each, number in declared.items() if number > 1} == set()
    assert found - set(declared) == set(), (
        "add these columns to the table in docs/privacy.md, section 3 "
        " (then payouts/services/erasure.py erases them) or to OTHER_COLUMNS"
    )
    assert set(declared) - found - optional == set(), "these columns do not exist"
