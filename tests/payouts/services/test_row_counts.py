"""The stored row counts of all lists, while their rows change."""

import random
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.db.models import Q

from accounts.services import row_counts
from accounts.services.row_counts import (
    CountedList,
    find_counted_list,
    merge_count_changes,
    store_row_counts,
)
from payouts.calculation import LineItem
from payouts.models.commissions import Commission, CommissionStatus
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.conversion_updates import add_commissions, update_conversion
from payouts.services.payments import cancel_payment
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory
from tests.program_scenario import CLICK_CREATED_AT
from tests.row_count_checks import assert_row_counts_exact
from tracking.attribution import TrackingParameters
from tracking.models.clicks import Click
from tracking.models.conversions import Conversion
from tracking.services.affiliates import PersonData
from tracking.services.clicks import Visit, record_click
from tracking.services.customers import delete_customer
from tracking.services.prospects import ProspectData, create_prospect

A_DAY = timedelta(days=1)
MIDNIGHT = NOW.replace(hour=0, minute=0, second=0)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def store_always(monkeypatch):
    """Store the counts of short lists too."""
    monkeypatch.setattr(row_counts, "MAX_UNSTORED_ROWS", 0)


@pytest.fixture
def counted_list(account):
    return CountedList(account, Conversion)


def test_stores_days_that_are_over_for_an_hour(scenario, account, counted_list):
    for days in range(3):
        scenario.create_conversion(at=NOW - days * A_DAY)

    counted_list.count(MIDNIGHT + HOUR - timedelta(seconds=1))
    before = counted_list.count(MIDNIGHT + HOUR)
    after = counted_list.count(NOW)

    assert before == (MIDNIGHT - A_DAY, 1, 2)
    assert after == (MIDNIGHT, 2, 1)


def test_stores_only_the_counts_of_long_lists(scenario, account, counted_list, monkeypatch):
    monkeypatch.setattr(row_counts, "MAX_UNSTORED_ROWS", 2)
    scenario.create_conversion(at=NOW - A_DAY)
    scenario.create_conversion(at=NOW)

    counted_list.count(NOW)
    assert not account.daily_row_counts.exists()

    scenario.create_conversion(at=NOW)
    counted_list.count(NOW)
    assert counted_list.count(NOW) == (MIDNIGHT, 1, 2)


def test_counts_a_sale_added_to_a_day_that_is_stored(scenario, account, counted_list):
    scenario.create_conversion(at=NOW - 3 * A_DAY)
    counted_list.count(NOW)

    scenario.create_conversion(customer_id="c-1", created_at=NOW - 2 * A_DAY, at=NOW)

    assert counted_list.count(NOW) == (MIDNIGHT, 2, 0)
    assert_row_counts_exact(account, at=NOW)


def test_counts_days_in_several_batches(scenario, counted_list, monkeypatch):
    monkeypatch.setattr(row_counts, "BATCH_DAYS", 2)
    for days in (0, 1, 3, 8):
        scenario.create_conversion(at=NOW - days * A_DAY)

    counted_list.count(NOW)

    assert counted_list.count(NOW) == (MIDNIGHT, 3, 1)


def test_counts_what_happened_before_the_days_were_stored(scenario, account, counted_list):
    first = scenario.create_conversion(at=NOW - 5 * A_DAY)
    scenario.create_conversion(at=NOW - 3 * A_DAY)
    scenario.delete(first, at=NOW)

    counted_list.count(NOW)

    assert counted_list.count(NOW) == (MIDNIGHT, 1, 0)
    assert_row_counts_exact(account, at=NOW)


