"""Measure how page 1 of each list and the dashboard scale with the size of an account.

    DATABASE_URL=postgres://… make bench-back-office

A small and a large account are compared in the same database and the same run. The
benchmark creates a database and drops it. It prints medians and their ratios: ratios
depend less on the machine than milliseconds do.
"""

import statistics
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice
from time import perf_counter

from django.contrib import admin
from django.db import connection, models
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import reverse
from django.utils import timezone

import benchmarks.django_setup  # noqa: F401 - before models are imported
from accounts.ids import generate_public_id
from accounts.models.audit_log import AuditLogEntry
from accounts.services.accounts import create_account
from accounts.services.staff import create_staff_user
from payouts.models.commissions import Commission, CommissionStatus
from payouts.models.ledger import (
    LedgerAccount,
    LedgerAccountType,
    Transfer,
    TransferType,
)
from payouts.models.payments import Payment
from payouts.services.programs import ProgramSettings, create_program
from tracking.models.clicks import Click
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.services.affiliates import AffiliatePassword, PersonData, create_affiliate
from tracking.services.enrollments import EnrollmentData, create_enrollment

CONVERSIONS_PER_ACCOUNT = {"small": 1_000, "large": 100_000}
AFFILIATES_PER_ACCOUNT = {
    "small": 100,
    "large": 1_000,
}  # both fill the first page of the list
CLICKS_PER_CONVERSION = 10
CONVERSIONS_PER_PAYMENT = 10
DAYS = 365
ROUNDS = 15
INSERT_BATCH_SIZE = 2_500  # rows; PostgreSQL accepts 65,535 values per statement
OK = 200


def main() -> None:
    """Create both accounts, then measure their pages alternately."""
    database_name = connection.creation.create_test_db(verbosity=0, serialize=False)
    try:
        clients = {}
        for slug, count in CONVERSIONS_PER_ACCOUNT.items():
            started = perf_counter()
            clients[slug] = create_filled_account(slug, conversion_count=count)
            print(f"{slug}: {count} conversions in {perf_counter() - started:.0f} s")
        analyze_tables()
        print_report(clients)
    finally:
        connection.creation.destroy_test_db(database_name, verbosity=0)


def print_report(clients: dict[str, Client]) -> None:
    """Print the first view of the dashboard, which counts all days, then each page."""
    for slug, client in clients.items():
        first_view = measure_request(client, "/admin/")
        print(f"first view of the dashboard, {slug}: {first_view:.0f} ms")
    print(f"{'page':28}{'small ms':>9}{'large ms':>9}{'ratio':>7}{'SQL ms':>7}{'n':>4}")
    for page in list_pages():
        times: dict[str, list[float]] = {slug: [] for slug in clients}
        for _ in range(ROUNDS):
            for slug, client in clients.items():
                times[slug].append(measure_request(client, page))
        small, large = (
            statistics.median(times[slug]) for slug in CONVERSIONS_PER_ACCOUNT
        )
        with CaptureQueriesContext(connection) as queries:
            clients["large"].get(page)
        sql = sum(float(query["time"]) for query in queries) * 1000
        name = page.removeprefix("/admin/") or "dashboard"
        ratio = large / small
        print(
            f"{name:28}{small:9.1f}{large:9.1f}{ratio:7.2f}{sql:7.0f}{len(queries):4}"
        )


def list_pages() -> Iterator[str]:
    """The dashboard and page 1 of every list."""
    yield "/admin/"
    for model in admin.site._registry:  # noqa: SLF001 - not available otherwise
        meta = model._meta
        yield reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")


def measure_request(client: Client, page: str) -> float:
    """The duration of one request in milliseconds."""
    started = perf_counter()
    response = client.get(page)
    duration = (perf_counter() - started) * 1000
    if response.status_code != OK:
        raise RuntimeError(f"{page} returned {response.status_code}")
    return duration


def analyze_tables() -> None:
    """Update the statistics of the query planner, as the database does over time."""
    vacuum = "VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE"
    with connection.cursor() as cursor:
        cursor.execute(vacuum)


def create_filled_account(slug: str, *, conversion_count: int) -> Client:
    """Create an account with data; returns a client that is signed in as its owner."""
    now = timezone.now()
    account = create_account(
        slug=slug,
        name=slug,
        plan="enterprise",
        uses_payouts=False,
        pending_as_null=False,
        at=now,
    )
    program = create_program(
        account,
        slug="lamps",
        settings=ProgramSettings(
            title="Lamps", currency="EUR", landing_page="https://s.example/"
        ),
        at=now,
    )
    enrollments = []
    for number in range(AFFILIATES_PER_ACCOUNT[slug]):
        person = PersonData(
            firstname="Ada", lastname=f"Stone{number}", email=f"a{number}@e.example"
        )
        affiliate = create_affiliate(
            account, data=person, password=AffiliatePassword(hashed="!"), at=now
        )
        data = EnrollmentData(affiliate_id=affiliate.slug, approved=True)
        enrollments.append(
            create_enrollment(account, program=program, data=data, at=now)
        )
    create_rows(
        account, program, enrollments, conversion_count=conversion_count, now=now
    )
    user, _ = create_staff_user(
        account, email=f"{slug}@e.example", role="owner", password=None, at=now
    )
    client = Client()
    client.force_login(user)
    return client


