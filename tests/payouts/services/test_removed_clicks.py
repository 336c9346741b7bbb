"""Statistics are the same before and after old clicks are removed."""

import random
from datetime import UTC, date, datetime, timedelta
from functools import partial

import pytest

from accounts.days import A_DAY, list_days_anywhere, start_of_day
from accounts.services.accounts import update_settings
from payouts.services import figures
from payouts.services.day_counts import MAX_PAGES, OTHER_PAGES
from payouts.services.statistics import (
    calculate_performance,
    find_first_day,
    load_statistics,
)
from payouts.services.stored_days import find_stored_days
from payouts.statistics import Period
from tests.conftest import NOW
from tests.program_scenario import ProgramScenario
from tracking.attribution import TrackingParameters
from tracking.errors import InvalidClickId
from tracking.models.clicks import Click
from tracking.services import click_retention
from tracking.services.affiliates import PersonData
from tracking.services.click_retention import delete_expired_clicks
from tracking.services.prospects import ProspectData, create_prospect

pytestmark = pytest.mark.usefixtures("shared_scenario")

SHOP = "https://shop.example.net"
PERIOD = Period(date(2022, 10, 28), date(2022, 11, 8))
FIRST = datetime(2022, 10, 28, tzinfo=UTC)
# Clocks change on 30 October in Berlin, on 6 November in St. John's.
ZONES = (
    *("UTC", "Asia/Kathmandu", "America/St_Johns", "Europe/Berlin"),
    *("Pacific/Kiritimati", "Etc/GMT+12", "Australia/Lord_Howe"),
)
PAGES = (None, f"{SHOP}/", f"{SHOP}/a?ref=1", f"{SHOP}/a#x?y", f"{SHOP}/é/%?sub_id=s1")


def read_statistics(account, affiliates):
    """All that statistics say about the period, counted again in each time zone."""
    read = {}
    for zone in ZONES:
        update_settings(account, changes={"time_zone": zone}, at=NOW)
        account.daily_stats.all().delete()
        account.daily_landing_page_clicks.all().delete()
        load = partial(load_statistics, account, PERIOD.days, at=NOW)
        for state in ("counted", "stored"):
            found = load()
            read[zone, state] = {
                "first": find_first_day(account),
                "days": found.totals_by_day(PERIOD.days),
                "affiliates": found.affiliate_totals(PERIOD.days),
                "pages": found.top_pages(PERIOD.days, 100),
                "programs": [
                    found.totals_by_day(PERIOD.days, program=program.pk)
                    for program in account.programs.order_by("pk")
                ],
                "of": [read_affiliate(each) for each in affiliates],
                "performance": calculate_performance(
                    account, [each.pk for each in affiliates], PERIOD, at=NOW
                ),
            }
        assert find_stored_days(account, PERIOD.days).keys() == set(PERIOD.days)
    return read


def read_affiliate(affiliate):
    found = figures.load_figures(affiliate, PERIOD, PERIOD.previous, at=NOW)
    return (
        found.totals,
        figures.break_down_by_click(affiliate, PERIOD, figures.get_landing_page),
        figures.break_down_by_click(affiliate, PERIOD, figures.get_sub_id),
        [
            figures.break_down_by_click(affiliate, Period(day, day), get_value)
            for day in PERIOD.days[:4]
            for get_value in (figures.get_landing_page, figures.get_sub_id)
        ],
    )


def make_clicks(scenario, number, rng, *, affiliates, prospect=None):
    """Clicks at moments of the period, many of them at the ends of days."""
    account = scenario.account
    zones = [FIRST + timedelta(minutes=15 * n) for n in range(96 * 12)]
    clicks = []
    for each in range(number):
        at = rng.choice(zones) + rng.choice(
            (timedelta(), timedelta(microseconds=-1), timedelta(minutes=rng.random()))
        )
        owner = rng.choice(affiliates)
        is_of_prospect = prospect is not None and rng.random() < 0.1
        page = rng.choice(PAGES)
        clicks.append(
            Click(
                account=account,
                program=scenario.program,
                prospect=prospect if is_of_prospect else None,
                affiliate=None if is_of_prospect else owner.affiliate,
                enrollment=None if is_of_prospect else owner.enrollment,
                landing_page=page,
                sub_id=rng.choice((None, "s1", "s2")),
                referrer=rng.choice((None, "https://blog.example/1", "https://x.y/")),
                dedup_key=f"{scenario.prefix}{each}" if rng.random() < 0.8 else None,
                created_at=at,
            )
        )
    return account.clicks.bulk_create(clicks)


