"""A random history of several days in two currencies: each number is the same wherever
it stands, and those of two periods add up to those of both."""

import csv
import re
from collections import defaultdict
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from types import MappingProxyType

import pytest
import time_machine
from django.db import transaction
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.days import A_DAY
from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from affiliate_site.portal_sessions import COOKIE
from payouts.services.bonuses import grant_bonuses
from payouts.services.bookkeeping import OwedMovement
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.statistics import Period, add_sums
from tests.affiliate_site.portal.conftest import PASSWORD
from tests.factories.accounts import AccountFactory
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import ProgramScenario
from tracking.services.portal_access import set_portal_password
from tracking.services.portal_links import invite_affiliate
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.integration

CURRENCIES = ("EUR", "USD")
FIRST, HALF_DAYS = AT.date(), 4  # of each of the two periods
LAST = FIRST + A_DAY * (2 * HALF_DAYS - 1)
HALVES = (
    Period(FIRST, FIRST + A_DAY * (HALF_DAYS - 1)),
    Period(FIRST + A_DAY * HALF_DAYS, LAST),
)
WHOLE = Period(FIRST, LAST)
NOW = AT + A_DAY * (2 * HALF_DAYS - 1) + timedelta(hours=3)
ZERO = Decimal(0)
NOT_REMOVED = MappingProxyType({"deleted_at__isnull": "True"})
NOT_CANCELED = MappingProxyType({"canceled_at__isnull": "True"})

cents = st.integers(min_value=1, max_value=10_000)
two = st.integers(min_value=0, max_value=1)
picks = st.integers(min_value=0, max_value=100)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(min_value=1, max_value=2)),
        st.tuples(st.just("earn"), two, two, cents, st.booleans()),
        st.tuples(st.just("click"), two, two),
        st.tuples(st.just("join"), two, two),
        st.tuples(st.just("pay"), two, two, cents),
        st.tuples(st.just("approve"), picks),
        st.tuples(st.just("disapprove"), picks),
        st.tuples(st.just("delete"), picks),
        st.tuples(st.just("change"), picks, cents),
        st.tuples(st.just("cancel"), picks),
    ),
    max_size=25,
)


class History:
    """An account with two affiliates in a program of each currency.

    The first one has a bonus. Each method is a step, at the time that the ones before
    have reached.
    """

    def __init__(self) -> None:
        self.account, self.at, self.customers = AccountFactory(), AT, 0
        euros = ProgramScenario(self.account)
        dollars = ProgramScenario(self.account, slug="dollars", currency="USD", email=None)
        self.programs = (euros, dollars)
        ada = euros.create_enrolled_affiliate("Ada", "Lund")
        self.people = (
            (euros.mina, ada),
            (dollars.enroll(euros.mina.affiliate), dollars.enroll(ada.affiliate)),
        )
        for program in self.programs:
            program.create_commission_type("all", 100)
        euros.create_bonus(goal=1, value="5", period="week")

    def wait(self, days):
        self.at = min(self.at + A_DAY * days, NOW)

    def earn(self, program, person, amount, is_approved):
        scenario = self.programs[program]
        sale = scenario.create_conversion(
            (str(Decimal(amount) / 100), "all"),
            affiliate=self.people[program][person],
            at=self.at,
        )
        if is_approved:
            scenario.approve(scenario.get_commission(sale), at=self.at)

    def click(self, program, person):
        affiliate = self.people[program][person]
        self.programs[program].create_click(affiliate, at=self.at)

    def join(self, program, person):
        self.customers += 1
        self.programs[program].create_customer(
            f"c-{self.customers}", affiliate=self.people[program][person], at=self.at
        )

    def pay(self, program, person, amount):
        slug, currency = self.people[0][person].slug, CURRENCIES[program]
        order = PaymentOrder(slug, Decimal(amount) / 100, currency)
        create_payments(self.account, orders=[order], at=self.at)

    def pick(self, rows, number):
        rows = list(rows.order_by("id"))
        return rows[number % len(rows)] if rows else None

    def approve(self, number):
        rows = self.account.commissions.not_deleted().exclude(status="approved")
        if commission := self.pick(rows, number):
            self.programs[0].approve(commission, at=self.at)

    def disapprove(self, number):
        rows = self.account.commissions.not_deleted().exclude(status="disapproved")
        if commission := self.pick(rows, number):
            self.programs[0].disapprove(commission, at=self.at)

    def pick_sale(self, number):
        return self.pick(self.account.conversions.filter(deleted_at=None), number)

    def delete(self, number):
        if conversion := self.pick_sale(number):
            self.programs[0].delete(conversion, at=self.at)

    def change(self, number, amount):
        if conversion := self.pick_sale(number):
            amount = str(Decimal(amount) / 100)
            self.programs[0].change_amount(conversion, amount, at=self.at)

    def cancel(self, number):
        if payment := self.pick(self.account.payments.not_canceled(), number):
            cancel_payment(self.account, payment_id=payment.public_id, at=self.at)


