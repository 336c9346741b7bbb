"""Closing of months: what is kept, what is refused, and what goes on."""

import hashlib
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import transaction

from accounts.actor import use_actor
from affiliate_site.closing_files import build_kept_tables, render_closing_csv
from payouts.errors import ClosedMonthConflict, ClosedMonthNotFound, DayInClosedMonth
from payouts.services import closed_months
from payouts.services.bookkeeping import get_period_closings
from payouts.services.closed_months import (
    ensure_month_open,
    find_closed_before,
    list_corrections,
    reopen_month,
)
from payouts.services.commissions import approve_commission
from payouts.services.erasure import erase_person
from payouts.services.opening_balances import post_opening_balance
from payouts.services.payments import cancel_payment
from payouts.services.refunds import refund_conversion
from payouts.statistics import get_month
from tests.closed_months import CLOSED_AT, close
from tests.ledger_checks import assert_ledger_consistent, assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT as SOLD_AT
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

MARCH = {"start": date(2026, 3, 1), "end": date(2026, 3, 31)}
APRIL = {"start": date(2026, 4, 1), "end": date(2026, 4, 30)}
MAY_2 = datetime(2026, 5, 2, 9, tzinfo=UTC)


def reopen(account, closed_month, *, at=CLOSED_AT, reason="A sale was missing"):
    return reopen_month(account, closed_month=closed_month.pk, reason=reason, at=at)


def list_logged(account):
    rows = account.audit_log.filter(kind__startswith="month.").order_by("id")
    return [*rows.values_list("kind", "details__month", "actor")]


def test_a_month_is_the_whole_one_of_a_day():
    for day in (date(2026, 2, 1), date(2026, 2, 28)):
        assert get_month(day).days == [date(2026, 2, n) for n in range(1, 29)]
    assert get_month(date(2026, 12, 31)).first == date(2026, 12, 1)
    assert get_month(date(2026, 1, 31)).last == date(2026, 1, 31)


def test_keeps_figures_and_files_with_a_digest(scenario):
    account = scenario.account
    dollars = ProgramScenario(account, slug="beacon", prefix="b-", email=None, currency="USD")
    dollars.create_conversion("70")
    scenario.create_conversion("200")
    with use_actor("staff 7"):
        row = close(account)

    row.refresh_from_db()
    closings = get_period_closings(account, **MARCH)
    assert row.csv == render_closing_csv(closings)
    assert row.csv.splitlines()[1:3] == [
        '"Open at the start",0,0,0,"EUR"',
        '"Earned",20,0,20,"EUR"',
    ]
    assert row.digest == hashlib.sha256(row.csv.encode()).hexdigest()
    assert bytes(row.pdf) == b"%PDF-"
    assert (row.closed_by, row.created_at, row.title) == ("staff 7", CLOSED_AT, "March 2026")
    assert row.before == datetime(2026, 4, 1, tzinfo=UTC)
    euros, kept_dollars = build_kept_tables(row)
    assert euros.values[-1] == ("Open at the end", "20.00 EUR", "0.00 EUR", "20.00 EUR")
    assert kept_dollars.values[1][:2] == ("Earned", "7.00 USD")
    assert list_logged(account) == [("month.closed", "March 2026", "staff 7")]


def test_closes_months_without_entries(scenario):
    row = close(scenario.account, 2)

    assert build_kept_tables(row) == []
    assert row.digest


def test_months_of_the_account_are_those_of_its_calendar(scenario):
    account = scenario.account
    account.time_zone = "Pacific/Auckland"
    account.save()
    scenario.create_conversion("200", at=datetime(2026, 3, 31, 10, 59, tzinfo=UTC))
    scenario.create_conversion("300", at=datetime(2026, 3, 31, 11, tzinfo=UTC))

    with pytest.raises(ClosedMonthConflict, match="an hour after its last day"):
        close(account, at=datetime(2026, 3, 31, 11, 59, tzinfo=UTC))
    row = close(account, at=datetime(2026, 3, 31, 12, tzinfo=UTC))

    assert '"Open at the end",20,0,20,"EUR"' in row.csv
    ensure_month_open_in_transaction(account, datetime(2026, 3, 31, 11, tzinfo=UTC))
    with pytest.raises(DayInClosedMonth, match="choose a day from 2026-04-01 on"):
        ensure_month_open_in_transaction(account, datetime(2026, 3, 31, 10, 59, tzinfo=UTC))


def ensure_month_open_in_transaction(account, at):
    with transaction.atomic():
        ensure_month_open(account, at)


def test_closes_months_in_order_and_once(scenario, other_account):
    account = scenario.account
    close(other_account, 4, at=MAY_2)
    with pytest.raises(ClosedMonthConflict, match="April 2026 is open"):
        close(account, 4)
    close(account, 2)
    for month, reason in (
        (2, "February 2026 is closed"),
        (1, "January 2026 is closed"),
        (4, "Close March 2026 first"),
    ):
        with pytest.raises(ClosedMonthConflict, match=reason):
            close(account, month, at=MAY_2)
    close(account, 3, at=MAY_2)
    close(account, 4, at=MAY_2)

    assert [str(row) for row in account.closed_months.order_by("id")] == [
        "2026-02",
        "2026-03",
        "2026-04",
    ]


def test_goes_on_in_january(scenario):
    close(scenario.account, 12, year=2025)

    assert close(scenario.account, 1).title == "January 2026"


