"""The operations that are measured: their requests, and the bare rows of each.

The statements in `STATEMENTS` are what psycopg alone (`load.py`) and FastAPI
(`fastapi_server.py`) run. Values are written `{name}`.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

AMOUNT = 49.9
PAGE_SIZE = 25
DEEP_PAGE = 1000
API = "/1.6"


@dataclass(frozen=True)
class Scenario:
    """What the requests of one account need (made by `scenario.py`)."""

    account_id: int
    slug: str
    keys: Sequence[str]
    referral_codes: Sequence[str]
    customer_ids: Sequence[str]
    commission_id: int


@dataclass(frozen=True)
class Operation:
    """One operation; `build_body` gets the scenario, and a text unique to the row."""

    name: str
    path: str
    build_body: Callable[[Scenario, int, str], dict[str, Any]] | None = None
    # The query that counts the rows by a LIKE pattern, and sums their amounts.
    stored_sql: str = ""

    @property
    def is_write(self) -> bool:
        """Whether it stores rows."""
        return self.build_body is not None

    def build_request(self, scenario: Scenario, number: int, marker: str) -> bytes:
        """Return the HTTP request with this number."""
        key = scenario.keys[number % len(scenario.keys)]
        customer = scenario.customer_ids[number % len(scenario.customer_ids)]
        path = self.path.format(customer=customer, commission=scenario.commission_id)
        body = b""
        if self.build_body:
            values = self.build_body(scenario, number, f"{marker}{number}")
            body = json.dumps(values).encode()
        method = "POST" if self.is_write else "GET"
        head = (
            f"{method} {API}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


def pick_code(scenario: Scenario, number: int) -> str:
    """Return a referral code; affiliates take turns."""
    return scenario.referral_codes[number % len(scenario.referral_codes)]


HOT = "POST conversions, one affiliate"
STORED_CONVERSIONS = """
    SELECT count(*), coalesce(sum(t.amount), 0) FROM tracking_conversion c
    JOIN payouts_commission m ON m.conversion_id = c.id
    JOIN payouts_transfer t ON t.commission_id = m.id
    WHERE c.external_id LIKE {pattern}
"""
OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation(
            "POST clicks",
            "/clicks/",
            lambda scenario, number, marker: {
                "referral_code": pick_code(scenario, number),
                "landing_page": f"https://shop.example/{marker}",
            },
            "SELECT count(*), 0 FROM tracking_click WHERE substr(landing_page, 22) LIKE {pattern}",
        ),
        Operation(
            "POST customers",
            "/customers/",
            lambda scenario, number, marker: {
                "referral_code": pick_code(scenario, number),
                "customer_id": marker,
            },
            "SELECT count(*), 0 FROM tracking_customer WHERE customer_id LIKE {pattern}",
        ),
        Operation(
            "POST conversions",
            "/conversions/",
            lambda scenario, number, marker: {
                "referral_code": pick_code(scenario, number),
                "external_id": marker,
                "amount": AMOUNT,
            },
            STORED_CONVERSIONS,
        ),
        Operation(
            HOT,
            "/conversions/",
            lambda scenario, _, marker: {
                "referral_code": scenario.referral_codes[0],
                "external_id": marker,
                "amount": AMOUNT,
            },
            STORED_CONVERSIONS,
        ),
        Operation("GET conversions", "/conversions/"),
        Operation("GET conversions, deep page", f"/conversions/?page={DEEP_PAGE}"),
        Operation("GET customer", "/customers/{customer}/"),
        Operation("GET prospects", "/affiliate-prospects/"),
        # The cheapest request with a key, for the cost of the shell around it.
        Operation("GET commission", "/commissions/{commission}/"),
    )
}

FOUND = """
    SELECT e.id AS enrollment_id, e.program_id, e.affiliate_id
    FROM tracking_referralcode r JOIN tracking_enrollment e ON e.id = r.enrollment_id
    WHERE r.account_id = {account} AND r.code = {code}
"""
CLICK_COLUMNS = """
    (public_id, account_id, enrollment_id, program_id, affiliate_id, landing_page,
     meta_data, created_at)
"""
CUSTOMER_COLUMNS = """
    (public_id, account_id, program_id, affiliate_id, customer_id, status,
     initial_status, meta_data, created_at)
