"""A partner manager answers the questions of the trade in the demo, each within four
clicks from the dashboard, in Chromium; the numbers are counted here from the rows."""

import csv
import re
from collections import Counter, defaultdict
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from io import BytesIO, StringIO
from uuid import uuid4

import openpyxl
import pytest
from django.utils import timezone

from accounts.ids import generate_public_id
from accounts.models.api_keys import Role
from accounts.services.saved_views import create_saved_view
from accounts.services.staff import create_staff_user
from affiliate_site.demo.history import create_history
from payouts.services.report_fields import FIELDS
from payouts.statistics import get_last_days, get_last_month
from tests.affiliate_site.backoffice.form_samples import (
    create_alert,
    create_calculated_scenario,
)
from tests.concurrency.server import run_server
from tests.e2e.browser import open_context
from tests.e2e.staff_walk import StaffWalk
from tests.e2e.test_accessibility import UNFOLD, list_violations
from tests.e2e.test_back_office import static_files
from tests.factories.accounts import AccountFactory

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["static_files"]

MAX_CLICKS = 4
ONE_MINUTE_MS = 60_000
EARNED = ("pending", "approved")


@pytest.fixture(scope="module")
def demo(django_db_setup, django_db_blocker):
    """The account of the demo, with its whole history."""
    with django_db_blocker.unblock():
        account = AccountFactory(slug=f"ten-{uuid4().hex[:12]}", plan__name="enterprise")
        create_history(account, scale=1, at=timezone.now(), progress=iter)
        email = f"manager@{account.slug}.example.org"
        create_staff_user(account, email=email, role=Role.OWNER, password=None, at=timezone.now())
    return account


class Manager(StaffWalk):
    """A partner manager with a browser only."""

    @contextmanager
    def question(self):
        """From the dashboard to the answer, which has to come within four clicks."""
        self.open("")
        self.click_count = 0
        yield
        assert 1 <= self.click_count <= MAX_CLICKS

    def ask(self, answer: str) -> None:
        """Follow a link of a question on the page of reports."""
        self.go("Reports")
        self.follow(answer)

    def read_tables(self) -> dict[str, list[list[str]]]:
        """The cells of the tables of the page, by the titles above them."""
        tables = self.page.evaluate(
            """() => [...document.querySelectorAll("[role=main] table")].map(table => [
              table.closest("section, div:has(> h3), div:has(> h2)")
                ?.querySelector("h2, h3")?.innerText ?? "",
              [...table.rows].map(row => [...row.cells].map(cell => cell.innerText.trim())),
            ])"""
        )
        return {
            title: [[" ".join(cell.split()) for cell in row] for row in rows]
            for title, rows in tables
        }

    def download(self, name: str) -> bytes:
        """The file of a link of the page."""
        with self.page.expect_download() as download:
            self.main.get_by_role("link", name=re.compile(rf"(^|as ){name}$")).click()
        return download.value.path().read_bytes()

    def read_file(self) -> list[list[str]]:
        """The cells of the CSV file, which the workbook has too."""
        lines = [*csv.reader(StringIO(self.download("CSV").decode("utf-8-sig")))]
        sheet = openpyxl.load_workbook(BytesIO(self.download("XLSX"))).active
        assert sheet.max_row == len(lines)
        assert [cell.value for cell in sheet[1]] == lines[0]
        return lines

    def assert_address_is_kept(self) -> None:
        """The address of the page shows a colleague the same tables."""
        tables, page = self.read_tables(), self.page
        self.page = page.context.new_page()
        self.page.goto(page.url)
        assert self.read_tables() == tables
        assert tables
        self.page.close()
        self.page = page


@pytest.fixture(scope="module")
def server(django_db_setup, django_db_blocker):
    """A server that offers to send mail."""
    options = {"workers": 1, "EMAIL_URL": "smtp://127.0.0.1:9"}
    with django_db_blocker.unblock(), run_server(**options) as server:
        yield server