def sign_in(account):
    """The browser of an owner."""
    user, _ = create_staff_user(
        account, email="o@x.example", role=Role.OWNER, password=PASSWORD, at=AT
    )
    client = Client()
    client.force_login(user)
    return client


def sign_in_as(affiliate):
    """The browser of an affiliate in the portal."""
    account, at = affiliate.account, NOW
    token = invite_affiliate(account, affiliate_id=affiliate.slug, at=at).token
    client = Client()
    client.cookies[COOKIE] = set_portal_password(account, token, password=PASSWORD, at=at)
    return client


def limit(period):
    """The days of a period, as lists and the dashboard take them."""
    return {"from": f"{period.first}", "to": f"{period.last}"}


def export(client, page, **filters):
    """The lines of an export by title."""
    response = client.get(reverse(f"admin:{page}_export"), filters)
    assert response.status_code == 200
    text = response.getvalue().decode("utf-8-sig")
    return list(csv.DictReader(StringIO(text)))


def drop_zeros(sums):
    """Amounts by currency, without those that are zero."""
    return {currency: amount for currency, amount in sums.items() if amount}


def add_up(lines, title):
    """The sums of a column of amounts, by the currency in the next one."""
    sums = defaultdict(Decimal)
    for line in lines:
        sums[line[f"{title}: currency"]] += Decimal(line[title] or 0)
    return drop_zeros(sums)


def count(lines, title):
    """The sum of a column of numbers."""
    return sum(int(line[title] or 0) for line in lines)


def add_up_portal(lines, title):
    """The sums of the columns `title (EUR)` and `title (USD)`."""
    return drop_zeros(
        {
            currency: sum(
                (Decimal(line.get(f"{title} ({currency})") or 0) for line in lines),
                ZERO,
            )
            for currency in CURRENCIES
        }
    )


def read_amounts(text):
    """The amounts of `1,234.50 EUR, 3.00 USD` by currency."""
    found = re.findall(r"(-?[\d,]+(?:\.\d+)?).([A-Z]{3})\b", f"{text}")
    return drop_zeros({it: Decimal(sum_.replace(",", "")) for sum_, it in found})


def subtract(sums, others):
    return drop_zeros(add_sums([sums, {it: -amount for it, amount in others.items()}]))


def read_dashboard(client, period):
    """The cards by title."""
    context = client.get("/admin/", limit(period)).context
    groups = ("headline", "funnel", "money", "money_today")
    return {card.title: card for name in groups for card in context[name]}


def read_closing(client, period):
    """The amounts of the closing by row and currency: pending, payable, together."""
    query = {"start": f"{period.first}", "end": f"{period.last}"}
    response = client.get(reverse("admin:closing"), query)
    rows = [row for section in response.context["sections"] for row in section.rows]
    amounts = defaultdict(lambda: [{}, {}, {}])
    for what, *rest in rows:
        before = amounts[what]
        amounts[what] = [
            drop_zeros(add_sums([sums, read_amounts(text)]))
            for sums, text in zip(before, rest, strict=True)
        ]
    return amounts


