"""Accounts with many rows, made by SQL in minutes.

The services create one click, customer and sale for each affiliate. SQL copies these
rows, so that their calculations stay verifiable, and `check_ledger` accepts the copies.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection, models, transaction
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.models.audit_log import AuditLogEntry
from accounts.services.accounts import create_account
from payouts.calculation import LineItem
from payouts.models.commissions import Commission
from payouts.models.ledger import LedgerAccount, LedgerAccountType, Transfer
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.programs import ProgramSettings, create_program
from tracking.attribution import TrackingParameters
from tracking.models.clicks import Click
from tracking.models.conversions import AttributionRecord, Conversion
from tracking.models.customers import Customer
from tracking.services.affiliates import AffiliatePassword, PersonData, create_affiliate
from tracking.services.clicks import Visit, record_click
from tracking.services.enrollments import EnrollmentData, create_enrollment

AFFILIATE_COUNT = 50
DAYS = 365
APPROVED_TENTHS = 7  # of the commissions, at first

Columns = dict[str, str]


def create_filled_account(
    slug: str, *, conversion_count: int, affiliate_count: int = AFFILIATE_COUNT
) -> Account:
    """Create an account with this number of clicks, customers, conversions and
    commissions, evenly spread over affiliates and the last year."""
    start = timezone.now() - timedelta(days=DAYS)
    account = create_account(
        slug=slug,
        name=slug,
        plan="enterprise",
        uses_payouts=False,
        pending_as_null=False,
        at=start,
    )
    settings = ProgramSettings(title="Lamps", currency="EUR", landing_page="https://shop.example/")
    create_program(account, slug="lamps", settings=settings, at=start)
    for number in range(affiliate_count):
        create_affiliate_with_sale(account, number, at=start)
    copy_count = conversion_count - affiliate_count
    if copy_count > 0:
        with transaction.atomic(), without_triggers():
            copy_rows(account, copy_count, start)
            set_balances(account)
    return account


def create_affiliate_with_sale(account: Account, number: int, at: datetime) -> None:
    """Create an affiliate with a click, a customer, and a conversion by that click."""
    person = PersonData("Ada", f"Stone{number}", email=f"a{number}@e.example")
    affiliate = create_affiliate(
        account, data=person, password=AffiliatePassword(hashed="!"), at=at
    )
    data = EnrollmentData(affiliate_id=affiliate.slug, approved=True)
    program = account.programs.get()
    enrollment = create_enrollment(account, program=program, data=data, at=at)
    code = account.referral_codes.get(enrollment=enrollment).code
    visit = Visit(
        TrackingParameters(referral_code=code),
        referrer="https://blog.example/",
        landing_page=f"https://shop.example/{number % 40}",
        user_agent="Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Firefox/131.0",
    )
    click = record_click(account, visit=visit, at=at)
    parameters = TrackingParameters(click_id=str(click.public_id), customer_id=f"member-{number}")
    sale = ConversionData(
        parameters=parameters,
        line_items=[LineItem(Decimal(100))],
        external_id=f"order-{number}",
    )
    create_conversion(account, data=sale, at=at)


@contextmanager
def without_triggers() -> Iterator[None]:
    """Check no foreign keys on a PostgreSQL of our own, as its superuser.

    SQLite keeps all pages of the indexes in memory, which do not fit into its 2 MB.
    """
    setting = (
        "SELECT set_config('session_replication_role', '{}', true)"
        " WHERE current_setting('is_superuser') = 'on'"
    )
    if connection.vendor == "postgresql":
        execute(setting.format("replica"))
    else:
        execute("PRAGMA cache_size = -4000000")
    yield
    if connection.vendor == "postgresql":
        execute(setting.format("origin"))
    else:
        execute("PRAGMA cache_size = -2000")


def copy_rows(account: Account, count: int, start: datetime) -> None:
    """Copy the rows of the affiliates' first sales; `n.i` numbers the copies."""
    created_at = build_created_at(start, timedelta(days=DAYS) / (count + 1))
    models_copied = (Click, Customer, Conversion, AttributionRecord, Commission, Transfer)
    first_ids = {model: get_last_id(model) for model in models_copied}

    def id_of(model: type[models.Model]) -> str:
        return f"{first_ids[model]} + n.i"

    common = {"created_at": created_at}
    is_postgresql = connection.vendor == "postgresql"
    uuid = "gen_random_uuid()" if is_postgresql else "lower(hex(randomblob(16)))"
    status = f"CASE WHEN n.i % 10 < {APPROVED_TENTHS} THEN 'approved' ELSE 'pending' END"
    copies: list[tuple[type[models.Model], Columns]] = [
        (Click, {"public_id": uuid}),
        (
            Customer,
            {
                "public_id": f"'cu_' || ({id_of(Customer)})",
                "customer_id": "'member-0' || n.i",
                "click_id": id_of(Click),
            },
        ),
        (
            Conversion,
            {
                "external_id": "'order-0' || n.i",
                "click_id": id_of(Click),
                "customer_id": id_of(Customer),
            },
        ),
        (AttributionRecord, {"conversion_id": id_of(Conversion)}),
        (Commission, {"conversion_id": id_of(Conversion), "status": status}),
        (Transfer, {"commission_id": id_of(Commission)}),
    ]
    for model, columns in copies:
        copy(account, model, count, {"id": id_of(model)} | common | columns)
    for model in (Conversion, Commission):
        name = model._meta.model_name
        subject = {"subject": f"'{name}:' || ({id_of(model)})"}
        kind = f"{name}.created"
        copy(account, AuditLogEntry, count, common | subject, kind=kind)
    execute("ANALYZE")  # for the plans of the next statements
    insert_approvals(account, "approved", first_ids[Commission])