@pytest.fixture
def visits(scenario, account):
    rng = random.Random(7)  # noqa: S311 - clicks that can be repeated
    mina, odette = scenario.mina, scenario.create_enrolled_affiliate("Odette", "Varga")
    other = ProgramScenario(account, "second", prefix="b", email=None)
    person = PersonData(firstname="Ida", lastname="Roth")
    data = ProspectData(person, program_id=scenario.program.slug)
    prospect = create_prospect(account, data=data, at=FIRST)
    clicks = make_clicks(scenario, 300, rng, affiliates=(mina, odette), prospect=prospect)
    clicks += make_clicks(other, 60, rng, affiliates=(other.mina,))
    for number, click in enumerate(clicks[:60:3]):
        if click.affiliate is not None:
            sale = scenario.create_conversion("10", at=click.created_at, external_id=f"{number}")
            sale.update_row(click=click, affiliate=click.affiliate)
    return [mina.affiliate, odette.affiliate, other.mina.affiliate]


@pytest.mark.parametrize("size", [7, 1000])
def test_statistics_stay_the_same_in_every_zone(scenario, account, visits, monkeypatch, size):
    monkeypatch.setattr(click_retention, "DELETE_BATCH_SIZE", size)
    before = read_statistics(account, visits)
    removable = account.clicks.filter(dedup_key__isnull=False).count()

    removed = delete_expired_clicks(account, at=NOW, dry_run=False)

    assert removable - 20 <= removed < removable
    after = read_statistics(account, visits)
    assert after == before
    assert before["UTC", "stored"]["days"][date(2022, 11, 1)].clicks > 0


def test_no_stored_day_becomes_stale(scenario, account, visits):
    load_statistics(account, PERIOD.days, at=NOW)
    stored = list(account.daily_stats.order_by("pk").values())

    assert delete_expired_clicks(account, at=NOW, dry_run=False) > 200

    assert find_stored_days(account, PERIOD.days).keys() == set(PERIOD.days)
    assert list(account.daily_stats.order_by("pk").values()) == stored
    assert not account.stale_days.exists()


def test_the_first_day_is_that_of_a_removed_click(scenario, account, visits):
    """Earlier days are not counted."""
    account.clicks.filter(dedup_key=None).update(created_at=NOW)
    before = account.clicks.order_by("created_at").first()
    delete_expired_clicks(account, at=NOW, dry_run=False)
    assert find_first_day(account) == min(list_days_anywhere(before.created_at))


def test_pages_that_are_not_counted_apart_are_the_other_pages(scenario, account, monkeypatch):
    monkeypatch.setattr(click_retention, "MAX_CHARACTERS", 200)
    for number in range(20):
        account.clicks.create(
            program=scenario.program,
            affiliate=scenario.mina.affiliate,
            enrollment=scenario.mina.enrollment,
            landing_page=f"{SHOP}/{number}",
            dedup_key=f"{number}",
            created_at=FIRST + A_DAY,
        )
    delete_expired_clicks(account, at=NOW, dry_run=False)
    load = partial(load_statistics, account, PERIOD.days, at=NOW)

    for found in (load(), load()):
        pages = dict(found.top_pages(PERIOD.days, MAX_PAGES))
        assert found.totals_by_day(PERIOD.days)[FIRST.date() + A_DAY].clicks == 20
        assert sum(pages.values()) == 20
        assert pages[OTHER_PAGES] == 14

    parts = figures.break_down_by_click(scenario.mina.affiliate, PERIOD, figures.get_landing_page)
    assert [part.clicks for part in parts] == [1] * 6


@pytest.mark.parametrize("zone", ZONES)
def test_days_begin_with_a_quarter_of_an_hour(account, zone):
    account.time_zone = zone
    for day in range(4000):
        start = start_of_day(date(2020, 1, 1) + day * A_DAY, account.zone)
        assert (start.minute % 15, start.second) == (0, 0)


def test_tracking_by_a_removed_click_finds_nothing(scenario, account, visits):
    click = account.clicks.filter(dedup_key__isnull=False, affiliate=visits[0]).last()
    account.conversions.filter(click=click).update(click=None)
    delete_expired_clicks(account, at=NOW, dry_run=False)
    parameters = TrackingParameters(click_id=str(click.public_id))

    with pytest.raises(InvalidClickId):
        scenario.create_conversion("10", at=NOW, parameters=parameters)
