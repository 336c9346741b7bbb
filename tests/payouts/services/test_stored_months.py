"""Sums of stored months: when they are read, and when they are out of date."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from payouts.services import stored_months
from payouts.services.reports import ReportQuery, build_report
from payouts.services.statistics import load_statistics, store_past_days
from payouts.statistics import Period
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

DAY = timedelta(days=1)
LATER = datetime(2026, 5, 10, 12, tzinfo=UTC)
MARCH, APRIL = date(2026, 3, 1), date(2026, 4, 1)
SPRING = Period(date(2026, 2, 20), LATER.date())


@pytest.fixture
def sales(scenario):
    """A click of February, and sales of March, April and May, all days and months stored."""
    scenario.create_click(at=datetime(2026, 2, 25, 12, tzinfo=UTC))
    for days, amount, currency in ((0, "10", "EUR"), (30, "20", "EUR"), (31, "5", "USD")):
        scenario.create_conversion(amount, at=AT + days * DAY, currency=currency)
    scenario.create_conversion("7", at=LATER - 4 * DAY)
    store(scenario.account)
    return scenario


def store(account):
    for _ in store_past_days(account, at=LATER):
        pass


def read(account, rows="affiliate", period=SPRING, **filters):
    """The revenue by currency, and by the values of the rows."""
    query = ReportQuery([rows], ["revenue"], period, filters)
    report = build_report(account, query, at=LATER)
    return {(row.keys[rows], row.currency): row.values["revenue"] for row in report.rows}


def get_total(account, **options):
    """The revenue of all in EUR, by the stored months if they can be used."""
    return sum(it for (_, currency), it in read(account, **options).items() if currency == "EUR")


def falsify(account):
    """Raise the revenue of each stored month by 1,000 EUR, so that who reads it is seen."""
    for row in account.monthly_stats.filter(currency="EUR"):
        row.update_row(revenue=row.revenue + 1000)


def test_stores_whole_months(sales, account):
    rows = account.monthly_stats.order_by("day", "affiliate", "currency")
    found = {(it.day, it.currency, it.revenue, it.clicks) for it in rows if it.affiliate_id}
    assert found == {(MARCH, "EUR", 10, 0), (APRIL, "EUR", 20, 0), (APRIL, "USD", 5, 0)}
    assert read(account, rows="month") == {
        (MARCH, "EUR"): 10,
        (APRIL, "EUR"): 20,
        (APRIL, "USD"): 5,
        (date(2026, 5, 1), "EUR"): 7,
    }


@pytest.mark.parametrize(
    ("options", "extra"),
    [
        ({}, 2000),
        ({"rows": "program"}, 2000),
        ({"rows": "month"}, 2000),
        ({"rows": "quarter"}, 2000),
        ({"affiliate": "minakessler"}, 2000),
        ({"rows": "day"}, 0),
        ({"rows": "week"}, 0),
        ({"period": Period(MARCH, APRIL)}, 1000),
        ({"period": Period(MARCH + DAY, APRIL)}, 0),
    ],
)
def test_reads_whole_months_where_no_day_is_asked_for(sales, account, options, extra):
    before = get_total(account, **options)

    falsify(account)

    assert get_total(account, **options) == before + extra


def test_adds_up_affiliates_by_months(sales, account):
    falsify(account)
    [totals] = (
        load_statistics(account, SPRING.days, at=LATER).affiliate_totals(SPRING.days).values()
    )
    assert totals.revenue["EUR"] == 2037


def test_a_changed_day_makes_its_month_unused_until_it_is_added_up_again(sales, account):
    falsify(account)
    march = account.conversions.get(amount=10)

    sales.change_amount(march, "3", at=LATER)

    assert get_total(account) == 1030  # of April alone
    assert get_total(account) == 1030
    store(account)
    assert get_total(account) == 1030
    falsify(account)
    assert get_total(account) == 3030


def test_counts_a_sale_that_is_added_to_a_day_of_a_stored_month(sales, account):
    falsify(account)

    sales.create_conversion("100", customer_id="c-1", created_at=AT + DAY, at=LATER)

    assert get_total(account) == 1137  # of April alone
    store(account)
    assert read(account, rows="month")[MARCH, "EUR"] == 110
    falsify(account)
    assert get_total(account) == 3137


def test_reads_no_month_of_another_time_zone(sales, account):
    falsify(account)
    account.time_zone = "Asia/Tokyo"
    account.save()

    assert get_total(account) == 37
    store(account)
    assert get_total(account) == 37
    falsify(account)
    assert get_total(account) == 2037
    account.time_zone = "UTC"
    account.save()
    assert get_total(account) == 37


def test_a_later_sum_is_not_replaced_by_an_earlier_one(sales, account, monkeypatch):
    """Another process stores the month while this one has read its days."""
    sum_days = stored_months._sum_days
    march = account.conversions.get(amount=10)
    sales.change_amount(march, "9", at=LATER)

    def sum_and_wait(*arguments):
        rows = sum_days(*arguments)
        monkeypatch.setattr(stored_months, "_sum_days", sum_days)
        sales.change_amount(march, "8", at=LATER)
        store(account)
        return rows

    monkeypatch.setattr(stored_months, "_sum_days", sum_and_wait)
    store(account)

    [row] = account.monthly_stats.filter(day=MARCH, currency="EUR")
    assert row.revenue == 8
    falsify(account)
    assert get_total(account) == 2035


@pytest.mark.parametrize("name", ["MAX_COUNT", "MAX_AMOUNT"])
def test_stores_no_month_whose_sums_fit_no_column(scenario, account, monkeypatch, name):
    scenario.create_click(at=datetime(2026, 2, 25, 12, tzinfo=UTC))
    scenario.create_conversion("10")
    monkeypatch.setattr(stored_months, name, 0)

    store(account)

    assert not account.monthly_stats.filter(day=MARCH).exists()
    assert get_total(account) == Decimal(10)


def test_stores_no_month_without_all_of_its_days(sales, account):
    stored = dict.fromkeys(Period(MARCH, APRIL - 2 * DAY).days, 1)
    account.monthly_stats.all().delete()
    assert [*stored_months.store_months(account, stored)] == []

    account.daily_stats.filter(day=APRIL - DAY).delete()
    stored[APRIL - DAY] = 1  # deleted meanwhile

    assert [*stored_months.store_months(account, stored)] == [None]
    assert not account.monthly_stats.exists()


def test_reads_no_month_of_another_account(sales, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-", email=None)
    theirs.create_click(at=datetime(2026, 2, 25, 12, tzinfo=UTC))
    theirs.create_conversion("3")
    falsify(sales.account)
    store(other_account)

    assert get_total(other_account) == 3
    assert other_account.monthly_stats.filter(currency="EUR").count() == 1