@pytest.fixture
def manager(demo, chromium, static_files, committed_db, server):
    server.wait_until_ready()
    context = open_context(chromium, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(ONE_MINUTE_MS)
    manager = Manager(context, server, demo, checked_pages=None)
    manager.continue_session(demo.staff.get(email__startswith="manager@"))
    yield manager
    context.close()
    assert manager.errors == []


def list_sales(account, period):
    """The sales of these days that are not removed."""
    sales = account.conversions.filter(deleted_at=None).select_related("affiliate", "program")
    return [it for it in sales if period.first <= account.get_day(it.created_at) <= period.last]


def add_up(rows, get_key):
    """The amounts by key, without removed rows."""
    sums = defaultdict(Decimal)
    for row in rows:
        sums[get_key(row)] += row.amount
    return sums


def get_name(row):
    return f"{row.affiliate.firstname} {row.affiliate.lastname}"


def format_amount(amount, currency="EUR"):
    return f"{amount:,.2f} {currency}"


def find_last_month(account):
    return get_last_month(account.get_day(timezone.now()))


def test_which_affiliates_brought_most_revenue(manager, demo):
    with manager.question():
        manager.ask("Best affiliates")
        rows = manager.read_tables()["Rows"]

    month = find_last_month(demo)
    now = add_up((it for it in list_sales(demo, month) if it.currency == "EUR"), get_name)
    before = add_up(
        (it for it in list_sales(demo, month.comparable) if it.currency == "EUR"), get_name
    )
    best = sorted(now, key=now.get, reverse=True)[:5]
    assert [row[:3] for row in rows[1:6]] == [
        [name, format_amount(now[name]), format_amount(before[name])] for name in best
    ]
    lines = manager.read_file()
    assert [line[0] for line in lines[1:6]] == best
    assert [Decimal(line[3]) for line in lines[1:6]] == [now[name] for name in best]
    manager.assert_address_is_kept()


@pytest.mark.parametrize(
    ("answer", "get_key"),
    [
        ("Links", None),
        ("Coupons", None),
        ("Landing pages", lambda click: click.landing_page.partition("?")[0]),
        ("Referrers", lambda click: click.referrer.split("/")[2]),
        ("Sub-IDs", lambda click: click.sub_id),
    ],
)
def test_what_works_best(manager, demo, answer, get_key):
    with manager.question():
        manager.ask(answer)
        titles, *rows = manager.read_tables()["Rows"]

    sums, counts = defaultdict(Decimal), Counter()
    [none] = {it.none for it in FIELDS.values() if it.title == titles[0]}
    for sale in list_sales(demo, find_last_month(demo)):
        if sale.currency != "EUR":
            continue
        key = none
        if answer == "Coupons":
            if sale.tracking_source == "coupon":
                coupons = demo.coupons.filter(enrollment__affiliate=sale.affiliate)
                key = coupons.get(enrollment__program=sale.program).code
        elif answer == "Links":
            if sale.tracking_source in ("click", "referral_code"):
                codes = demo.referral_codes.filter(enrollment__affiliate=sale.affiliate)
                key = codes.get(enrollment__program=sale.program).code
        elif sale.click and sale.click.affiliate_id == sale.affiliate_id:
            key = get_key(sale.click) or none
        sums[key] += sale.amount
        counts[key] += 1
    assert titles[1:3] == ["Revenue", "Conversions"]
    found = {row[0]: row[1:3] for row in rows if row[1].endswith("EUR") and row[2] != "0"}
    assert found == {key: [format_amount(sums[key]), f"{counts[key]:,}"] for key in sums}
    assert len(found) > 3
    file = manager.read_file()
    assert {line[0] or none: Decimal(line[2]) for line in file if line[1] == "EUR"} == {
        **{row[0]: Decimal(0) for row in rows if row[1].endswith("EUR")},
        **sums,
    }
    manager.assert_address_is_kept()


def test_who_has_gone_quiet(manager, demo):
    with manager.question():
        manager.ask("Quiet")
        assert "Wanda Ek" in manager.text

    last = {}
    for sale in demo.conversions.filter(deleted_at=None).select_related("affiliate"):
        day = demo.get_day(sale.created_at)
        last[sale.affiliate.slug] = max(day, last.get(sale.affiliate.slug, day))
    limit = demo.get_day(timezone.now()) - timedelta(days=60)
    quiet = {slug for slug, day in last.items() if day < limit}
    assert quiet == {"wandaek"}
    titles, *lines = manager.read_file()
    assert {line[titles.index("ID")] for line in lines} == quiet
    assert lines[0][titles.index("Last sale")] == f"{last['wandaek']}"
    manager.assert_address_is_kept()


def test_who_is_new(manager, demo):
    with manager.question():
        manager.ask("New")

    first = get_last_days(30, demo.get_day(timezone.now())).first
    new = {it.slug for it in demo.affiliates.all() if demo.get_day(it.created_at) >= first}
    titles, *lines = manager.read_file()
    assert {line[titles.index("ID")] for line in lines} == new
    assert "quinnabara" in new


def test_who_rises(manager, demo):
    with manager.question():
        manager.ask("Rising")

    days = get_last_days(30, demo.get_day(timezone.now()) - timedelta(days=1))
    now, before = list_sales(demo, days), list_sales(demo, days.previous)
    rising = set()
    for affiliate in demo.affiliates.all():
        mine = [[it for it in sales if it.affiliate == affiliate] for sales in (now, before)]
        if len({it.currency for sales in mine for it in sales}) > 1:
            totals = [len(sales) for sales in mine]
        else:
            totals = [sum(it.amount for it in sales) for sales in mine]
        if len(mine[0]) >= 5 and totals[0] >= totals[1] * Decimal("1.5"):
            rising.add(affiliate.slug)
    titles, *lines = manager.read_file()
    assert {line[titles.index("ID")] for line in lines} == rising != set()


@pytest.mark.parametrize(
    ("answer", "get_key"),
    [
        ("By program", lambda row: row.conversion.program.title if row.conversion else None),
        ("By group", lambda row: row.affiliate.group.title if row.affiliate.group else "no group"),
        ("By affiliate", get_name),
    ],
)
def test_what_share_is_paid_as_commission(manager, demo, answer, get_key):
    with manager.question():
        manager.ask(answer)
        titles, *rows = manager.read_tables()["Rows"]

    month = find_last_month(demo)
    commissions, revenue = defaultdict(Decimal), defaultdict(Decimal)
    for row in demo.commissions.filter(deleted_at=None, status__in=EARNED, currency="EUR"):
        if month.first <= demo.get_day(row.created_at) <= month.last:
            key = get_key(row) or row.bonus.program.title
            commissions[key] += row.amount
    for sale in list_sales(demo, month):
        if sale.currency == "EUR":
            sale.conversion = sale
            revenue[get_key(sale)] += sale.amount
    place = titles.index("Cost ratio")
    shares = {row[0]: row[place] for row in rows if row[titles.index("Revenue")].endswith("EUR")}
    assert {key: share for key, share in shares.items() if share != "-"} == {
        key: f"{(100 * commissions[key] / amount).quantize(Decimal('0.1'))} %"
        for key, amount in revenue.items()
        if amount
    }
    lines = manager.read_file()
    assert [line[0] or "no group" for line in lines[1:]] == [row[0] for row in rows]
    manager.assert_address_is_kept()


def test_whose_sales_are_refunded_or_disputed_most(manager, demo):
    with manager.question():
        manager.ask("Refunds and disputes")
        _titles, *rows = manager.read_tables()["Rows"]

    month = find_last_month(demo)
    sold, kept, disputes = defaultdict(Decimal), defaultdict(Decimal), Counter()
    for sale in demo.conversions.filter(currency="EUR").select_related("affiliate"):
        if month.first <= demo.get_day(sale.created_at) <= month.last:
            name = get_name(sale)
            sold[name] += sale.amount if sale.first_amount is None else sale.first_amount
            kept[name] += 0 if sale.deleted_at else sale.amount
            disputes[name] += sale.disputed_at is not None
    found = {row[0]: row[1:4] for row in rows if row[2].endswith("EUR")}
    assert found == {
        name: [
            f"{(100 * (sold[name] - kept[name]) / sold[name]).quantize(Decimal('0.1'))} %",
            format_amount(sold[name] - kept[name]),
            f"{disputes[name]}",
        ]
        for name in sold
    }
    assert disputes.total() == disputes["Luca Moreau"] >= 1
    rates = [Decimal(line[3]) for line in manager.read_file()[1:]]
    assert rates == sorted(rates, reverse=True)
    manager.assert_address_is_kept()


def count_months(account, first, sale):
    day, start = account.get_day(sale.created_at), account.get_day(first.created_at)
    return 12 * (day.year - start.year) + day.month - start.month


def test_what_customers_are_worth(manager, demo):
    with manager.question():
        manager.ask("Customers by affiliate")
        tables = manager.read_tables()

    firsts, buyers = {}, defaultdict(lambda: defaultdict(set))
    orders, revenue = defaultdict(Counter), defaultdict(lambda: defaultdict(Decimal))
    rows = demo.conversions.filter(deleted_at=None, currency="EUR", customer__isnull=False)
    for sale in rows.select_related("affiliate").order_by("created_at", "id"):
        first = firsts.setdefault(sale.customer_id, sale)
        months, name = count_months(demo, first, sale), get_name(sale)
        buyers[name][months].add(sale.customer_id)
        orders[name][months] += 1
        revenue[name][months] += sale.amount
    titles, *rows = tables["Customers who bought, EUR"]
    [zoe] = [row for row in rows if row[0] == "Zoe Marin"]
    assert zoe[1:4] == ["4", "4 (100.0 %)", "4 (100.0 %)"]
    assert {row[0]: row[1] for row in rows} == {
        name: f"{len(months[0])}" for name, months in buyers.items()
    }
    for title, sums, write in (
        ("Conversions, EUR", orders, lambda number: f"{number:,}"),
        ("Revenue, EUR", revenue, format_amount),
    ):
        titles, *rows = tables[title]
        assert titles[1:4] == [f"Until month {age}" for age in (0, 1, 3)]
        assert {row[0]: row[1:4] for row in rows} == {
            name: [
                write(sum(it for month, it in months.items() if month <= age)) for age in (0, 1, 3)
            ]
            for name, months in sums.items()
        }
    lines = manager.read_file()
    assert sum(Decimal(line[-1]) for line in lines[1:] if "EUR" in line and line[2]) == sum(
        sum(months.values()) for months in revenue.values()
    )
    manager.assert_address_is_kept()


def test_which_customers_buy_again(manager, demo):
    with manager.question():
        manager.ask("Repeat rates")
        rows = manager.read_tables()["Rows"]
    assert rows[1][:4] == ["Zoe Marin", "100.0 %", "4", "16"]
    assert manager.read_file()[1][0] == "Zoe Marin"


def test_who_brings_customers_that_were_known(manager, demo):
    with manager.question():
        manager.ask("Earlier customers")
        rows = manager.read_tables()["Rows"]

    sales = [
        it for it in list_sales(demo, find_last_month(demo)) if it.affiliate.slug == "vitolang"
    ]
    known = [it for it in sales if (it.meta_data or {}).get("customer") == "returning"]
    assert rows[1][:4] == [
        *("Vito Lang", f"{len(known)}"),
        *(f"{100 * Decimal(len(known)) / len(sales):.1f} %", f"{len(sales)}"),
    ]
    assert {row[1] for row in rows[2:]} == {"0"}
    assert manager.read_file()[1][:4] == ["Vito Lang", "vitolang", "EUR", f"{len(known)}"]
    manager.assert_address_is_kept()


def test_which_coupon_is_used_far_beyond_clicks(manager, demo):
    with manager.question():
        manager.ask("Coupons and clicks")
        rows = manager.read_tables()["Rows"]

    days = get_last_days(90, demo.get_day(timezone.now()))
    sales = Counter(
        it.affiliate.slug for it in list_sales(demo, days) if it.tracking_source == "coupon"
    )
    clicks = Counter(
        it.affiliate.slug
        for it in demo.clicks.select_related("affiliate")
        if days.first <= demo.get_day(it.created_at) <= days.last
    )
    assert rows[1][:4] == ["XAVER15", "Xaver Pohl", "16", f"{clicks['xaverpohl']}"]
    assert sales["xaverpohl"] == 16 > 5 * clicks["xaverpohl"]
    assert manager.read_file()[1][:3] == ["XAVER15", "Xaver Pohl", "xaverpohl"]
    manager.assert_address_is_kept()


def test_which_sales_should_be_looked_at_before_they_are_paid(manager, demo):
    with manager.question():
        manager.go("Payout runs")
        manager.follow("Add payout run")
        manager.press("Make draft")
        titles, *rows = manager.read_tables()["To look at before it is paid"]

    run = demo.payout_runs.get(state="draft")
    unpaid = demo.commissions.filter(status="approved", payment=None, deleted_at=None)
    due = [it for it in unpaid if it.due_at is None or it.due_at < run.due_before]
    lines = {
        (line.affiliate_id, line.currency)
        for line in demo.payout_lines.filter(run=run, state="included")
    }
    expected = {
        it.conversion.external_id: "left out until the case is decided"
        if it.under_review_since
        else "paid"
        for it in due
        if it.under_review_since
        or ((it.affiliate_id, it.currency) in lines and it.conversion and it.conversion.warnings)
    }
    assert {row[0]: row[-1] for row in rows} == expected
    why = {row[0]: row[titles.index("Why")] for row in rows}
    assert "E-mail address: that of the affiliate" in why["order-own-lamp"]
    assert (
        why["order-odd-option"]
        == "The page sent an unknown commission type; the default one was used."
    )
    leaks = [text for order, text in why.items() if order.startswith("order-leak-")]
    assert leaks
    assert all("Clicks in the 30 days before: 0" in text for text in leaks)
    names, *cells = manager.read_file()
    assert {line[0]: line[names.index("This run")] for line in cells} == expected
    assert {line[0]: line[names.index("Why")] for line in cells} == why
    manager.assert_address_is_kept()


# Below `/admin/`, after the name of an attribute of the account that is about its last row.
REPORT = "tracking/conversion/report/"
MONTHS = "columns=revenue&days=last_24_months&rows=month"
MANAGED_PAGES = (
    REPORT,
    f"{REPORT}?{MONTHS}",
    f"{REPORT}?days=last_24_months&rows=cohort&then=months_since&columns=buyers&columns=revenue",
    "tracking/affiliate/",
    "tracking/affiliate/?segment=rising",
    "customers: tracking/customer/{}/change/",
    "payouts/scenario/",
    "payouts/scenario/add/",
    "scenarios: payouts/scenario/{}/change/",
    "payouts/riskcase/",
    "risk_cases: payouts/riskcase/{}/change/",
    "payouts/riskrule/",
    "risk_rules: payouts/riskrule/{}/change/",
    "payouts/alert/",
    "alerts: payouts/alert/{}/change/",
    "watches/",
    "payouts/exchangerate/",
    "payouts/exchangerate/add/",
    "tracking/programinvitation/",
    "programs: tracking/program/{}/add-invitation/",
    "program_invitations: tracking/programinvitation/{}/change/",
    "payout_runs: payouts/payoutrun/{}/change/",
)


@pytest.fixture(scope="module")
def managed_rows(demo, django_db_blocker):
    """What the history of the demo has none of."""
    now = timezone.now()
    with django_db_blocker.unblock():
        create_alert(demo, "large share")
        create_calculated_scenario(demo, "other rates")
        rate = {"into_currency": "EUR", "worth_of_10000": 9_000, "set_on": now.date()}
        demo.exchange_rates.create(currency="USD", **rate)
        invitation = {"public_id": generate_public_id("pi"), "title": "Spring"}
        demo.program_invitations.create(program=demo.programs.first(), **invitation)
        create_saved_view(
            demo,
            user=demo.staff.get(email__startswith="manager@"),
            list_label="tracking.conversion.report",
            name="Months",
            query=MONTHS,
            at=now,
        )


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_of_managers_fit_the_width_and_are_accessible(manager, demo, managed_rows, width):
    """With all that unfolds, such as the form that saves a report."""
    page = manager.page
    page.set_viewport_size({"width": width, "height": 844})
    found = []
    for each in MANAGED_PAGES:
        rows, _, path = each.rpartition(": ")
        path = path.format(getattr(demo, rows).latest("pk").pk if rows else "")
        manager.open(path)
        page.evaluate(UNFOLD)
        found += [f"{path}: {violation}" for violation in list_violations(page)]
    assert found == []


def test_a_report_is_chosen_and_saved_by_keyboard(manager, demo):
    page, press = manager.page, manager.page.keyboard.press

    def press_until(selector, limit=60):
        for _ in range(limit):
            press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        pytest.fail(f"{selector} was not reached")

    def enter():
        with page.expect_navigation(wait_until="load"):
            press("Enter")

    manager.open("tracking/conversion/report/")
    press("Tab")
    press("Enter")  # skip to the content
    press_until(".report-questions a[href*=known_rate]")
    enter()
    assert "Who brings customers that you had already?" in manager.text
    press("Tab")
    press("Enter")
    press_until(".backoffice-views summary")
    press("Enter")
    press_until("input[name=name]")
    page.keyboard.type("Known")
    press_until(".backoffice-views button[type=submit]")
    enter()
    view = demo.saved_views.get(name="Known")
    assert "known_rate" in view.query
    assert manager.find("link", "Known").get_attribute("aria-current") == "page"