def test_reopens_the_last_month_and_keeps_its_files(scenario, other_account):
    account = scenario.account
    february, march = close(account, 2), close(account, 3)
    with pytest.raises(ClosedMonthConflict, match="Reopen March 2026 before it"):
        reopen(account, february)
    with pytest.raises(ClosedMonthNotFound):
        reopen(other_account, march)
    with use_actor("staff 8"):
        reopen(account, march)
    with pytest.raises(ClosedMonthNotFound):
        reopen(account, march)
    scenario.create_conversion("200", created_at=SOLD_AT, at=CLOSED_AT)
    again = close(account)

    march.refresh_from_db()
    assert (march.reopened_by, march.reopened_at) == ("staff 8", CLOSED_AT)
    assert march.reason == "A sale was missing"
    assert march.csv == again.csv  # the entry of the sale has the time of its posting
    assert [kind for kind, *_ in list_logged(account)] == [
        *["month.closed"] * 2,
        "month.reopened",
        "month.closed",
    ]
    reopen(account, again)
    reopen(account, february)
    assert find_closed_before(account) is None


def test_refuses_chosen_dates_until_the_end_of_the_last_closed_month(scenario, other_account):
    account = scenario.account
    close(other_account, 4, at=MAY_2)
    row = close(account)
    mina = {"affiliate_id": scenario.mina.slug, "currency": "EUR", "amount": Decimal(5)}
    text = (
        "{} 2026 is closed: choose a day from 2026-04-01 on, or an owner can reopen the month"
        " (Bookkeeping, Closing of a period)."
    )
    for at, month in ((SOLD_AT, "March"), (SOLD_AT - timedelta(days=40), "January")):
        with assert_unchanged(account):
            with pytest.raises(DayInClosedMonth) as refusal:
                scenario.create_conversion("200", created_at=at, at=CLOSED_AT)
            assert (refusal.value.text, refusal.value.path) == (text.format(month), "created_at")
            with pytest.raises(DayInClosedMonth):
                post_opening_balance(account, **mina, at=at)
    first = datetime(2026, 4, 1, tzinfo=UTC)
    scenario.create_conversion("200", created_at=first, at=CLOSED_AT)
    post_opening_balance(account, **mina, at=first)
    reopen(account, row)
    scenario.create_conversion("300", created_at=SOLD_AT, at=CLOSED_AT)


def test_what_happens_to_sales_of_a_closed_month_counts_when_it_is_recorded(scenario):
    account = scenario.account
    sales = [scenario.create_conversion(amount) for amount in ("100", "200", "300", "400", "500")]
    refunded, removed, changed, approved, paid = sales
    scenario.approve(scenario.get_commission(paid))
    payment = scenario.pay("50")
    bonus = scenario.create_bonus(goal=1, value=5)
    kept = close(account)
    at = CLOSED_AT + timedelta(hours=1)

    refund_conversion(account, conversion_id=refunded.pk, amount=Decimal(50), reason="", at=at)
    scenario.delete(removed, at=at)
    scenario.change_amount(changed, "330", at=at)
    approve_commission(account, commission_id=scenario.get_commission(approved).pk, at=at)
    cancel_payment(account, payment_id=payment.public_id, at=at)
    scenario.create_conversion("600", at=at)

    assert bonus.pk
    assert render_closing_csv(get_period_closings(account, **MARCH)) == kept.csv
    april = get_period_closings(account, **APRIL)["EUR"]
    assert {kind.value: each.total for kind, each in april.movements.items()} == {
        "earned": 60,
        "increased": 3,
        "withdrawn": -25,
        "approved": 0,
        "payment_canceled": 50,
    }
    assert [(kind.value, *rest) for kind, *rest in list_corrections(kept)] == [
        ("increased", "EUR", 1, 3),
        ("withdrawn", "EUR", 2, 25),
    ]
    assert_ledger_consistent(account)


def test_people_leave_in_spite_of_closed_months(scenario):
    account = scenario.account
    scenario.create_conversion("100")
    kept = close(account)

    erase_person(account, identifier=scenario.mina.slug, at=CLOSED_AT)

    assert render_closing_csv(get_period_closings(account, **MARCH)) == kept.csv


def test_corrections_are_those_of_sales_of_the_month(scenario, other_account):
    account = scenario.account
    earlier = scenario.create_conversion("100", at=datetime(2026, 2, 28, 23, tzinfo=UTC))
    later = scenario.create_conversion("100", at=CLOSED_AT)
    other = ProgramScenario(other_account, email=None)
    other.delete(other.create_conversion("990"), at=CLOSED_AT)
    row = close(account)
    for sale in (earlier, later):
        scenario.delete(sale, at=CLOSED_AT)

    assert list_corrections(row) == []


def test_makes_the_files_again_if_the_figures_change_meanwhile(scenario, monkeypatch):
    account = scenario.account
    made = []

    def render_pdf(row):
        if not made:
            scenario.create_conversion("200")  # dated, before the account is locked
        made.append(row.csv)
        return

    row = close(account, render_pdf=render_pdf)

    assert len(made) == 2
    assert '"Earned",20,0,20,"EUR"' in row.csv
    assert row.pdf is None
    assert account.closed_months.count() == 1


def test_a_month_closed_meanwhile_is_not_closed_twice(scenario):
    account = scenario.account

    def render_pdf(row):
        if not account.closed_months.exists():
            close(account)

    with pytest.raises(ClosedMonthConflict, match="March 2026 is closed"):
        close(account, render_pdf=render_pdf)
    assert account.closed_months.count() == 1
    assert closed_months.list_closed(account)[0].pdf == b"%PDF-"
