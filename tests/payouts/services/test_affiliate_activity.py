"""When affiliates were active last, and which segments they are in."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from accounts.services.accounts import update_settings
from payouts.services.affiliate_activity import (
    Activity,
    Segment,
    Trend,
    filter_segment,
    find_activity,
    find_trends,
)
from payouts.services.exchange_rates import set_rate
from payouts.services.refunds import refund_conversion
from payouts.services.statistics import calculate_performance, load_statistics
from payouts.statistics import get_last_days
from tests.program_scenario import ProgramScenario, mark_deleted
from tracking.attribution import TrackingParameters
from tracking.services.click_retention import delete_expired_clicks
from tracking.services.clicks import Visit, record_click

pytestmark = pytest.mark.usefixtures("shared_scenario")

DAY = timedelta(days=1)
AT = datetime(2026, 9, 20, 9, 30, tzinfo=UTC)  # half past six in the evening in Tokyo


@pytest.fixture
def tokyo(account):
    """Days begin at 15:00 UTC."""
    update_settings(account, changes={"time_zone": "Asia/Tokyo"}, at=AT - 100 * DAY)
    account.refresh_from_db()
    return account


@pytest.fixture
def enroll(scenario):
    def create(name, *sales, joined=AT - 200 * DAY, currency="EUR"):
        """An affiliate with sales: a number of days ago and an amount."""
        enrolled = scenario.create_enrolled_affiliate(name, "Lund")
        enrolled.affiliate.update_row(created_at=joined)
        for days, amount in sales:
            scenario.create_conversion(
                amount, affiliate=enrolled, currency=currency, at=AT - days * DAY
            )
        return enrolled

    return create


def list_names(account, segment, at=AT):
    rows = filter_segment(account, account.affiliates.all(), segment, at=at)
    return sorted(rows.values_list("firstname", flat=True))


def find_one(affiliate):
    return find_activity([affiliate.pk])[affiliate.pk]


def test_quiet_and_never_sold(scenario, tokyo, enroll):
    """The 22nd of July began in Tokyo at 15:00 UTC of the 21st: 60 days ago."""
    start = datetime(2026, 7, 21, 15, tzinfo=UTC)
    for name, at in (("Before", start - timedelta(seconds=1)), ("After", start)):
        scenario.create_conversion("10", affiliate=enroll(name), at=at)
    enroll("Sells", (100, "10"), (3, "10"))
    returned = enroll("Returned", (100, "10"))
    scenario.delete(scenario.create_conversion("10", affiliate=returned, at=AT - 3 * DAY))
    undone = enroll("Undone")
    scenario.delete(scenario.create_conversion("10", affiliate=undone, at=AT - 3 * DAY))
    mark_deleted(enroll("Removed", (100, "10")).affiliate)

    assert list_names(tokyo, Segment.QUIET) == ["Before", "Returned"]
    assert list_names(tokyo, Segment.NEVER_SOLD) == ["Mina", "Undone"]


def test_new_ones_joined_within_thirty_days_of_the_account(tokyo, enroll):
    start = datetime(2026, 8, 21, 15, tzinfo=UTC)
    enroll("Before", joined=start - timedelta(seconds=1))
    enroll("First", joined=start)
    enroll("Today", joined=AT)
    mark_deleted(enroll("Removed", joined=AT).affiliate)

    assert list_names(tokyo, Segment.NEW) == ["First", "Today"]


def test_rising_and_falling_compare_thirty_days_until_yesterday(account, enroll):
    def create(name, before, now, count=5, **options):
        sales = [(days, amount) for days, amount in ((40, before), (10, now)) if amount]
        enroll(name, *(sales * count), **options)

    create("Half more", "10", "15")
    create("Less than half more", "10", "14.99")
    create("Half less", "10", "5")
    create("Less than half less", "10", "5.01")
    create("From nothing", None, "1")
    create("To nothing", "1", None)
    create("Few rising", "1", "9", count=4)
    create("Few falling", "9", "1", count=4)
    enroll("Today counts not", *((40, "10"), (0, "90")) * 9)
    enroll("Edges", *((60, "10"), (31, "10"), (30, "15"), (1, "15")) * 3)
    enroll("Earlier", *((61, "99"), (60, "10"), (30, "15")) * 5)
    enroll("More sales of less", *((40, "90"), (10, "1")) * 5, (10, "1"))

    assert list_names(account, Segment.RISING) == ["Earlier", "Edges", "From nothing", "Half more"]
    assert list_names(account, Segment.FALLING) == [
        *("Half less", "More sales of less", "To nothing", "Today counts not"),
    ]


def test_several_currencies_compare_numbers_of_sales(scenario, account, enroll):
    both = enroll("Both", *((40, "100"), (10, "1")) * 6)
    for number in range(3):
        scenario.create_conversion("1", affiliate=both, currency="USD", at=AT - number * DAY - DAY)
    enroll("Dollars", *((40, "1"), (10, "2")) * 5, currency="USD")

    assert list_names(account, Segment.RISING) == ["Both", "Dollars"]
    assert list_names(account, Segment.FALLING) == []


def test_several_currencies_are_compared_at_their_rates(scenario, account, enroll):
    """A tenth of the revenue with as many sales falls; without a rate, sales count."""
    account.default_currency = "EUR"
    account.save()
    set_rate(account, currency="USD", rate=Decimal("0.5"), at=AT)
    both = enroll("Both", *((40, "100"), (10, "10")) * 5)
    other = enroll("Yen", *((40, "100"), (10, "10")) * 5)
    rising = enroll("Rising", *((40, "100"), (10, "100")) * 5)
    for affiliate, currency, days, amount in (
        (both, "USD", 10, "90.01"),
        (rising, "USD", 10, "500"),
        (other, "JPY", 10, "90"),
    ):
        at = AT - days * DAY
        scenario.create_conversion(amount, affiliate=affiliate, currency=currency, at=at)
    affiliates = [it.affiliate.pk for it in (both, other, rising, scenario.mina)]

    assert list_names(account, Segment.FALLING) == ["Both"]
    assert list_names(account, Segment.RISING) == ["Rising"]
    found = find_trends(account, affiliates, at=AT)
    assert [found[it] for it in affiliates] == [
        Trend(Decimal(500), Decimal("95.01"), "EUR"),  # 50 and 45.005
        Trend(Decimal(5), Decimal(6), ""),
        Trend(Decimal(500), Decimal(750), "EUR"),
        Trend(Decimal(0), Decimal(0), ""),
    ]
    assert [found[it].change for it in affiliates] == [Decimal("-81.0"), 20, 50, None]


def test_segments_are_of_the_account(account, other_account, enroll):
    enroll("Own", (100, "10"))
    foreign = ProgramScenario(other_account, prefix="f-", email=None)
    foreign.create_conversion("10", at=AT - 100 * DAY)

    everybody = type(foreign.mina.affiliate).objects.all()
    found = filter_segment(account, everybody, Segment.QUIET, at=AT)

    assert [row.firstname for row in found] == ["Own"]


def test_the_last_click_may_be_a_removed_one(scenario, account, enroll):
    ada = enroll("Ada", (5, "10"))
    assert find_one(ada.affiliate) == Activity(None, AT - 5 * DAY)
    visit = Visit(
        parameters=TrackingParameters(referral_code=ada.code), landing_page="https://shop.example"
    )
    named, _ = (
        record_click(account, visit=visit, at=AT - days * DAY, deduplicate=True)
        for days in (1300, 1200)
    )
    account.conversions.update(click=named)
    assert delete_expired_clicks(account, at=AT, dry_run=False) == 1

    quarter = find_one(ada.affiliate).last_click

    assert AT - 1200 * DAY - timedelta(minutes=15) < quarter <= AT - 1200 * DAY
    assert find_one(scenario.mina.affiliate) == Activity(None, None)


def test_refund_rates_are_those_of_the_sales_of_the_days(scenario, account, enroll):
    """Of stored days and of today: refunded, removed and lowered, not raised."""
    ada = enroll("Ada")

    def sell(days, amount, **fields):
        at = AT - days * DAY
        return scenario.create_conversion(amount, affiliate=ada, at=at, **fields)

    for days in (3, 0):
        scenario.delete(sell(days, "50"), at=AT)
        refund = {"conversion_id": sell(days, "100").pk, "amount": Decimal(25)}
        refund_conversion(account, reason="", at=AT, **refund)
        scenario.change_amount(sell(days, "50"), "90", at=AT)
    sell(3, "10", currency="USD")
    scenario.delete(sell(40, "1000"), at=AT)

    period = get_last_days(30, AT.date())
    found = calculate_performance(account, [ada.affiliate.pk], period, at=AT)
    performance = found[ada.affiliate.pk]

    assert performance.refund_rates == {"EUR": Decimal("37.5"), "USD": 0}
    assert performance.conversions == 5


def test_days_that_the_release_before_stored_are_counted_again(scenario, account):
    scenario.delete(scenario.create_conversion("10", at=AT - DAY), at=AT)
    days = [(AT - 2 * DAY).date(), (AT - DAY).date()]
    later = AT + DAY
    load_statistics(account, days, at=later)
    account.daily_stats.update(sold=None, kept=None)

    totals = load_statistics(account, days, at=later).affiliate_totals(days)

    assert totals[scenario.mina.affiliate.pk].refund_rates == {"EUR": 100}
    assert set(account.daily_stats.filter(affiliate=None).values_list("sold", flat=True)) == {0}