def read_report(client, period, rows):
    """The lines of a report; its amounts have the currency of the line."""
    columns = ["clicks", "customers", "conversions", "revenue", "commissions"]
    query = {"start": f"{period.first}", "end": f"{period.last}", "format": "csv"}
    query |= {"rows": rows, "columns": columns}
    response = client.get(reverse("admin:report"), query)
    lines = csv.DictReader(StringIO(response.content.decode("utf-8-sig")))
    return [
        line | {f"{title}: currency": line["Currency"] for title in ("Revenue", "Commissions")}
        for line in lines
    ]


def compare_reports(client, period, values, cards):
    """Compare reports by several fields with the dashboard."""
    for rows in ("affiliate", "program", "day", "link", "source"):
        lines = read_report(client, period, rows)
        assert add_up(lines, "Revenue") == values["Revenue"], rows
        assert add_up(lines, "Commissions") == values["Commissions"], rows
        assert cards["Conversions"].value == f"{count(lines, 'Conversions')}", rows
    for title in ("Clicks", "New customers"):  # of which each program has one line
        lines = read_report(client, period, "program")
        assert cards[title].value == f"{count(lines, title)}"


def read_portal(history, clients, period):
    """The lines of the days of all affiliates, and of their programs."""
    url = f"/partners/{history.account.slug}/figures/"
    query = {"start": f"{period.first}", "end": f"{period.last}", "period": "own"}
    days, programs = [], []
    for client in clients:
        for lines, of in ((days, {"file": "time"}), (programs, {"file": "program"})):
            by = {"by": "program"} if lines is programs else {}
            response = client.get(url, query | of | by)
            assert response.status_code == 200
            text = response.getvalue().decode("utf-8-sig")
            lines += csv.DictReader(StringIO(text))
    return days, programs


def compare_period(history, client, portals, period):
    """Compare dashboard, lists, exports and portal; return the dashboard's numbers."""
    cards, dates = read_dashboard(client, period), limit(period)
    values = {title: read_amounts(card.value) for title, card in cards.items()}
    sales = export(client, "tracking_conversion", **NOT_REMOVED, **dates)
    payments = export(client, "payouts_payment", **NOT_CANCELED, **dates)
    customers = export(client, "tracking_customer", **NOT_REMOVED, **dates)
    clicks = export(client, "tracking_click", **dates)
    days, programs = read_portal(history, portals, period)

    compare_reports(client, period, values, cards)
    revenue = values["Revenue"]
    assert revenue == add_up(sales, "Amount") == add_up_portal(days, "Revenue")
    assert revenue == add_up_portal(programs, "Revenue")
    counts = {"Conversions": sales, "New customers": customers, "Clicks": clicks}
    titles = {"Conversions": "Sales", "New customers": "Customers", "Clicks": "Clicks"}
    for title, rows in counts.items():
        assert cards[title].value == f"{len(rows)}" == f"{count(days, titles[title])}"

    earned = {}
    for program in history.programs:
        slug = program.program.slug
        of_program = {"program": slug, **NOT_REMOVED, **dates}
        rows = export(client, "payouts_commission", **of_program)
        counted = [row for row in rows if row["Status"] != "disapproved"]
        earned[slug] = add_up(counted, "Amount")
        listed = export(client, "tracking_conversion", **of_program)
        assert add_up(listed, "Amount") == drop_zeros(
            {program.program.currency: revenue.get(program.program.currency, ZERO)}
        )
    everything = export(client, "payouts_commission", **NOT_REMOVED, **dates)
    counted = [row for row in everything if row["Status"] != "disapproved"]
    assert values["Commissions"] == add_up(counted, "Amount")
    assert values["Commissions"] == drop_zeros(add_sums(earned.values()))
    assert values["Commissions"] == add_up_portal(days, "You earn")
    assert values["Commissions"] == add_up_portal(programs, "You earn")
    by_status = (values["Pending commissions"], values["Approved commissions"])
    assert values["Commissions"] == drop_zeros(add_sums(by_status))
    assert values["Paid out"] == add_up(payments, "Amount")
    for title in ("Active affiliates", "Removed conversions"):
        listed = client.get(cards[title].url).context["cl"].result_list
        assert cards[title].value == f"{len(listed)}", title
    return values | {title: int(cards[title].value) for title in counts}, earned


