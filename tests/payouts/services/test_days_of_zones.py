"""Daily statistics count the days of the account's time zone."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from accounts.days import is_closed, list_days_anywhere, start_of_day
from accounts.models.accounts import Account
from accounts.services.accounts import update_settings
from payouts.models.daily_stats import DailyStats
from payouts.services.statistics import count_removed_conversions, load_statistics
from payouts.services.stored_days import find_stored_days, refresh_stale_days
from payouts.statistics import Period

pytestmark = pytest.mark.usefixtures("shared_scenario")

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
FIFTH, SIXTH, SEVENTH = (date(2026, 3, day) for day in (5, 6, 7))
DAYS = [FIFTH, SIXTH, SEVENTH]
LATE = datetime(2026, 3, 5, 23, 30, tzinfo=UTC)  # on the 6th in Berlin
LATER = datetime(2026, 4, 20, 12, tzinfo=UTC)


def move_to(account, time_zone):
    update_settings(account, changes={"time_zone": time_zone}, at=LATER)


def count(account, days=DAYS, at=LATER):
    """The conversions of each day."""
    totals = load_statistics(account, days, at=at).totals_by_day(days)
    return [totals[day].conversions for day in days]


@pytest.mark.parametrize(
    ("time_zone", "expected"),
    [
        ("UTC", [1, 0, 0]),
        ("Europe/Berlin", [0, 1, 0]),
        ("America/New_York", [1, 0, 0]),
        ("Asia/Kolkata", [0, 1, 0]),
        ("Pacific/Kiritimati", [0, 1, 0]),
    ],
)
def test_counts_a_sale_on_the_day_of_the_account(scenario, account, time_zone, expected):
    move_to(account, time_zone)
    scenario.create_conversion("10", at=LATE)

    assert count(account) == expected  # counted and stored
    assert count(account) == expected  # read
    assert find_stored_days(account, DAYS).keys() >= {SIXTH}


@pytest.mark.parametrize(
    ("time_zone", "day", "hours"),
    [
        ("Europe/Berlin", date(2026, 3, 29), 23),
        ("Europe/Berlin", date(2026, 10, 25), 25),
        ("America/Havana", date(2026, 3, 8), 23),  # begins at 01:00
        ("America/Havana", date(2026, 11, 1), 25),  # has two midnights
        ("Australia/Lord_Howe", date(2026, 4, 5), 24.5),
        ("Asia/Kathmandu", date(2026, 3, 29), 24),
    ],
)
def test_counts_each_hour_of_a_day_that_changes_its_time(scenario, account, time_zone, day, hours):
    move_to(account, time_zone)
    zone = ZoneInfo(time_zone)
    first, end = start_of_day(day, zone), start_of_day(day + DAY, zone)
    instant = timedelta(microseconds=1)
    for at in (first - instant, first, end - instant, end):
        scenario.create_conversion("1", at=at)

    assert end - first == hours * HOUR
    assert account.get_day(first) == account.get_day(end - instant) == day
    later = end + 3 * DAY
    assert count(account, [day - DAY, day, day + DAY], at=later) == [1, 2, 1]


def test_a_day_is_closed_an_hour_after_its_end_in_the_zone():
    end = datetime(2026, 3, 5, 23, tzinfo=UTC)  # of the 5th in Berlin

    assert is_closed(FIFTH, ZoneInfo("Europe/Berlin"), at=end + HOUR)
    assert not is_closed(FIFTH, ZoneInfo("Europe/Berlin"), at=end)
    assert not is_closed(FIFTH, UTC, at=end + HOUR)


@pytest.mark.parametrize("time_zone", ["UTC", "Etc/GMT+12", "Pacific/Kiritimati"])
def test_lists_the_days_of_a_moment_in_all_zones(time_zone):
    for hour in range(24):
        at = datetime(2026, 3, 5, hour, 59, tzinfo=UTC)
        assert at.astimezone(ZoneInfo(time_zone)).date() in list_days_anywhere(at)


def test_counts_days_again_when_the_time_zone_changes(scenario, account):
    scenario.create_conversion("10", at=LATE)
    assert count(account) == [1, 0, 0]

    move_to(account, "Europe/Berlin")

    assert find_stored_days(account, DAYS).keys() == set()
    assert count(account) == [0, 1, 0]
    assert find_stored_days(account, DAYS).keys() == set(DAYS)
    zones = account.daily_stats.filter(day__in=DAYS).values_list("time_zone", flat=True)
    assert set(zones) == {"Europe/Berlin"}
    move_to(account, "UTC")
    assert count(account) == [1, 0, 0]


def test_a_change_counts_in_the_zone_before_and_the_one_after(scenario, account):
    """Days of the former zone are still stored: only one of them is counted again."""
    sale = scenario.create_conversion("10", at=LATE)
    assert count(account) == [1, 0, 0]
    move_to(account, "Europe/Berlin")
    assert count(account, [SIXTH]) == [1]

    scenario.delete(sale, at=LATER)

    assert count(account, [SIXTH]) == [0]
    move_to(account, "UTC")
    assert count(account) == [0, 0, 0]


def test_a_request_that_knows_the_former_zone_marks_the_right_day(scenario, account):
    sale = scenario.create_conversion("10", at=LATE)
    move_to(Account.objects.get(pk=account.pk), "Europe/Berlin")
    moved = Account.objects.get(pk=account.pk)
    assert count(moved) == [0, 1, 0]
    assert account.time_zone == "UTC"

    scenario.delete(sale, at=LATER)

    assert count(moved) == [0, 0, 0]


def test_a_count_in_the_former_zone_is_not_read(scenario, account, during_count):
    """The zone changes, and another process counts, while this one counts."""
    scenario.create_conversion("10", at=LATE)

    def move_and_count():
        moved = Account.objects.get(pk=account.pk)
        move_to(moved, "Europe/Berlin")
        assert count(moved) == [0, 1, 0]

    during_count(move_and_count)

    assert count(account) == [1, 0, 0]
    moved = Account.objects.get(pk=account.pk)
    assert count(moved) == count(moved) == [0, 1, 0]


def test_a_change_makes_one_day_stale_in_each_zone(scenario, account):
    """A mark for another zone does not make a neighbor of the day be counted again."""
    sale = scenario.create_conversion("10", at=LATE)
    for time_zone, stale in (("UTC", FIFTH), ("Europe/Berlin", SIXTH)):
        move_to(account, time_zone)
        count(account)
        scenario.change_amount(sale, 20 + account.audit_log.count(), at=LATER)
        assert find_stored_days(account, DAYS).keys() == set(DAYS) - {stale}


def test_a_change_on_the_day_of_the_sale_counts_in_zones_where_it_is_over(scenario, account):
    """12:00 UTC and 23:30 UTC are one day in UTC, and two in Auckland."""
    move_to(account, "Pacific/Auckland")
    noon = datetime(2026, 3, 5, 10, tzinfo=UTC)  # 23:00 in Auckland
    sale = scenario.create_conversion("10", at=noon)
    later = noon + 3 * HOUR
    assert count(account, [FIFTH], at=later) == [1]
    assert find_stored_days(account, [FIFTH]).keys() == {FIFTH}

    scenario.delete(sale, at=later)

    assert count(account, [FIFTH], at=later) == [0]


def test_prune_counts_stale_days_in_the_present_zone(scenario, account):
    sale = scenario.create_conversion("10", at=LATE)
    count(account)
    move_to(account, "Europe/Berlin")
    scenario.delete(sale, at=LATER)

    refresh_stale_days([account], at=LATER, dry_run=False)

    assert not account.stale_days.exists()
    stored = DailyStats.objects.filter(day__in=[FIFTH, SIXTH])
    assert {row.time_zone for row in stored} == {"Europe/Berlin"}
    move_to(account, "UTC")
    assert count(account) == [0, 0, 0]


def test_prune_stores_no_day_that_is_not_over_in_the_present_zone(scenario, account):
    move_to(account, "Pacific/Kiritimati")
    noon = datetime(2026, 3, 5, 8, tzinfo=UTC)  # 22:00 in Kiritimati
    sale = scenario.create_conversion("10", at=noon)
    later = noon + 4 * HOUR
    assert count(account, [FIFTH], at=later) == [1]
    move_to(account, "Etc/GMT+12")
    scenario.delete(sale, at=later)

    refresh_stale_days([account], at=later, dry_run=False)

    assert find_stored_days(account, [FIFTH]).keys() == set()


def test_counts_refunds_by_the_days_of_the_account(scenario, account):
    scenario.delete(scenario.create_conversion("10"), at=LATE)
    periods = [Period(FIFTH, FIFTH), Period(SIXTH, SIXTH)]

    assert count_removed_conversions(account, periods) == [1, 0]
    move_to(account, "Europe/Berlin")
    assert count_removed_conversions(account, periods) == [0, 1]
