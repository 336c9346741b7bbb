"""How the back office grows: page 1 of each list, and the dashboard, as staff of a
large account see them, beside a small one in the same database and the same run.

    DATABASE_URL=postgres://… make bench

It makes a database of its own, and drops it. What is printed are medians and their
ratios: on another machine the milliseconds differ, the ratios hardly.
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

from accounts.ids import new_id
from accounts.models.events import Event
from accounts.services.accounts import open_account
from accounts.services.staff import invite_staff
from payouts.models.commissions import Commission, Status
from payouts.models.ledger import LedgerAccount, Move, Place, Transfer
from payouts.models.payments import Payment
from payouts.services.programs import Rules, open_program
from tracking.models.clicks import Click
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.services.affiliates import Application, Secret, sign_up
from tracking.services.enrolments import Entry, enrol

SIZES = {"small": 1_000, "large": 100_000}  # conversions
AFFILIATES = {"small": 100, "large": 1_000}  # both fill a page
CLICKS_PER_SALE = 10
SALES_PER_PAYMENT = 10
DAYS = 365
ROUNDS = 15
AT_ONCE = 2_500  # PostgreSQL takes 65,535 values a statement
OK = 200


def main() -> None:
    """Make both accounts, then look at their pages by turns."""
    name = connection.creation.create_test_db(verbosity=0, serialize=False)
    try:
        clients = {}
        for slug, sales in SIZES.items():
            began = perf_counter()
            clients[slug] = fill(slug, sales=sales)
            print(f"{slug}: {sales} conversions in {perf_counter() - began:.0f} s")
        analyse()
        report(clients)
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


def report(clients: dict[str, Client]) -> None:
    """First the dashboard's first view, which counts the days, then every page."""
    for slug, client in clients.items():
        print(f"first view of the dashboard, {slug}: {once(client, '/admin/'):.0f} ms")
    print(f"{'page':28}{'small ms':>9}{'large ms':>9}{'ratio':>7}{'SQL ms':>7}{'n':>4}")
    for page in pages():
        times: dict[str, list[float]] = {slug: [] for slug in clients}
        for _ in range(ROUNDS):
            for slug, client in clients.items():
                times[slug].append(once(client, page))
        small, large = (statistics.median(times[slug]) for slug in SIZES)
        with CaptureQueriesContext(connection) as asked:
            clients["large"].get(page)
        sql = sum(float(it["time"]) for it in asked) * 1000
        name = page.removeprefix("/admin/") or "dashboard"
        ratio = large / small
        print(f"{name:28}{small:9.1f}{large:9.1f}{ratio:7.2f}{sql:7.0f}{len(asked):4}")


def pages() -> Iterator[str]:
    """The dashboard and page 1 of every list."""
    yield "/admin/"
    for model in admin.site._registry:  # noqa: SLF001 - there is no other list of them
        meta = model._meta
        yield reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")


def once(client: Client, page: str) -> float:
    """Milliseconds of one look."""
    began = perf_counter()
    answer = client.get(page)
    took = (perf_counter() - began) * 1000
    if answer.status_code != OK:
        raise RuntimeError(f"{page} answered {answer.status_code}")
    return took


def analyse() -> None:
    """Let the database know its tables, as it does by itself in the long run."""
    vacuum = "VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE"
    with connection.cursor() as cursor:
        cursor.execute(vacuum)


def fill(slug: str, *, sales: int) -> Client:
    """An account with so many sales, ten clicks each, and a signed-in owner."""
    now = timezone.now()
    account = open_account(
        slug=slug,
        name=slug,
        plan="enterprise",
        uses_payouts=False,
        pending_as_null=False,
        at=now,
    )
    program = open_program(
        account,
        slug="lamps",
        rules=Rules(title="Lamps", currency="EUR", landing_page="https://s.example/"),
        at=now,
    )
    members = []
    for number in range(AFFILIATES[slug]):
        who = Application(
            firstname="Ada", lastname=f"Stone{number}", email=f"a{number}@e.example"
        )
        affiliate = sign_up(account, application=who, secret=Secret(hashed="!"), at=now)
        entry = Entry(affiliate_id=affiliate.slug, approved=True)
        members.append(enrol(account, program=program, entry=entry, at=now))
    fill_rows(account, program, members, sales=sales, now=now)
    user, _ = invite_staff(
        account, email=f"{slug}@e.example", role="owner", password=None, at=now
    )
    client = Client()
    client.force_login(user)
    return client


