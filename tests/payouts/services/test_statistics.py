"""Daily statistics of the dashboard."""

from dataclasses import astuple
from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounts.models.row_counts import StaleDay
from accounts.services.webhooks import create_webhook, disable_webhook
from payouts.calculation import LineItem
from payouts.errors import StatisticsNotReady
from payouts.services import day_counts, statistics
from payouts.services import stored_days as stored_days_service
from payouts.services.conversion_updates import (
    add_commissions,
    update_commission,
)
from payouts.services.day_counts import count_day, count_days
from payouts.services.payables import get_balance_due
from payouts.services.payments import cancel_payment
from payouts.services.statistics import (
    AffiliatePerformance,
    calculate_performance,
    count_to_review,
    list_missing_days,
    load_statistics,
    store_past_days,
)
from payouts.services.stored_days import (
    find_stored_days,
    refresh_stale_days,
    store_days,
)
from payouts.statistics import Period, Totals, add_sums, add_totals
from tests.program_scenario import (
    AFFILIATE_CREATED_AT,
    CONVERSION_CREATED_AT,
    ProgramScenario,
)
from tracking.attribution import TrackingParameters
from tracking.services.affiliates import PersonData
from tracking.services.clicks import Visit, record_click
from tracking.services.customers import delete_customer as remove_customer
from tracking.services.prospects import ProspectData, create_prospect

pytestmark = pytest.mark.usefixtures("shared_scenario")

DAY = timedelta(days=1)
LATER = CONVERSION_CREATED_AT + 30 * DAY
TODAY = CONVERSION_CREATED_AT.date()
MIDNIGHT = CONVERSION_CREATED_AT.replace(hour=0, minute=0, second=0, microsecond=0)
WEEK = Period(TODAY - 3 * DAY, TODAY + 4 * DAY)


@pytest.fixture
def busy(scenario):
    """Conversions of Mina, two in EUR and one in USD, and of Odette; one is deleted."""
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_click()
    scenario.create_click(odette)
    conversions = [
        scenario.create_conversion("200", customer_id="c-1"),
        scenario.create_conversion("50.5", at=CONVERSION_CREATED_AT + DAY),
        scenario.create_conversion("30", currency="USD"),
        scenario.create_conversion("10", affiliate=odette),
        scenario.create_conversion("999"),
    ]
    scenario.delete(conversions[-1])
    first, second = (scenario.get_commission(conversion) for conversion in conversions[:2])
    scenario.approve(first)
    scenario.disapprove(second)
    scenario.pay("12.5")
    return scenario


def amounts(**by_currency):
    return {currency: Decimal(amount) for currency, amount in by_currency.items()}


def number_of(account, firstname):
    return account.affiliates.get(firstname=firstname).pk


def load(account, period=WEEK, at=LATER):
    return load_statistics(account, period.days, at=at)


def totals_by_day(account, days, at=LATER):
    return load_statistics(account, days, at=at).totals_by_day(days)


def count(account, period=WEEK, at=LATER):
    """Totals of a period, from stored days and days counted now."""
    return add_totals(totals_by_day(account, period.days, at=at).values())


def counted_totals(account, days):
    """Totals of days counted now, whatever is stored."""
    counted = [count_day(account, day) for day in days]
    return statistics.Statistics(account, counted).totals_by_day(days)


def stored_days(account):
    return sorted(set(account.daily_stats.values_list("day", flat=True)))


def load_approved(account):
    """The amounts of today that are approved."""
    return totals_by_day(account, [TODAY])[TODAY].approved


def approve_odettes(busy):
    busy.approve(busy.get_commission(busy.account.conversions.get(amount=10)), at=LATER)


def earned(account, span, at):
    return count(account, span, at=at).commissions