def copy(
    account: Account,
    model: type[models.Model],
    count: int,
    columns: Columns,
    *,
    kind: str = "",
) -> None:
    """Copy the rows of the account in turn, with expressions for some columns."""
    table = model._meta.db_table
    rows: models.QuerySet[Any] = model._base_manager.filter(account=account)
    if kind:
        rows = rows.filter(kind=kind)
    names = [field.column for field in model._meta.concrete_fields]
    if "id" not in columns:
        names.remove("id")
    values = ", ".join(columns.get(name, f"t.{name}") for name in names)
    condition = f" AND kind = '{kind}'" if kind else ""
    quoted = ", ".join(f'"{name}"' for name in names)
    numbers = (
        f"SELECT generate_series(1, {count}) AS i"
        if connection.vendor == "postgresql"
        else "WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1"
        f" FROM numbers WHERE i < {count}) SELECT i FROM numbers"
    )
    execute(
        f"INSERT INTO {table} ({quoted}) SELECT {values} FROM ({numbers}) n JOIN"
        " (SELECT *, row_number() OVER (ORDER BY id) - 1 AS position"
        f" FROM {table} WHERE account_id = {account.pk}{condition}) t"
        f" ON t.position = n.i % {rows.count()}"
    )
    reset_sequence(table)


def insert_approvals(account: Account, status: str, after_id: int) -> None:
    """Insert the second transfer of commissions of a status that have only one."""
    kinds = {LedgerAccountType.PENDING: "d", LedgerAccountType.PAYABLE: "c"}
    joins = " ".join(
        f"JOIN {LedgerAccount._meta.db_table} {alias} ON {alias}.account_id ="
        f" m.account_id AND {alias}.affiliate_id = m.affiliate_id"
        f" AND {alias}.currency = m.currency AND {alias}.kind = '{kind}'"
        for kind, alias in kinds.items()
    )
    execute(
        f"INSERT INTO {Transfer._meta.db_table} (account_id, currency, kind, debit_id,"
        " credit_id, amount, commission_id, sequence_number, created_at)"
        " SELECT m.account_id, m.currency, 'approved', d.id, c.id, m.amount, m.id, 2,"
        f" m.created_at FROM {Commission._meta.db_table} m {joins}"
        f" WHERE m.account_id = {account.pk} AND m.status = '{status}'"
        f" AND m.id > {after_id}"
    )


def settle_account(account: Account) -> None:
    """Approve everything that is pending, by SQL."""
    with transaction.atomic(), without_triggers():
        insert_approvals(account, "pending", 0)
        execute(
            f"UPDATE {Commission._meta.db_table} SET status = 'approved'"
            f" WHERE account_id = {account.pk} AND status = 'pending'"
        )
        set_balances(account)


def set_balances(account: Account) -> None:
    """Set the stored balances to the sums of the transfers."""
    table, transfers = LedgerAccount._meta.db_table, Transfer._meta.db_table
    sides = " UNION ALL ".join(
        f"SELECT {side}_id AS id, {sign}amount AS amount FROM {transfers}"
        f" WHERE account_id = {account.pk}"
        for side, sign in (("credit", ""), ("debit", "-"))
    )
    execute(
        f"UPDATE {table} SET balance = s.balance"
        f" FROM (SELECT id, sum(amount) AS balance FROM ({sides}) x GROUP BY id) s"
        f" WHERE s.id = {table}.id AND {table}.balance IS NOT NULL"
    )


def build_created_at(start: datetime, step: timedelta) -> str:
    """Return the expression of the time of copy `n.i`."""
    microseconds = step // timedelta(microseconds=1)
    if connection.vendor == "postgresql":
        interval = f"interval '{microseconds} microseconds'"
        return f"timestamptz '{start.isoformat()}' + n.i * {interval}"
    seconds = start.astimezone(UTC).timestamp()
    return (
        f"strftime('%Y-%m-%d %H:%M:%f', {seconds} + n.i * {microseconds} / 1000000.0, 'unixepoch')"
    )


def get_last_id(model: type[models.Model]) -> int:
    """Return the largest id of a table."""
    newest: Any = model._base_manager.order_by("-pk").first()
    return int(newest.pk)


def reset_sequence(table: str) -> None:
    """Let the next insert take the id after the largest one."""
    if connection.vendor == "postgresql":
        execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}")


def execute(sql: str) -> None:
    """Run a statement without parameters."""
    with connection.cursor() as cursor:
        cursor.execute(sql)