def fill_rows(account, program, members, *, sales: int, now: datetime) -> None:
    """Clicks, customers, conversions, commissions, transfers, payments and the diary,
    spread evenly over the days; seven of ten commissions are approved."""
    common = {"account": account}
    step = timedelta(days=DAYS) / (sales * CLICKS_PER_SALE)

    def moment(number: int) -> datetime:
        return now - step * (sales * CLICKS_PER_SALE - number)

    insert(
        Click,
        (
            Click(
                **common,
                program=program,
                enrolment=members[number % len(members)],
                affiliate_id=members[number % len(members)].affiliate_id,
                referrer="https://blog.example/",
                landing_page=f"https://s.example/{number % 40}?ref=x",
                user_agent="Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Firefox/131.0",
                created_at=moment(number),
            )
            for number in range(sales * CLICKS_PER_SALE)
        ),
    )
    sold = [
        {
            **common,
            "affiliate_id": members[number % len(members)].affiliate_id,
            "created_at": moment(number * CLICKS_PER_SALE),
        }
        for number in range(sales)
    ]
    insert(
        Customer,
        (
            Customer(
                **it,
                program=program,
                public_id=new_id("cu"),
                customer_id=f"c-{number}",
                status="paying",
                first_status="paying",
            )
            for number, it in enumerate(sold)
        ),
    )
    customers = account.customers.order_by("pk").values_list("pk", flat=True)
    insert(
        Conversion,
        (
            Conversion(
                **it,
                program=program,
                customer_id=customer,
                external_id=f"o-{number}",
                amount=Decimal(100),
                currency="EUR",
                tracking_source="click",
            )
            for (number, it), customer in zip(
                enumerate(sold), list(customers), strict=True
            )
        ),
    )
    conversions = account.conversions.order_by("pk").values_list("pk", flat=True)
    insert(
        Commission,
        (
            Commission(
                **it,
                conversion_id=conversion,
                commission_type="default",
                name="Default",
                currency="EUR",
                sub_amount=Decimal(100),
                amount=Decimal(10),
                rate_kind="percentage",
                rate=Decimal(10),
                working="{}",
                status=Status.PENDING if number % 10 > 6 else Status.APPROVED,
            )
            for (number, it), conversion in zip(
                enumerate(sold), list(conversions), strict=True
            )
        ),
    )
    fill_money(account, members, sold)


def fill_money(account, members, sold) -> None:
    """Balances and transfers beside the commissions, and a payment for each ten."""
    common = {"account": account, "currency": "EUR"}
    (expense,) = insert(LedgerAccount, [LedgerAccount(**common, kind=Place.EXPENSE)])
    insert(
        LedgerAccount,
        (
            LedgerAccount(
                **common, kind=kind, affiliate_id=it.affiliate_id, balance=Decimal(30)
            )
            for it in members
            for kind in (Place.PENDING, Place.PAYABLE)
        ),
    )
    pending = dict(
        account.ledger_accounts.filter(kind=Place.PENDING).values_list(
            "affiliate_id", "pk"
        )
    )
    commissions = account.commissions.order_by("pk").values_list(
        "pk", "affiliate_id", "created_at"
    )
    insert(
        Transfer,
        (
            Transfer(
                **common,
                kind=Move.EARNED,
                debit=expense,
                credit_id=pending[affiliate],
                amount=Decimal(10),
                commission_id=number,
                step=1,
                created_at=at,
            )
            for number, affiliate, at in list(commissions)
        ),
    )
    insert(
        Payment,
        (
            Payment(**it, public_id=new_id("pa"), amount=Decimal(40), currency="EUR")
            for it in sold[::SALES_PER_PAYMENT]
        ),
    )
    insert(
        Event,
        (
            Event(
                account=account,
                kind="conversion.created",
                subject=f"conversion:{number}",
                actor="key",
                created_at=it["created_at"],
            )
            for number, it in enumerate(sold)
        ),
    )


def insert(model: type[models.Model], rows: Iterable[models.Model]) -> list:
    """Write rows, some thousand a statement; what was written first."""
    waiting, first = iter(rows), []
    while some := list(islice(waiting, AT_ONCE)):
        written = model._base_manager.bulk_create(some)
        first = first or written
    return first


if __name__ == "__main__":
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        main()