def test_counts_what_happened_in_a_period(busy, account):
    mina, odette = number_of(account, "Mina"), number_of(account, "Odette")

    week = count(account)

    assert (week.clicks, week.conversions, week.customers) == (2, 4, 1)
    assert week.revenue == amounts(EUR="260.5", USD="30")
    totals = load(account).affiliate_totals(WEEK.days)
    assert set(totals) == {mina, odette}
    revenue, earned = amounts(EUR="250.5", USD="30"), amounts(EUR="20", USD="3")
    sold = revenue | amounts(EUR="1249.5")
    assert astuple(totals[mina]) == (1, 3, revenue, earned, sold, revenue)
    ten = amounts(EUR="10")
    assert astuple(totals[odette]) == (1, 1, ten, amounts(EUR="1"), ten, ten)
    assert week.pending == amounts(EUR="1", USD="3")
    assert week.approved == amounts(EUR="20")
    assert week.disapproved == amounts(EUR="5.05")
    assert week.commissions == amounts(EUR="21", USD="3")
    assert week.paid == amounts(EUR="12.5")
    assert week.conversion_rate == Decimal("200.0")


@pytest.mark.parametrize(
    ("period", "previous"),
    [
        (("2026-10-01", "2026-10-31"), ("2026-09-01", "2026-09-30")),
        (("2024-03-01", "2024-03-31"), ("2024-02-01", "2024-02-29")),
        (("2026-01-01", "2026-01-31"), ("2025-12-01", "2025-12-31")),
        (("2026-01-01", "2026-03-31"), ("2025-10-01", "2025-12-31")),
        (("2025-01-01", "2025-12-31"), ("2024-01-01", "2024-12-31")),
        (("2026-10-01", "2026-10-30"), ("2026-09-01", "2026-09-30")),
        (("2026-10-02", "2026-10-31"), ("2026-09-02", "2026-10-01")),
        (("2026-10-01", "2026-10-01"), ("2026-09-01", "2026-09-01")),
        (("2026-11-01", "2026-11-23"), ("2026-10-01", "2026-10-23")),
        (("2026-03-01", "2026-03-30"), ("2026-02-01", "2026-02-28")),
        (("2026-10-01", "2026-11-23"), ("2026-08-08", "2026-09-30")),
    ],
)
def test_whole_months_are_compared_with_whole_months(period, previous):
    first, last = map(date.fromisoformat, period)

    found = Period(first, last).comparable

    assert (str(found.first), str(found.last)) == previous
    assert len(Period(first, last).previous.days) == (last - first).days + 1


def test_counts_nothing_outside_the_period(busy, account):
    before = count(account, WEEK.previous)

    assert WEEK.previous == Period(TODAY - 11 * DAY, TODAY - 4 * DAY)
    assert (before.clicks, before.conversions, before.revenue) == (0, 0, {})
    assert before.conversion_rate is None
    assert count(account, Period(TODAY - DAY, TODAY - DAY)).conversions == 0
    assert count(account, Period(TODAY, TODAY)).conversions == 3


def test_counts_nothing_between_two_periods(busy, account):
    """A month beside the same days of the month before it leaves out other days."""
    days = [TODAY - 2 * DAY, TODAY + 2 * DAY]
    load(account)  # stores the days between them

    found = load_statistics(account, days, at=LATER)

    assert totals_by_day(account, days) == dict.fromkeys(days, Totals())
    assert found.affiliate_totals(days) == {}
    assert found.top_pages(days, most=3) == []


def test_counts_a_day_from_its_first_moment_to_its_last(scenario, account):
    for moment in (MIDNIGHT - timedelta(microseconds=1), MIDNIGHT, MIDNIGHT + DAY):
        scenario.create_conversion("1", at=moment)

    assert count(account, Period(TODAY, TODAY)).conversions == 1