def compare(history):
    """Compare all places for both periods and for all days, and what they are today."""
    client = sign_in(history.account)
    portals = [sign_in_as(person.affiliate) for person in history.people[0]]
    earlier, later, whole = (
        compare_period(history, client, portals, each)[0] for each in (*HALVES, WHOLE)
    )
    _, earned = compare_period(history, client, portals, WHOLE)
    of_period = ("Revenue", "Commissions", "Paid out")
    for title in of_period:
        assert drop_zeros(add_sums([earlier[title], later[title]])) == whole[title]
    for title in ("Clicks", "Conversions", "New customers"):
        assert earlier[title] + later[title] == whole[title]
    cards = read_dashboard(client, HALVES[1])
    for title in of_period:
        assert read_amounts(cards[title].previous_value) == earlier[title], title

    first, second, closing = (read_closing(client, each) for each in (*HALVES, WHOLE))
    assert second["Open at the start"] == first["Open at the end"]
    assert closing["Open at the start"] == [{}, {}, {}]
    assert closing["Open at the end"] == second["Open at the end"]
    for kind in OwedMovement:
        parts = zip(first[kind.label], second[kind.label], strict=True)
        both = [drop_zeros(add_sums(pair)) for pair in parts]
        assert closing[kind.label] == both, kind
    changes = (OwedMovement.EARNED, OwedMovement.INCREASED, OwedMovement.WITHDRAWN)
    moved = add_sums(closing[it.label][2] for it in changes)
    assert whole["Commissions"] == drop_zeros(moved)
    payouts = (OwedMovement.PAID, OwedMovement.PAYMENT_CANCELED)
    paid = add_sums(closing[it.label][1] for it in payouts)
    assert whole["Paid out"] == subtract({}, paid)

    cards = read_dashboard(client, WHOLE)
    affiliates = export(client, "tracking_affiliate")
    balances = export(client, "payouts_ledgeraccount", zero="shown")
    owed = add_up(balances, "Balance due")
    due = read_amounts(cards["Balance due"].value)
    assert owed == subtract(due, read_amounts(cards["Balance due"].note))
    assert owed == add_up(affiliates, "Balance due")
    assert owed == closing["Open at the end"][1]
    pending = read_amounts(cards["Waiting for approval"].value)
    assert pending == closing["Open at the end"][0]
    currency = "Balance due: currency"
    for line in balances:
        parts = Decimal(line["Due now"]) + Decimal(line["On hold"])
        assert Decimal(line["Balance due"]) == parts, line[currency]
    lines = [line | {"Pending: currency": line[currency]} for line in balances]
    assert add_up(lines, "Pending") == pending
    assert add_up(affiliates, "Revenue, 30 days") == whole["Revenue"]
    by_affiliate = defaultdict(Decimal)
    for line in affiliates:
        by_affiliate[line["ID"], line["Revenue, 30 days: currency"]] += Decimal(
            line["Revenue, 30 days"] or 0
        )
    reported = read_report(client, WHOLE, "affiliate")
    of_report = {(it["Affiliate: ID"], it["Currency"]): Decimal(it["Revenue"]) for it in reported}
    assert drop_zeros(of_report) == drop_zeros(by_affiliate)
    assert count(affiliates, "Conversions, 30 days") == whole["Conversions"]
    for program in history.programs:
        url = reverse("admin:tracking_program_change", args=[program.program.pk])
        shown = {it.title: it for it in client.get(url).context["cards"]}
        amounts = read_amounts(shown["Commissions"].value)
        assert amounts == earned[program.program.slug]


@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # pages are slow to shrink
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps)
def test_all_places_have_the_same_numbers(db, steps):
    with time_machine.travel(NOW, tick=False), transaction.atomic():
        history = History()
        on = {"is_on": True}
        update_portal_settings(history.account, changes=on, at=AT)
        history.earn(0, 0, 1234, True)  # without activity, there is no dashboard
        for name, *arguments in steps:
            getattr(history, name)(*arguments)
        grant_bonuses(history.account, at=NOW)
        compare(history)
        transaction.set_rollback(True)