def test_two_counters_store_the_same(scenario, account, counted_list):
    for days in (1, 2, 3):
        conversion = scenario.create_conversion(at=NOW - days * A_DAY)
    counted_list.store_days(None, at=NOW)
    scenario.delete(conversion, at=NOW)
    stored = list(account.daily_row_counts.filter(is_change=False).values())

    account.daily_row_counts.filter(is_change=False).delete()
    counted_list.store_days(None, at=NOW)

    ignored = {"id": None}
    recounted = account.daily_row_counts.filter(is_change=False).values()
    assert [row | ignored for row in recounted] == [row | ignored for row in stored]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))]
)
def test_stays_exact_through_random_changes(scenario, account, seed):
    rng = random.Random(seed)  # noqa: S311 - repeatable
    affiliates = [scenario.mina, scenario.create_enrolled_affiliate("Odette", "Varga")]
    at = NOW - 12 * A_DAY
    for number in range(40):
        at += timedelta(hours=rng.randint(1, 20))
        apply_random_change(scenario, rng, rng.choice(affiliates), number, at)
        apply_random_commission_change(account, rng, at)
        if number % 4 == 0:
            days = [MIDNIGHT - rng.randint(0, 12) * A_DAY for _ in range(2)]
            assert_row_counts_exact(account, at=at, days=days)

    assert account.daily_row_counts.filter(is_change=True).exists()
    assert account.daily_row_counts.filter(is_change=False, n__gt=0).exists()
    assert_row_counts_exact(account, at=at + 2 * A_DAY)


def apply_random_change(scenario, rng, affiliate, number, at):
    """Create rows, or remove some."""
    account = scenario.account
    kind = rng.randrange(10)
    if kind == 0 and (row := pick(rng, account.conversions.not_deleted())):
        scenario.delete(row, at=at)
    elif kind == 1 and (row := pick(rng, account.customers.not_deleted())):
        delete_customer(account, public_id=row.public_id, at=at)
    elif kind == 2 and (row := pick(rng, account.payments.not_canceled())):
        cancel_payment(account, payment_id=row.public_id, at=at)
    elif kind <= 4 and (row := pick(rng, account.conversions.not_deleted())):
        status = rng.choice(CommissionStatus.values)
        update_conversion(
            account,
            conversion_id=row.pk,
            changes={},
            should_recalculate=False,
            status=status,
            at=at,
        )
    elif kind == 5:
        scenario.pay(1, to=affiliate.slug, at=at)
    elif kind == 6:
        scenario.create_click(affiliate, at=at)
    else:
        scenario.create_conversion(
            affiliate=affiliate, customer_id=f"customer-{rng.randrange(9)}", at=at
        )


def apply_random_commission_change(account, rng, at):
    """Approve, disapprove or add a commission, so that some of a sale are pending."""
    row = pick(rng, account.commissions.not_deleted())
    if row is None:
        return
    add = partial(add_commissions, line_items=[LineItem(Decimal(20))])
    service, key, pk = rng.choice(
        [
            (approve_commission, "commission_id", row.pk),
            (disapprove_commission, "commission_id", row.pk),
            (add, "conversion_id", row.conversion_id),
        ]
    )
    service(account, **{key: pk}, at=at)


def pick(rng, rows):
    """Return a random row; None if there are none."""
    found = list(rows.order_by("id"))
    return rng.choice(found) if found else None


def test_follows_a_conversion_to_another_program(scenario, account):
    conversion = scenario.create_conversion(at=NOW - A_DAY)
    assert_row_counts_exact(account, at=NOW)
    other = ProgramFactory(account=account, slug="other")

    conversion.update_row(program=other)

    assert_row_counts_exact(account, at=NOW)
    moved = CountedList(account, Conversion, "program", other.pk).count(NOW)
    assert moved.stored + moved.later == 1


def test_follows_a_customer_to_another_day(scenario, account):
    customer = scenario.create_customer("member-1", at=NOW - 3 * A_DAY)
    assert_row_counts_exact(account, at=NOW)

    customer.update_row(created_at=NOW)

    assert_row_counts_exact(account, at=NOW)
    assert_row_counts_exact(account, at=NOW + 2 * A_DAY)


def test_a_failed_update_changes_no_count(scenario, account):
    conversion = scenario.create_conversion(at=NOW - A_DAY)

    assert not conversion.update_row(expected={"amount": 0}, deleted_at=NOW)

    assert not account.daily_row_counts.exists()