def test_counts_a_sale_added_later_on_its_own_day(busy, account):
    before = count(account, Period(TODAY, TODAY))
    after = LATER + DAY

    busy.create_conversion("70", customer_id="c-2", created_at=MIDNIGHT, at=after)

    assert count(account, Period(TODAY, TODAY), at=after).conversions == before.conversions + 1
    days = Period(TODAY, after.date()).days
    assert count(account, Period(TODAY, after.date()), at=after) == add_totals(
        counted_totals(account, days).values()
    )


def test_counts_nothing_of_another_account(busy, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-", email=None)
    theirs.create_conversion("77")

    week = count(other_account)

    assert (week.conversions, week.revenue) == (1, amounts(EUR="77"))


def test_keeps_a_day_that_is_over_and_counts_the_running_one(busy, account):
    week = totals_by_day(account, WEEK.days)

    assert stored_days(account) == [day for day in WEEK.days if day >= TODAY - DAY]
    account.daily_stats.filter(day=TODAY, currency="USD").update(conversions=77)
    assert totals_by_day(account, [TODAY])[TODAY].conversions == 79
    just_over = MIDNIGHT + DAY + timedelta(minutes=59)
    assert totals_by_day(account, [TODAY], at=just_over) == {TODAY: week[TODAY]}


@pytest.mark.parametrize(
    ("after", "is_stored"),
    [(-timedelta(microseconds=1), False), (timedelta(0), True)],
    ids=["just-before", "exact-end"],
)
def test_stores_a_day_an_hour_after_its_end(busy, account, after, is_stored):
    """Until then, a request that began on the day may still create rows of it."""
    load(account, Period(TODAY, TODAY), at=MIDNIGHT + DAY + timedelta(hours=1) + after)

    assert stored_days(account) == [TODAY] * is_stored


def test_counts_today_from_its_first_moment_and_no_later_day(scenario, account):
    scenario.create_conversion("1", at=MIDNIGHT)
    days = [TODAY, TODAY + DAY]

    totals = totals_by_day(account, days, at=MIDNIGHT)

    assert [totals[day].conversions for day in days] == [1, 0]
    assert load_statistics(account, days[1:], at=MIDNIGHT).counted == []


def test_counts_a_day_again_when_one_of_its_rows_changed(busy, account):
    conversion = account.conversions.filter(amount=200).get()
    odettes = account.conversions.filter(amount=10).get()
    customer, payment = account.customers.get(), account.payments.get()
    commission = busy.get_commission(conversion)
    changes = [
        lambda: busy.approve(busy.get_commission(odettes), at=LATER),
        lambda: busy.disapprove(commission, at=LATER),
        lambda: update_commission(
            account,
            commission_id=commission.pk,
            changes={"status": "pending"},
            at=LATER,
        ),
        lambda: busy.change_amount(conversion, 70, at=LATER),
        lambda: cancel_payment(account, payment_id=payment.public_id, at=LATER),
        lambda: busy.delete(odettes, at=LATER),
        lambda: remove_customer(account, public_id=customer.public_id, at=LATER),
    ]

    for change in changes:
        was = totals_by_day(account, WEEK.days)
        assert find_stored_days(account, [TODAY]).keys() == {TODAY}
        change()
        now = totals_by_day(account, WEEK.days)
        assert now != was
        assert now == counted_totals(account, WEEK.days)


def test_marks_days_of_commissions_stale_when_their_conversion_is_deleted(scenario, account):
    conversion = scenario.create_conversion("100")
    extra = LineItem(Decimal(100))
    add_commissions(account, conversion_id=conversion.pk, line_items=[extra], at=LATER)
    span = Period(TODAY, LATER.date())
    later = LATER + 2 * DAY
    assert earned(account, span, later) == amounts(EUR="20")

    scenario.delete(conversion, at=later)

    assert earned(account, span, later) == {}


def test_marks_no_day_that_is_not_over(scenario, account):
    conversion = scenario.create_conversion("100")
    scenario.approve(scenario.get_commission(conversion))

    assert not StaleDay.objects.exists()
    assert stored_days(account) == []


def test_returns_the_balance_due(busy, account):
    assert get_balance_due(account) == amounts(EUR="7.5")


def test_counts_what_is_to_review(busy, account):
    busy.create_enrolled_affiliate("Zoe", "Lund", approved=None)
    for number in range(3):
        webhook = create_webhook(
            account, url=f"https://h.example/{number}", at=CONVERSION_CREATED_AT
        )
        if number == 0:
            webhook.update_row(failing_since=CONVERSION_CREATED_AT)
        if number == 1:
            disable_webhook(webhook, at=CONVERSION_CREATED_AT)

    waits = count_to_review(account, at=CONVERSION_CREATED_AT)

    assert (waits.applications, waits.commissions, waits.webhooks) == (1, 2, 1)
    assert waits.sums == amounts(EUR="1", USD="3")
    assert waits.oldest == CONVERSION_CREATED_AT


def test_ranks_landing_pages_by_clicks(scenario, account, monkeypatch):
    for page, times in (("lamps?ref=a", 2), ("lamps#top", 1), ("desk", 1), ("", 1)):
        for _ in range(times):
            scenario.create_click(landing_page=f"https://shop.example.net/{page}")
    scenario.create_click()

    assert load(account).top_pages(WEEK.days, 2) == [
        ("https://shop.example.net/lamps", 3),
        ("https://shop.example.net/", 1),
    ]

    day = TODAY - DAY
    monkeypatch.setattr(day_counts, "get_day_query", day_counts.get_day_query.__wrapped__)
    for limit, others in ((1, {"(all other pages)": 2}), (3, {})):
        monkeypatch.setattr(day_counts, "MAX_PAGES", limit)
        pages = {
            row.landing_page: row.clicks for row in count_day(account, day).landing_page_clicks
        }
        lamps = {"https://shop.example.net/lamps": 3}
        assert pages.items() >= (lamps | others).items()
        assert len(pages) == (3 if limit == 3 else 2)


def test_calculates_the_performance_of_affiliates(busy, account):
    zoe = busy.create_enrolled_affiliate("Zoe", "Lund", approved=None)
    numbers = {affiliate.firstname: affiliate.pk for affiliate in account.affiliates.all()}
    now = CONVERSION_CREATED_AT + 3 * DAY + timedelta(minutes=20)

    performance = calculate_performance(
        account, list(numbers.values()), Period(WEEK.first, now.date()), at=now
    )

    assert performance[numbers["Mina"]] == AffiliatePerformance(
        clicks=1,
        conversions=3,
        revenue=amounts(EUR="250.5", USD="30"),
        commissions=amounts(EUR="20", USD="3"),
        refund_rates={"EUR": 80, "USD": 0},
        balance_due=amounts(EUR="7.5"),
    )
    assert performance[numbers["Odette"]].revenue == amounts(EUR="10")
    assert performance[zoe.affiliate.pk] == AffiliatePerformance(0, 0, {}, {}, {}, {})


def test_counts_the_running_days_of_affiliates_too(busy, account):
    mina = number_of(account, "Mina")
    period = Period(WEEK.first, TODAY)

    performance = calculate_performance(account, [mina], period, at=CONVERSION_CREATED_AT)

    assert (performance[mina].clicks, performance[mina].conversions) == (1, 2)


def test_counts_the_clicks_of_a_prospect_who_became_an_affiliate(scenario, account):
    person = PersonData(firstname="Pia", lastname="Lang", email="p@notes.example.org")
    pia = create_prospect(account, data=ProspectData(person), at=AFFILIATE_CREATED_AT)
    parameters = TrackingParameters(referral_code=account.referral_codes.get(prospect=pia).code)
    record_click(account, visit=Visit(parameters=parameters), at=CONVERSION_CREATED_AT)
    assert load(account).affiliate_totals(WEEK.days) == {}

    scenario.create_conversion("10", parameters=parameters, at=LATER)

    pia.refresh_from_db()
    statistics = load(account, at=LATER + DAY)
    totals = statistics.affiliate_totals(WEEK.days, [pia.affiliate_id])
    assert totals[pia.affiliate_id].clicks == 1


def test_counts_many_days_with_few_statements(busy, account, capture_queries):
    """The same as each day alone, also around a day that is stored already."""
    for number in range(30):
        at = MIDNIGHT + number * DAY
        busy.create_conversion("1", at=at)
        busy.create_click(at=at, landing_page=f"https://shop.example.net/{number % 3}")
    load(account, Period(TODAY + 7 * DAY, TODAY + 7 * DAY))
    days = [TODAY + number * DAY for number in range(60)]
    alone = [count_day(account, day) for day in days]
    expected = statistics.Statistics(account, alone)

    with capture_queries() as queries:
        found = load(account, Period(days[0], days[-1]), at=MIDNIGHT + 90 * DAY)

    assert len(queries) < 180
    assert found.counted == []
    assert found.totals_by_day(days) == expected.totals_by_day(days)
    assert found.top_pages(days, most=9) == expected.top_pages(days, most=9)
    assert found.affiliate_totals(days) == expected.affiliate_totals(days)


def test_counts_no_day_before_the_first_row(scenario, account, capture_queries):
    scenario.create_conversion("10")
    years = [TODAY - DAY * number for number in range(700)]

    with capture_queries() as queries:
        totals = totals_by_day(account, years)

    assert len(queries) < 40
    assert stored_days(account) == [TODAY - DAY, TODAY]  # yesterday in the west
    assert add_totals(totals.values()).conversions == 1


def test_counts_for_a_limited_time_and_goes_on(busy, account, monkeypatch):
    monkeypatch.setattr(statistics, "MAX_SECONDS", 0)
    monkeypatch.setattr(stored_days_service, "BATCH_ROWS", 1)  # a day at once

    for left in (5, 4, 3, 2, 1):
        with pytest.raises(StatisticsNotReady) as caught:
            load(account)
        assert caught.value.params == {"days": left}

    assert count(account).conversions == 4
    assert stored_days(account) == [day for day in WEEK.days if day >= TODAY - DAY]


def test_stores_past_days_ahead_the_last_ones_first(busy, account, other_account):
    at = MIDNIGHT + 3 * DAY + timedelta(hours=2)
    assert list_missing_days(account, at=at) == [TODAY + DAY * n for n in (2, 1, 0, -1)]

    steps = store_past_days(account, at=at)

    next(steps)
    assert stored_days(account) == [TODAY + 2 * DAY]
    busy.create_click(at=at)
    assert [*steps] == [None]
    assert list_missing_days(account, at=at) == []
    assert list_missing_days(account, at=at + DAY) == [TODAY + 3 * DAY]
    assert [*store_past_days(other_account, at=at)] == []


def test_counts_fewer_days_at_once_if_they_have_many_rows(busy, account, monkeypatch):
    days = Period(TODAY, TODAY + 30 * DAY).days
    assert [it.days_left for it in store_days(account, days)] == [30, 20, 10, 0]

    account.daily_stats.all().delete()
    rows = len(count_days(account, [TODAY])[0].stats)
    monkeypatch.setattr(stored_days_service, "BATCH_ROWS", 2 * rows)
    assert [it.days_left for it in store_days(account, days[:5])] == [4, 2, 0]


def test_keeps_the_mark_of_a_change_during_the_count(busy, account, during_count):
    during_count(lambda: approve_odettes(busy))

    assert load_approved(account) == amounts(EUR="20")
    assert load_approved(account) == amounts(EUR="21")
    assert not account.stale_days.filter(day=TODAY).exists()


def test_does_not_replace_what_another_counter_has_stored_meanwhile(busy, account, during_count):
    """The other one knows a change that this one does not, and has deleted its mark."""

    def approve_and_load():
        approve_odettes(busy)
        load(account, Period(TODAY, TODAY))

    during_count(approve_and_load)

    assert load_approved(account) == amounts(EUR="20")
    assert load_approved(account) == amounts(EUR="21")
    assert not account.stale_days.filter(day=TODAY).exists()


def test_stores_nothing_if_its_mark_was_deleted(busy, account, during_count):
    """As when prune deletes the mark of a change after the count has begun."""

    def approve_and_prune():
        approve_odettes(busy)
        refresh_stale_days([account], at=LATER, dry_run=False)

    during_count(approve_and_prune)
    load(account, Period(TODAY, TODAY))

    assert stored_days(account) == []
    assert load_approved(account) == amounts(EUR="21")


def test_recounts_a_day_whose_counter_was_killed(busy, account, during_count):
    class Killed(Exception):
        pass

    def kill():
        raise Killed

    before = count(account)
    approve_odettes(busy)
    during_count(kill)
    with pytest.raises(Killed):
        load(account)

    assert count(account) != before
    assert not account.stale_days.filter(day=TODAY).exists()


def test_ignores_stored_rows_of_days_that_it_counted_itself(busy, account, during_count):
    during_count(lambda: load(account))
    week = load(account)

    assert stored_days(account) != []
    totals = add_totals(week.totals_by_day(WEEK.days).values())
    assert totals.conversions == 4


def test_counts_no_day_that_is_stored_meanwhile(busy, account, monkeypatch):
    count(account)
    again: list = []
    count_days = "payouts.services.stored_days.count_days"
    monkeypatch.setattr(count_days, lambda *days: again.append(days))

    assert not any(it.not_stored for it in store_days(account, stored_days(account)))
    assert again == []


def test_stores_a_bounded_number_of_landing_pages(scenario, account, capture_queries):
    for number in range(12):
        scenario.create_click(landing_page=f"https://shop.example.net/{number}?a=b")
    day = TODAY - DAY

    with pytest.MonkeyPatch.context() as patch, capture_queries() as queries:
        patch.setattr(day_counts, "get_day_query", day_counts.get_day_query.__wrapped__)
        patch.setattr(day_counts, "MAX_PAGES", 10)
        count(account)

    assert account.daily_landing_page_clicks.filter(day=day).count() == 11
    functions = ("INSTR", "SPLIT_PART")  # of SQLite and of PostgreSQL
    statements = [
        query["sql"] for query in queries if any(name in query["sql"] for name in functions)
    ]
    assert len(statements) >= 1
    assert all(statement.endswith("LIMIT 10") for statement in statements)


def test_distinguishes_no_commission_from_a_commission_of_zero(scenario, account):
    scenario.create_conversion("0")

    week = count(account)

    assert (week.revenue, week.commissions) == (amounts(EUR="0"), amounts(EUR="0"))
    assert (week.approved, week.paid) == ({}, {})


def test_counts_a_day_whose_sums_do_not_fit_their_columns(scenario, account):
    largest = Decimal(9000000000000)
    for _ in range(103):
        scenario.create_conversion(f"{largest}")

    for _ in range(2):
        assert count(account).revenue == {"EUR": 103 * largest}
    assert TODAY not in stored_days(account)


def test_stores_a_row_for_each_program_affiliate_and_currency(scenario, account):
    conversion = scenario.create_conversion("10")
    count(account)

    (row,) = account.daily_stats.filter(conversions__gt=0)
    assert (row.program_id, row.affiliate_id) == (
        conversion.program_id,
        conversion.affiliate_id,
    )
    assert (row.currency, row.revenue) == ("EUR", Decimal(10))


def test_adds_up_currencies_apart():
    some = [amounts(USD="1"), amounts(EUR="2"), amounts(USD="3")]

    assert list(add_sums(some).items()) == [("EUR", 2), ("USD", 4)]
    assert add_totals([]) == Totals()
