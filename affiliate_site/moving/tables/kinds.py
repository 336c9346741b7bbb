"""What a table may hold: for each kind, its columns and where they go in a body.

A row becomes a body as the API 1.6 shows it, which the importing services store.
"""

from dataclasses import dataclass, field, replace

from payouts.payout_details import DETAIL_NAMES
from tracking.models.affiliates import ADDRESS_PARTS

COUNTRY = ADDRESS_PARTS["country"]
DETAIL_COLUMNS = tuple(dict.fromkeys(n for names in DETAIL_NAMES.values() for n in names))
DETAIL_LABELS = {"iban": "IBAN", "bic": "BIC"}
DETAIL_SYNONYMS = {
    "email": ("paypal email", "paypal e mail", "paypal"),
    "iban": ("iban",),
    "bic": ("bic", "swift"),
}
PREFIXES = {
    "meta": "meta_data",
    "custom": "custom_fields",
}  # `meta:key`, `custom:field`


@dataclass(frozen=True)
class ImportColumn:
    """A column: its name, how it is read, and its place in the body.

    `synonyms` are further names in headers, without case and marks. `type` is a name of
    `values.READERS` or `references.KINDS`.
    """

    name: str
    label: str
    path: str
    type: str = "text"
    is_required: bool = False
    synonyms: tuple[str, ...] = ()
    example: str = ""
    max_length: int = 255


@dataclass(frozen=True)
class TableKind:
    """A kind of table, and which prefixes its other columns may have."""

    name: str
    label: str
    columns: tuple[ImportColumn, ...]
    prefixes: tuple[str, ...] = ()
    by_name: dict[str, ImportColumn] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {column.name: column for column in self.columns}
        object.__setattr__(self, "by_name", by_name)

    def find_column(self, name: str) -> ImportColumn | None:
        """Return the column of this name, or that of a prefix such as `meta:source`."""
        prefix, mark, key = name.partition(":")
        if mark and key and prefix in self.prefixes:
            kind = "custom_field" if prefix == "custom" else "text"
            return ImportColumn(name, key, f"{PREFIXES[prefix]}.{key}", kind)
        return self.by_name.get(name)


AFFILIATE = ImportColumn(
    *("affiliate", "Affiliate", "affiliate.id", "affiliate"),
    is_required=True,
    synonyms=(
        *("affiliate id", "affiliate email", "promoter", "partner", "partner key"),
        *("partner id", "affiliate code", "partner code", "user id"),
    ),
    example="odette@notes.example.org",
)
PAYEE = replace(  # in tables where an address or code is nobody else's
    AFFILIATE,
    synonyms=(
        *AFFILIATE.synonyms,
        *("email", "e mail", "email address", "e mail address", "mail"),
        *("e mail adresse", "adresse e mail", "courriel", "correo"),
        *("code", "referral code"),
    ),
)
PROGRAM = ImportColumn(
    *("program", "Program", "program.id", "program"),
    is_required=True,
    synonyms=("program id", "program title"),
    example="harbor-lamp-partners",
)
CREATED = ImportColumn(
    *("created_at", "Created", "created_at", "date"),
    synonyms=("created utc", "date", "created on", "date utc", "joined", "joined at"),
    example="2026-03-04T09:15:27Z",
)
CURRENCY = ImportColumn(
    *("currency", "Currency", "currency", "currency"),
    is_required=True,
    synonyms=("amount currency", "commission currency", "balance due currency"),
    example="EUR",
)
AMOUNT = ImportColumn(*("amount", "Amount", "amount", "amount"), is_required=True, example="99.90")
REMOVED = ImportColumn(
    *("removed_at", "Removed", "removed_at", "removed"),
    synonyms=(
        "deleted at",
        "deleted at utc",
        "deleted",
        "canceled at utc",
        "canceled at",
    ),
)