def test_follows_the_clicks_of_a_promoted_prospect(scenario, account):
    person = PersonData("Pia", "Lang")
    prospect = create_prospect(account, data=ProspectData(person), at=CLICK_CREATED_AT)
    code = account.referral_codes.get(prospect=prospect).code
    parameters = TrackingParameters(referral_code=code)
    record_click(account, visit=Visit(parameters=parameters), at=CLICK_CREATED_AT)
    assert_row_counts_exact(account, at=NOW)

    affiliate = scenario.create_conversion(parameters=parameters).affiliate

    assert_row_counts_exact(account, at=NOW)
    clicks = CountedList(account, Click, "affiliate", affiliate.pk)
    assert clicks.count(NOW) == (MIDNIGHT, 1, 0)


def test_merges_the_changes_of_a_day(scenario, account):
    conversions = [scenario.create_conversion(at=NOW - A_DAY) for _ in range(3)]
    assert_row_counts_exact(account, at=NOW)
    for conversion in conversions[1:]:
        scenario.delete(conversion, at=NOW)
    changes = account.daily_row_counts.filter(is_change=True, list="conversion")
    assert [change.n for change in changes] == [-1, -1]

    merge_count_changes([account])

    assert [change.n for change in changes.all()] == [-2]
    assert_row_counts_exact(account, at=NOW)


def test_stores_the_counts_of_all_long_lists_ahead(scenario, account, monkeypatch):
    for _ in range(3):
        scenario.create_conversion(at=NOW - A_DAY)
    scenario.create_click(scenario.mina, at=NOW - A_DAY)
    affiliate = account.affiliates.get(slug=scenario.mina.slug).pk
    monkeypatch.setattr(row_counts, "MAX_UNSTORED_ROWS", 2)

    store_row_counts([account], at=NOW)

    lists = set(account.daily_row_counts.values_list("list", flat=True))
    assert lists == {
        "conversion",
        f"conversion:program={scenario.program.pk}",
        f"conversion:affiliate={affiliate}",
        "conversion:commissions__status=pending",
        "commission",
        f"commission:affiliate={affiliate}",
        "commission:status=pending",
        "commission:payment__isnull=True",
    }


@pytest.mark.parametrize(
    "narrow",
    [
        lambda rows: rows.filter(affiliate=1, program=1),
        lambda rows: rows.filter(affiliate=1).filter(affiliate=2),
        lambda rows: rows.filter(Q(affiliate=1) | Q(affiliate=2)),
        lambda rows: rows.exclude(affiliate=1),
        lambda rows: rows.filter(affiliate__slug="a"),
        lambda rows: rows.filter(amount=1),
        lambda rows: rows.filter(created_at__gte=NOW),
        lambda rows: rows.filter(created_at__gt=MIDNIGHT),
        lambda rows: rows.filter(pk__in=rows.values("pk")),
        lambda rows: rows.filter(pk__in=Commission.objects.values("conversion")),
    ],
)
def test_does_not_recognize_other_conditions(account, narrow):
    rows = account.conversions.not_deleted()

    assert find_counted_list(account, rows) is not None
    assert find_counted_list(account, narrow(rows)) is None


def test_does_not_recognize_rows_of_other_kinds(account, other_account):
    """Removed rows, rows of another account, and lists that are not counted."""
    assert find_counted_list(account, account.conversions.all()) is None
    rows = other_account.conversions.not_deleted()
    assert find_counted_list(account, rows) is None
    assert find_counted_list(account, account.affiliates.not_deleted()) is None


def test_enters_the_index_after_the_stored_days(counted_list, capture_queries):
    """SQLite uses the first of two lower bounds: by the other it reads all rows."""
    with capture_queries() as executed:
        counted_list.count(NOW)

    first_bound = executed[0]["sql"].split('"created_at" >=')[1]
    assert first_bound.lstrip().startswith(("COALESCE", "(COALESCE"))