def create_rows(
    account, program, enrollments, *, conversion_count: int, now: datetime
) -> None:
    """Insert clicks, customers, conversions, commissions, transfers, payments and audit
    log entries, evenly spread over the days; 70 % of the commissions are approved."""
    common = {"account": account}
    step = timedelta(days=DAYS) / (conversion_count * CLICKS_PER_CONVERSION)

    def get_created_at(number: int) -> datetime:
        return now - step * (conversion_count * CLICKS_PER_CONVERSION - number)

    insert_rows(
        Click,
        (
            Click(
                **common,
                program=program,
                enrollment=enrollments[number % len(enrollments)],
                affiliate_id=enrollments[number % len(enrollments)].affiliate_id,
                referrer="https://blog.example/",
                landing_page=f"https://s.example/{number % 40}?ref=x",
                user_agent="Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Firefox/131.0",
                created_at=get_created_at(number),
            )
            for number in range(conversion_count * CLICKS_PER_CONVERSION)
        ),
    )
    rows = [
        {
            **common,
            "affiliate_id": enrollments[number % len(enrollments)].affiliate_id,
            "created_at": get_created_at(number * CLICKS_PER_CONVERSION),
        }
        for number in range(conversion_count)
    ]
    insert_rows(
        Customer,
        (
            Customer(
                **row,
                program=program,
                public_id=generate_public_id("cu"),
                customer_id=f"c-{number}",
                status="paying",
                initial_status="paying",
            )
            for number, row in enumerate(rows)
        ),
    )
    customers = account.customers.order_by("pk").values_list("pk", flat=True)
    insert_rows(
        Conversion,
        (
            Conversion(
                **row,
                program=program,
                customer_id=customer,
                external_id=f"o-{number}",
                amount=Decimal(100),
                currency="EUR",
                tracking_source="click",
            )
            for (number, row), customer in zip(
                enumerate(rows), list(customers), strict=True
            )
        ),
    )
    conversions = account.conversions.order_by("pk").values_list("pk", flat=True)
    insert_rows(
        Commission,
        (
            Commission(
                **row,
                conversion_id=conversion,
                commission_type="default",
                name="Default",
                currency="EUR",
                sub_amount=Decimal(100),
                amount=Decimal(10),
                rate_kind="percentage",
                rate=Decimal(10),
                calculation="{}",
                status=CommissionStatus.PENDING
                if number % 10 > 6
                else CommissionStatus.APPROVED,
            )
            for (number, row), conversion in zip(
                enumerate(rows), list(conversions), strict=True
            )
        ),
    )
    create_ledger_rows(account, enrollments, rows)


def create_ledger_rows(account, enrollments, conversions) -> None:
    """Insert balances, a transfer per commission, and payments."""
    common = {"account": account, "currency": "EUR"}
    (expense,) = insert_rows(
        LedgerAccount, [LedgerAccount(**common, kind=LedgerAccountType.EXPENSE)]
    )
    insert_rows(
        LedgerAccount,
        (
            LedgerAccount(
                **common,
                kind=kind,
                affiliate_id=enrollment.affiliate_id,
                balance=Decimal(30),
            )
            for enrollment in enrollments
            for kind in (LedgerAccountType.PENDING, LedgerAccountType.PAYABLE)
        ),
    )
    pending = dict(
        account.ledger_accounts.filter(kind=LedgerAccountType.PENDING).values_list(
            "affiliate_id", "pk"
        )
    )
    commissions = account.commissions.order_by("pk").values_list(
        "pk", "affiliate_id", "created_at"
    )
    insert_rows(
        Transfer,
        (
            Transfer(
                **common,
                kind=TransferType.EARNED,
                debit=expense,
                credit_id=pending[affiliate],
                amount=Decimal(10),
                commission_id=number,
                sequence_number=1,
                created_at=at,
            )
            for number, affiliate, at in list(commissions)
        ),
    )
    insert_rows(
        Payment,
        (
            Payment(
                **row,
                public_id=generate_public_id("pa"),
                amount=Decimal(40),
                currency="EUR",
            )
            for row in conversions[::CONVERSIONS_PER_PAYMENT]
        ),
    )
    insert_rows(
        AuditLogEntry,
        (
            AuditLogEntry(
                account=account,
                kind="conversion.created",
                subject=f"conversion:{number}",
                actor="key",
                created_at=row["created_at"],
            )
            for number, row in enumerate(conversions)
        ),
    )


def insert_rows(model: type[models.Model], rows: Iterable[models.Model]) -> list:
    """Insert rows in batches; returns the rows of the first batch."""
    iterator, first_batch = iter(rows), []
    while batch := list(islice(iterator, INSERT_BATCH_SIZE)):
        created = model._base_manager.bulk_create(batch)
        first_batch = first_batch or created
    return first_batch


if __name__ == "__main__":
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        main()