"""
CONVERSION_COLUMNS = """
    (account_id, program_id, affiliate_id, external_id, amount, currency,
     tracking_source, meta_data, created_at)
"""
COMMISSION_COLUMNS = """
    (account_id, conversion_id, affiliate_id, created_at, sub_amount, amount, kind,
     commission_type, name, currency, rate_kind, rate, calculation, status)
"""
COMMISSION_VALUES = """
    account_id, id, affiliate_id, created_at, amount, amount / 10, 'regular',
    'default', 'Default', currency, 'percentage', 100000, '{{}}', 'pending'
"""
TRANSFER_COLUMNS = """
    (account_id, currency, kind, debit_id, credit_id, amount, commission_id,
     sequence_number, created_at)
"""
TRANSFER_VALUES = """
    m.account_id, m.currency, 'earned', d.id, c.id, m.amount, m.id, 1, m.created_at
"""
LEDGER_ACCOUNTS = """
    JOIN payouts_ledgeraccount d ON d.account_id = m.account_id AND d.kind = 'expense'
        AND d.currency = m.currency AND d.affiliate_id IS NULL
    JOIN payouts_ledgeraccount c ON c.account_id = m.account_id AND c.kind = 'pending'
        AND c.currency = m.currency AND c.affiliate_id = m.affiliate_id
"""
CONVERSIONS = """
    SELECT o.id, o.external_id, o.amount, o.meta_data, o.created_at, o.tracking_source,
        k.created_at, k.referrer, k.landing_page, k.meta_data,
        p.slug, p.title, p.currency, a.slug, a.firstname, a.lastname,
        u.public_id, u.customer_id, u.status
    FROM (SELECT * FROM tracking_conversion WHERE account_id = {account}
          AND deleted_at IS NULL ORDER BY created_at DESC, id DESC
          LIMIT 25 OFFSET {offset}) o
    JOIN tracking_program p ON p.id = o.program_id
    JOIN tracking_affiliate a ON a.id = o.affiliate_id
    LEFT JOIN tracking_click k ON k.id = o.click_id
    LEFT JOIN tracking_customer u ON u.id = o.customer_id
    ORDER BY o.created_at DESC, o.id DESC
"""
COMMISSIONS = """
    SELECT m.id, m.sub_amount, m.amount, m.commission_type, m.status, a.slug,
        a.firstname, a.lastname, m.kind, m.currency, m.created_at, m.comment,
        m.finalized_at, m.name, m.conversion_id
    FROM payouts_commission m JOIN tracking_affiliate a ON a.id = m.affiliate_id
    WHERE m.account_id = {account} AND m.deleted_at IS NULL AND m.conversion_id
"""
CUSTOMER = """
    SELECT u.public_id, u.customer_id, u.status, u.created_at, u.meta_data,
        k.created_at, k.referrer, k.landing_page, k.meta_data,
        p.slug, p.title, p.currency, a.slug, a.firstname, a.lastname
    FROM tracking_customer u
    JOIN tracking_program p ON p.id = u.program_id
    JOIN tracking_affiliate a ON a.id = u.affiliate_id
    LEFT JOIN tracking_click k ON k.id = u.click_id
    WHERE u.account_id = {account} AND u.public_id = {customer}
"""
PROSPECTS = """
    SELECT s.public_id, s.firstname, s.lastname, s.email, s.company_name, s.address,
        s.created_at, s.signup_source, p.landing_page, r.code, t.id, t.hex, o.id, o.hex
    FROM (SELECT * FROM tracking_prospect WHERE account_id = {account}
          AND deleted_at IS NULL ORDER BY created_at DESC, id DESC
          LIMIT 25 OFFSET {offset}) s
    JOIN tracking_program p ON p.id = s.program_id
    LEFT JOIN tracking_referralcode r
        ON r.account_id = s.account_id AND r.prospect_id = s.id
    LEFT JOIN tracking_asset t ON t.account_id = s.account_id AND t.program_id = p.id
    LEFT JOIN tracking_source o ON o.account_id = s.account_id AND o.prospect_id = s.id
    ORDER BY s.created_at DESC, s.id DESC