AFFILIATES = TableKind(
    "affiliates",
    "Affiliates",
    (
        ImportColumn(
            *("id", "ID", "id", "text"),
            synonyms=("affiliate id", "affiliate", "user id", "partner key"),
            example="odettevarga",
        ),
        ImportColumn(
            *("email", "E-mail", "email", "email"),
            synonyms=("email address", "mail", "affiliate email"),
            example="odette@notes.example.org",
            max_length=254,
        ),
        ImportColumn(
            *("firstname", "First name", "firstname"),
            synonyms=("forename", "given name"),
            example="Odette",
        ),
        ImportColumn(
            *("lastname", "Last name", "lastname"),
            synonyms=("surname", "family name"),
            example="Varga",
        ),
        ImportColumn(
            *("name", "Full name", "name", "name"),
            synonyms=("name", "affiliate name"),
        ),
        ImportColumn("company", "Company", "company.name", synonyms=("company name",)),
        *(
            ImportColumn(name, part.table_label, f"address.{name}", synonyms=part.synonyms)
            for name, part in ADDRESS_PARTS.items()
            if name != "country"
        ),
        ImportColumn(
            *("country", COUNTRY.table_label, "address.country.code", "country"),
            synonyms=COUNTRY.synonyms,
            example="HU",
        ),
        ImportColumn(
            *("group", "Group", "affiliate_group_id", "group"),
            synonyms=("group title", "affiliate group", "group name"),
            example="Gold",
        ),
        ImportColumn(
            *("parent", "Parent", "parent_id", "affiliate"),
            synonyms=("parent id", "parent affiliate", "referred by"),
        ),
        ImportColumn(
            *("program", "Program", "program.id", "program"),
            synonyms=PROGRAM.synonyms,
            example=PROGRAM.example,
        ),
        ImportColumn(
            *("status", "Status", "approved", "approval"),
            synonyms=("approval", "approved", "approved status"),
            example="approved",
        ),
        ImportColumn(
            *("code", "Referral code", "code", "code"),
            synonyms=("ref", "referral id", "link token"),
            example="odette",
            max_length=64,
        ),
        ImportColumn(
            *("further_codes", "Further referral codes", "referral_codes", "codes"),
            synonyms=("referral codes", "old codes", "aliases", "links"),
            example="odette-2024, odette-shop",
        ),
        ImportColumn(
            *("link", "Link", "link", "link"),
            synonyms=("link url", "referral link", "affiliate link", "referral url"),
        ),
        ImportColumn(
            *("coupon", "Coupon", "coupon", "code"),
            synonyms=("coupon code", "promo code", "discount code"),
            example="ODETTE10",
            max_length=64,
        ),
        ImportColumn(
            *("payout_method", "Payout method", "payout_method.type", "payout_method"),
            example="paypal",
        ),
        *(
            ImportColumn(
                f"payout_{name}",
                f"Payout: {DETAIL_LABELS.get(name, name.replace('_', ' '))}",
                f"payout_method.details.{name}",
                synonyms=DETAIL_SYNONYMS.get(name, ()),
                example="odette@notes.example.org" if name == "email" else "",
            )
            for name in DETAIL_COLUMNS
        ),
        ImportColumn(
            *("created_at", "Created", "created_at", "date"),
            synonyms=(*CREATED.synonyms, "applied at", "applied at utc"),
            example=CREATED.example,
        ),
        REMOVED,
    ),
    prefixes=("meta", "custom"),
)
CUSTOMERS = TableKind(
    "customers",
    "Customers",
    (
        ImportColumn(
            *("customer_id", "Customer ID", "customer_id"),
            is_required=True,
            synonyms=("customer", "external customer id"),
            example="member-7",
        ),
        PROGRAM,
        AFFILIATE,
        ImportColumn("status", "Status", "status", "customer_status", example="paying"),
        CREATED,
        REMOVED,
    ),
    prefixes=("meta",),
)
CONVERSIONS = TableKind(
    "conversions",
    "Conversions",
    (
        ImportColumn(
            *("external_id", "External ID", "external_id"),
            synonyms=(
                *("order id", "order", "order number", "transaction id"),
                "transaction key",
            ),
            example="order-1042",
        ),
        PROGRAM,
        AFFILIATE,
        ImportColumn(
            *("customer_id", "Customer ID", "customer.id", "customer"),
            synonyms=("customer",),
            example="member-7",
        ),
        ImportColumn(
            *("amount", "Amount", "amount", "amount"),
            is_required=True,
            synonyms=("total", "sale amount", "revenue", "order amount", "total cost"),
            example="99.90",
        ),
        CURRENCY,
        ImportColumn(
            *("commission", "Commission", "commission", "amount"),
            synonyms=("commissions", "commission amount"),
            example="9.99",
        ),
        ImportColumn(
            *("commission_type", "Commission type", "commission_type"),
            example="standard",
            max_length=64,
        ),
        ImportColumn(
            *("status", "Status", "status", "status"),
            synonyms=("commission status", "state"),
            example="approved",
        ),
        ImportColumn(
            *("approved", "Approved", "approved", "approval"),
            synonyms=("commission approved", "is approved"),
        ),
        ImportColumn(
            *("paid", "Paid", "paid", "paid"),
            synonyms=("commission paid", "is paid", "payout status", "payment status"),
        ),
        ImportColumn(
            *("paid_at", "Day of payment", "paid_at", "date"),
            synonyms=(
                *("paid on", "paid date", "date paid", "payout date", "payment date"),
                *("paid out on", "paid out at"),
            ),
        ),
        ImportColumn(
            *("row_kind", "Kind of row", "row_kind", "row_kind"),
            synonyms=("rtype", "transaction type"),
        ),
        ImportColumn("tier", "Tier", "tier", "tier", synonyms=("commission tier",)),
        ImportColumn(
            *("payment", "Payment", "payment.id", "payment"),
            synonyms=("payment id", "payout id"),
        ),
        CREATED,
        REMOVED,
    ),
    prefixes=("meta",),
)
PAYMENTS = TableKind(
    "payments",
    "Payments",
    (
        ImportColumn(
            *("id", "ID", "id", "text"),
            synonyms=("payment id", "payout id", "reference"),
            example="payout-2026-03",
            max_length=32,
        ),
        PAYEE,
        AMOUNT,
        CURRENCY,
        ImportColumn(
            *("created_at", "Paid", "created_at", "date"),
            is_required=True,
            synonyms=(*CREATED.synonyms, "created", "paid at", "paid on"),
            example="2026-04-01",
        ),
        ImportColumn(
            *("status", "Status", "status", "payment_status"),
            synonyms=("payment status", "payout status", "state"),
        ),
        REMOVED,
    ),
)
OPENING_BALANCES = TableKind(
    "opening_balances",
    "Opening balances",
    (
        replace(PAYEE, path="affiliate_id"),
        ImportColumn(
            *("amount", "Balance", "amount", "signed_amount"),
            is_required=True,
            synonyms=(
                "amount",
                "opening balance",
                "balance due",
                "unpaid",
                "amount due",
            ),
            example="120.50",
        ),
        CURRENCY,
        ImportColumn(
            *("date", "Date", "date", "date"),
            synonyms=("created", "as of"),
            example="2026-04-01",
        ),
    ),
)
KINDS = {
    kind.name: kind for kind in (AFFILIATES, CUSTOMERS, CONVERSIONS, PAYMENTS, OPENING_BALANCES)
}
