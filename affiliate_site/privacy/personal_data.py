"""Every column with text, JSON, bytes or an address: whose personal data it has.

The record of processing in docs/privacy.md shows `PERSONAL_COLUMNS`. A new column of
any model goes into `PERSONAL_COLUMNS` or `OTHER_COLUMNS`, and what it has of an
affiliate, prospect or customer is erased in `payouts/services/erasure.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

AFFILIATE, PROSPECT, CUSTOMER, STAFF = "affiliate", "prospect", "customer", "staff"
UNTIL_ERASED = "until erased"
IN_USE = "while the user has it"
VISITOR_DATA = "shortened after the account's days (90)"


@dataclass(frozen=True)
class PersonalColumns:
    """Columns of a table with one person's data, and what becomes of them.

    `names` are separated by spaces. `erasing` is what `erase_person` does to them.
    """

    table: str  # label of the model
    names: str
    person: str
    kept: str
    erasing: str

    @property
    def label(self) -> str:
        """The columns as docs/privacy.md names them."""
        return f"{self.table}: {', '.join(self.names.split())}"


PERSON_COLUMNS = (
    "email email_folded company_name company_description address address_two"
    " postal_code city state country meta_data custom_fields"
)

PERSONAL_COLUMNS = (
    # Affiliates
    PersonalColumns(
        "tracking.Affiliate",
        "firstname lastname",
        AFFILIATE,
        UNTIL_ERASED,
        "replaced by “Erased person”",
    ),
    PersonalColumns(
        "tracking.Affiliate", PERSON_COLUMNS, AFFILIATE, UNTIL_ERASED, "cleared"
    ),
    PersonalColumns(
        "tracking.Affiliate",
        "slug",
        AFFILIATE,
        UNTIL_ERASED,
        "replaced by erased-…, wherever it is stored",
    ),
    PersonalColumns(
        "tracking.Affiliate", "password", AFFILIATE, UNTIL_ERASED, "cleared (a hash)"
    ),
    PersonalColumns(
        "tracking.SearchSuffix",
        "suffix",
        AFFILIATE,
        "as long as what it repeats",
        "deleted",
    ),
    PersonalColumns("tracking.Note", "note", AFFILIATE, UNTIL_ERASED, "row deleted"),
    PersonalColumns("tracking.Coupon", "code", AFFILIATE, UNTIL_ERASED, "row deleted"),
    PersonalColumns(
        "tracking.ReferralCode",
        "code",
        f"{AFFILIATE}, {PROSPECT}",
        UNTIL_ERASED,
        "replaced by erased-…",
    ),
    PersonalColumns(
        "payouts.PayoutMethod", "details", AFFILIATE, UNTIL_ERASED, "row deleted"
    ),
    PersonalColumns(
        "payouts.Commission",
        "comment",
        f"{AFFILIATE}, {CUSTOMER}",
        UNTIL_ERASED,
        "cleared",
    ),
    PersonalColumns(
        "payouts.Payment", "cancel_reason", AFFILIATE, UNTIL_ERASED, "cleared"
    ),
    PersonalColumns(
        "payouts.Commission",
        "calculation",
        AFFILIATE,
        "as long as the commission",
        "the affiliate's ID is replaced; amounts stay",
    ),
    PersonalColumns(
        "accounts.WebhookEndpoint",
        "affiliate url",
        AFFILIATE,
        UNTIL_ERASED,
        "postbacks of the affiliate are deleted",
    ),
    # Prospects
    PersonalColumns(
        "tracking.Prospect",
        "firstname lastname",
        PROSPECT,
        UNTIL_ERASED,
        "replaced by “Erased person”",
    ),
    PersonalColumns(
        "tracking.Prospect", PERSON_COLUMNS, PROSPECT, UNTIL_ERASED, "cleared"
    ),
    # Customers and visitors
    PersonalColumns(
        "tracking.Customer",
        "customer_id meta_data email_folded",
        CUSTOMER,
        "until removed or erased",
        "cleared",
    ),
    PersonalColumns(
        "tracking.Customer", "ip user_agent", CUSTOMER, VISITOR_DATA, "cleared"
    ),
    PersonalColumns(
        "tracking.Conversion",
        "external_id",
        CUSTOMER,
        "as long as the conversion",
        "kept, so that no order counts twice; cleared if it contains an e-mail address",
    ),
    PersonalColumns(
        "tracking.FormerExternalId",
        "external_id",
        CUSTOMER,
        "as long as the conversion",
        "kept, so that no order counts twice; row deleted if it contains an e-mail"
        " address",
    ),
    PersonalColumns(
        "tracking.Conversion", "meta_data", CUSTOMER, UNTIL_ERASED, "cleared"
    ),
    PersonalColumns(
        "tracking.Conversion", "ip user_agent", CUSTOMER, VISITOR_DATA, "cleared"
    ),
    PersonalColumns(
        "tracking.ConversionClaim",
        "tracking_id line_items",
        CUSTOMER,
        UNTIL_ERASED,
        "tracking id and comments are cleared; amounts stay",
    ),
    PersonalColumns(
        "tracking.ConversionClaim",
        "attribution",
        f"{AFFILIATE}, {CUSTOMER}",
        "as long as the conversion",
        "as in attribution records",
    ),
    PersonalColumns(
        "tracking.AttributionRecord",
        "inputs outcome",
        f"{AFFILIATE}, {CUSTOMER}",
        "as long as the conversion",
        "ID and codes of the affiliate and tracking id of the customer are replaced",
    ),
    PersonalColumns(
        "tracking.Click", "ip user_agent", CUSTOMER, VISITOR_DATA, "cleared"
    ),
    PersonalColumns(
        "tracking.Click",
        "referrer landing_page meta_data",
        f"{AFFILIATE}, {CUSTOMER}",
        UNTIL_ERASED,
        "cleared; the landing page loses its query only",
    ),
    PersonalColumns(
        "tracking.Click",
        "dedup_key",
        CUSTOMER,
        UNTIL_ERASED,
        "cleared (a hash)",
    ),
    PersonalColumns(
        "tracking.Visitor", "tracking_id", CUSTOMER, "400 days", "row deleted"
    ),
    PersonalColumns(
        "tracking.ConversionAttempt",
        "external_id message",
        CUSTOMER,
        "1 hour",
        "row deleted",
    ),
    # What repeats others
    PersonalColumns(
        "accounts.Delivery",
        "url body response_body error",
        f"{AFFILIATE}, {PROSPECT}, {CUSTOMER}",
        "30 days",
        "finished ones are deleted; others are sent with the erased data",
    ),
    PersonalColumns(
        "accounts.IdempotencyKey",
        "body",
        f"{AFFILIATE}, {PROSPECT}, {CUSTOMER}",
        "24 hours",
        "replaced by {}",
    ),
    PersonalColumns(
        "accounts.SavedView",
        "name query",
        f"{AFFILIATE}, {PROSPECT}, {CUSTOMER}",
        IN_USE,
        "views that search the person are deleted",
    ),
    PersonalColumns(
        "accounts.RateWindow",
        "subject",
        f"{CUSTOMER}, {STAFF}",
        "15 minutes",
        "kept: it is gone soon",
    ),
    # Staff
    PersonalColumns(
        "accounts.User",
        "email password recovery_codes",
        STAFF,
        "as long as the account: the audit log names who did what",
        "not for staff: deactivate the user",
    ),
    PersonalColumns("accounts.Invitation", "email", STAFF, "32 days", "not for staff"),
    PersonalColumns("otp_totp.TOTPDevice", "name key", STAFF, IN_USE, "not for staff"),
    PersonalColumns(
        "sessions.Session",
        "session_key session_data",
        STAFF,
        "until it ends",
        "not for staff",
    ),
)

# Columns that name nobody: settings, numbers and random IDs, texts about goods.
OTHER_COLUMNS = {
    "accounts.Account": (
        "slug name customer_email_keys default_currency time_zone link_color"
    ),
    "accounts.Logo": "media_type image",
    "accounts.ApiKey": "digest prefix name role",
    "accounts.AuditLogEntry": "kind subject details actor trace_id",
    "accounts.CommandRun": "name",
    "accounts.DailyRowCount": "list",
    "accounts.Delivery": "message_id",
    "accounts.IdempotencyKey": "key fingerprint",
    "accounts.Invitation": "digest role",
    "accounts.Plan": "name",
    "accounts.SavedView": "list",
    "accounts.SigningSecret": "secret prefix",
    "accounts.User": "role",
    "accounts.WebhookEndpoint": (
        "public_id events method secret old_secret disabled_because"
    ),
    # Django's own; the back office does not write its log of changes.
    "admin.LogEntry": "object_id object_repr change_message",
    "auth.Group": "name",
    "auth.Permission": "name codename",
    "contenttypes.ContentType": "app_label model",
    "payouts.Bonus": "public_id title goal_type period kind",
    "payouts.Commission": "kind commission_type name currency rate_kind status",
    "payouts.CommissionType": "identifier title kind",
    "payouts.DailyLandingPageClicks": "landing_page",
    "payouts.DailyStats": "currency",
    "payouts.GroupRate": "kind",
    "payouts.LedgerAccount": "currency kind",
    "payouts.LedgerDigest": "previous segments digest",
    "payouts.Level": "title kind",
    "payouts.Payment": "public_id currency",
    "payouts.PayoutMethod": "kind",
    "payouts.Transfer": "currency kind actor",
    "tracking.Affiliate": "promotion_method",
    "tracking.AffiliateGroup": "public_id title",
    "tracking.Asset": "hex",
    "tracking.AttributionRecord": "engine",
    "tracking.Click": "public_id",
    "tracking.Conversion": "currency tracking_source warnings claim_status",
    "tracking.ConversionAttempt": "origin",
    "tracking.ConversionClaim": "currency",
    "tracking.CustomField": "slug title type options",
    "tracking.Customer": "public_id status initial_status warnings",
    "tracking.FailedPageCall": "reason page",
    "tracking.Note": "public_id",
    "tracking.Program": "slug title currency landing_page program_group",
    "tracking.Prospect": "public_id signup_source promotion_method",
    "tracking.Source": "hex",
}


def list_declared_columns() -> Iterator[tuple[str, str]]:
    """Yield the table and name of each declared column."""
    for columns in PERSONAL_COLUMNS:
        for name in columns.names.split():
            yield columns.table, name
    for table, names in OTHER_COLUMNS.items():
        for name in names.split():
            yield table, name


def render_record_of_processing() -> str:
    """Return the table of `PERSONAL_COLUMNS` in docs/privacy.md."""
    rows = [
        f"| {columns.label} | {columns.person} | {columns.kept} | {columns.erasing} |"
        for columns in PERSONAL_COLUMNS
    ]
    head = "| Table: columns | Of | Kept | Erasing |\n|---|---|---|---|"
    return "\n".join([head, *rows])