"""
LIST_CONVERSIONS = (CONVERSIONS, COMMISSIONS)
READS = {
    "GET conversions": LIST_CONVERSIONS,
    "GET conversions, deep page": LIST_CONVERSIONS,
    "GET customer": (CUSTOMER,),
    "GET prospects": (PROSPECTS,),
}
# On PostgreSQL one statement for each write: the fastest way.
STATEMENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "postgresql": {
        "POST clicks": (
            f"""INSERT INTO tracking_click {CLICK_COLUMNS}
            SELECT CAST({{uuid}} AS uuid), CAST({{account}} AS bigint), enrollment_id,
                program_id, affiliate_id,
                'https://shop.example/' || CAST({{marker}} AS text), '{{{{}}}}',
                CAST({{at}} AS timestamptz)
            FROM ({FOUND}) f RETURNING public_id""",
        ),
        "POST customers": (
            f"""INSERT INTO tracking_customer {CUSTOMER_COLUMNS}
            SELECT CAST({{uuid}} AS text), CAST({{account}} AS bigint), program_id,
                affiliate_id, CAST({{marker}} AS text), 'new', 'new', '{{{{}}}}',
                CAST({{at}} AS timestamptz)
            FROM ({FOUND}) f RETURNING id""",
        ),
        "POST conversions": (
            f"""WITH o AS (
                INSERT INTO tracking_conversion {CONVERSION_COLUMNS}
                SELECT CAST({{account}} AS bigint), program_id, affiliate_id,
                    CAST({{marker}} AS text), CAST({{amount}} AS bigint), 'EUR',
                    'click', '{{{{}}}}', CAST({{at}} AS timestamptz)
                FROM ({FOUND}) f RETURNING *
            ), m AS (
                INSERT INTO payouts_commission {COMMISSION_COLUMNS}
                SELECT {COMMISSION_VALUES} FROM o RETURNING *
            ) INSERT INTO payouts_transfer {TRANSFER_COLUMNS}
            SELECT {TRANSFER_VALUES} FROM m {LEDGER_ACCOUNTS}
            RETURNING (SELECT id FROM o)""",
        ),
        **READS,
    },
    "sqlite": {
        "POST clicks": (
            f"""INSERT INTO tracking_click {CLICK_COLUMNS}
            SELECT {{uuid}}, {{account}}, enrollment_id, program_id, affiliate_id,
                'https://shop.example/' || {{marker}}, '{{{{}}}}', {{at}}
            FROM ({FOUND}) RETURNING public_id""",
        ),
        "POST customers": (
            f"""INSERT INTO tracking_customer {CUSTOMER_COLUMNS}
            SELECT {{uuid}}, {{account}}, program_id, affiliate_id, {{marker}}, 'new',
                'new', '{{{{}}}}', {{at}}
            FROM ({FOUND}) RETURNING id""",
        ),
        "POST conversions": (
            f"""INSERT INTO tracking_conversion {CONVERSION_COLUMNS}
            SELECT {{account}}, program_id, affiliate_id, {{marker}}, {{amount}}, 'EUR',
                'click', '{{{{}}}}', {{at}}
            FROM ({FOUND}) RETURNING id""",
            f"""INSERT INTO payouts_commission {COMMISSION_COLUMNS}
            SELECT {COMMISSION_VALUES} FROM tracking_conversion
            WHERE id = last_insert_rowid() RETURNING id""",
            f"""INSERT INTO payouts_transfer {TRANSFER_COLUMNS}
            SELECT {TRANSFER_VALUES} FROM payouts_commission m {LEDGER_ACCOUNTS}
            WHERE m.id = last_insert_rowid() RETURNING id""",
        ),
        **READS,
    },
}


def build_values(
    engine: str, operation: Operation, scenario: Scenario, number: int, marker: str
) -> dict[str, Any]:
    """Return the values of an operation's statements."""
    now = datetime.now(UTC)
    return {
        "account": scenario.account_id,
        "code": pick_code(scenario, number),
        "customer": scenario.customer_ids[number % len(scenario.customer_ids)],
        "marker": f"{marker}{number}",
        "uuid": uuid4().hex,
        "amount": int(AMOUNT * 10_000),
        "at": now if engine == "postgresql" else now.isoformat(" ")[:26],
        "offset": (DEEP_PAGE - 1) * PAGE_SIZE if "page=" in operation.path else 0,
    }
