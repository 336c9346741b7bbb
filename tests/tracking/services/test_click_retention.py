"""Removal of old clicks of pages: what goes, what stays, and how much is counted."""

from datetime import UTC, datetime, timedelta

import pytest

from accounts.models.accounts import Account
from accounts.services.row_counts import CountedList
from tests.conftest import NOW
from tests.program_scenario import ProgramScenario
from tracking.attribution import TrackingParameters
from tracking.models.clicks import Click
from tracking.services import click_retention
from tracking.services.affiliates import PersonData
from tracking.services.click_retention import delete_expired_clicks
from tracking.services.clicks import Visit, record_click
from tracking.services.erasure import erase_affiliate, erase_prospect
from tracking.services.prospects import (
    ProspectData,
    create_prospect,
    promote_prospect_manually,
)
from tracking.services.visitors import record_visit

pytestmark = pytest.mark.usefixtures("shared_scenario")

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
MICROSECOND = timedelta(microseconds=1)
LIMIT = NOW - 1095 * DAY
OLD = datetime(2023, 1, 5, 10, 7, tzinfo=UTC)
SHOP = "https://shop.example.net"


def visit(scenario, at=OLD, *, code=None, page=f"{SHOP}/a?ref=x", **values):
    """Record a click of a page."""
    return record_click(
        scenario.account,
        visit=Visit(
            parameters=TrackingParameters(referral_code=code or scenario.mina.code),
            landing_page=page,
            **values,
        ),
        at=at,
        deduplicate=True,
    )


def prune(account, *, at=NOW, dry_run=False):
    account.refresh_from_db()
    return delete_expired_clicks(account, at=at, dry_run=dry_run)


def list_counts(account):
    rows = account.pruned_click_counts.order_by("quarter", "landing_page", "pk")
    return list(rows.values_list("quarter", "landing_page", "referrer_host", "sub_id", "clicks"))


def test_removes_clicks_of_pages_after_the_days_of_the_account(scenario, account):
    visit(scenario, LIMIT - MICROSECOND)
    kept = visit(scenario, LIMIT, ip="192.0.2.1")

    assert prune(account) == 1
    assert account.clicks.get() == kept

    Account.objects.filter(pk=account.pk).update(click_days=400)
    assert prune(account) == 1
    assert account.clicks.count() == 0


def test_counts_by_quarter_page_host_and_sub_id(scenario, account):
    for number, second in enumerate((0, 1, 8 * 60 - 1, 8 * 60)):
        visit(
            scenario,
            OLD + second * SECOND,
            ip=f"192.0.2.{number}",
            page=f"{SHOP}/a?sub_id=news&n={number}#top",
            referrer="https://Blog.Example.net:8000/post?mail=a@b.example",
        )
    visit(scenario, OLD, ip="192.0.2.9", page=None)
    visit(scenario, OLD, ip="192.0.2.10", page=f"{SHOP}/a#?sub_id=x", referrer="x")

    assert prune(account) == 6

    first, second = (datetime(2023, 1, 5, 10, n, tzinfo=UTC) for n in (0, 15))
    named = (f"{SHOP}/a", "blog.example.net", "news")
    assert sorted(list_counts(account), key=str) == [
        (first, *named, 3),
        (first, f"{SHOP}/a", None, None, 1),
        (first, None, None, None, 1),
        (second, *named, 1),
    ]
    row = account.pruned_click_counts.first()
    assert (row.program, row.affiliate) == (scenario.program, scenario.mina.affiliate)


def test_keeps_clicks_that_something_names_or_that_came_with_a_key(scenario, account):
    clicks = [visit(scenario, OLD, ip=f"192.0.2.{n}") for n in range(4)]
    scenario.create_customer("buyer").update_row(click=clicks[0])
    sale = scenario.create_conversion("10")
    sale.update_row(click=clicks[1])
    account.conversion_claims.create(
        conversion=sale,
        program=scenario.program,
        affiliate=scenario.mina.affiliate,
        click=clicks[2],
        amount=10,
        currency="EUR",
    )
    with_key = scenario.create_click(at=OLD)

    assert prune(account) == 1
    assert set(account.clicks.all()) == {*clicks[:3], with_key}


def test_removes_the_tracking_ids_of_the_clicks(scenario, account):
    """Else a visitor who comes back through an invalid link kept a click for good."""
    vid = record_visit(
        account,
        visit=Visit(TrackingParameters(referral_code=scenario.mina.code)),
        previous_tracking_id=None,
        at=OLD,
    ).tracking_id
    record_visit(
        account,
        visit=Visit(TrackingParameters(referral_code="nobody")),
        previous_tracking_id=vid,
        at=NOW - DAY,
    )
    assert account.visitors.count() == 2

    assert prune(account) == 1
    assert not account.visitors.exists()


def test_leaves_other_accounts_alone(scenario, account, other_account):
    other = ProgramScenario(other_account, prefix="zz-")
    visit(scenario)
    visit(other)

    assert prune(account) == 1
    assert other_account.clicks.count() == 1
    assert not other_account.pruned_click_counts.exists()


def test_dry_run_counts_only(scenario, account):
    visit(scenario)
    scenario.create_customer("buyer").update_row(click=visit(scenario, ip="192.0.2.1"))

    assert prune(account, dry_run=True) == 1
    assert account.clicks.count() == 2
    assert account.clicks_pruned_until is None
    assert prune(account) == 1
    assert prune(account) == 0


def test_keeps_the_row_counts_of_lists(scenario, account, monkeypatch):
    monkeypatch.setattr("accounts.services.row_counts.MAX_UNSTORED_ROWS", 0)
    for number in range(3):
        visit(scenario, OLD + number * DAY)
    scenario.create_click(at=OLD)
    lists = [
        CountedList(account, Click),
        CountedList(account, Click, "affiliate", scenario.mina.affiliate.pk),
        CountedList(account, Click, "program", scenario.program.pk),
    ]
    for each in lists:
        assert each.count(NOW).later == 4
        assert each.count(NOW)[1:] == (4, 0)

    prune(account)

    assert [each.count(NOW)[1:] for each in lists] == [(1, 0)] * 3


def test_goes_on_after_an_end_between_batches(scenario, account, monkeypatch):
    """Within a quarter of an hour, with clicks of one moment, and known texts."""
    monkeypatch.setattr(click_retention, "DELETE_BATCH_SIZE", 2)
    monkeypatch.setattr(click_retention, "MAX_CHARACTERS", 300)
    for number in range(14):
        visit(
            scenario,
            OLD + number // 6 * SECOND,
            ip=f"192.0.2.{number}",
            page=f"{SHOP}/{number % 7}",
        )
    scenario.create_click(at=OLD)
    whole = {f"{SHOP}/{number}": 2 for number in range(7)}
    store = click_retention._store_position
    for batches in (1, 2, 1):
        calls = []

        def fail_later(*args, calls=calls, batches=batches):
            calls.append(args)
            if len(calls) > batches:
                raise KeyboardInterrupt
            store(*args)

        monkeypatch.setattr(click_retention, "_store_position", fail_later)
        with pytest.raises(KeyboardInterrupt):
            prune(account)
        monkeypatch.setattr(click_retention, "_store_position", store)
    assert 1 < account.clicks.count() < 14

    prune(account)

    assert account.clicks.count() == 1
    assert {row[1]: row[4] for row in list_counts(account)} == whole


def test_counts_apart_a_bounded_number_of_texts(scenario, account, monkeypatch):
    """Unlimited sub-IDs leave the hosts and pages, unlimited hosts the pages."""
    monkeypatch.setattr(click_retention, "MAX_CHARACTERS", 500)
    number = 0
    for sub_id in (f"s{n}" for n in range(20)):
        number += 1
        page, ip = f"{SHOP}/a?sub_id={sub_id}", f"192.0.2.{number}"
        visit(scenario, OLD, ip=ip, page=page, referrer="https://blog.example")
    for host in (f"https://h{n}.example" for n in range(20)):
        number += 1
        page, ip = f"{SHOP}/a?sub_id=late", f"192.0.2.{number}"
        visit(scenario, OLD, ip=ip, page=page, referrer=host)
    for page in (f"{SHOP}/p{n}" for n in range(20)):
        number += 1
        visit(scenario, OLD, ip=f"192.0.2.{number}", page=page)
    visit(scenario, OLD, ip="192.0.2.100", page=None)
    next_day = visit(scenario, OLD + DAY, page=f"{SHOP}/next")

    assert prune(account) == 62

    counts = {row[1:4]: row[4] for row in list_counts(account)}
    pages = [f"{SHOP}/a", f"{SHOP}/p0", "", None, next_day.landing_page]
    by_page = dict.fromkeys(pages, 0)
    for (page, _, _), clicks in counts.items():
        by_page[page] = by_page.get(page, 0) + clicks
    assert sum(counts.values()) == 62
    assert len(counts) <= 3 * 5 + 8
    assert by_page[f"{SHOP}/a"] == 40
    assert counts[f"{SHOP}/a", "blog.example", "s4"] == 1
    assert counts[f"{SHOP}/a", "blog.example", ""] == 15
    assert by_page[f"{SHOP}/p0"] == 1
    assert by_page[""] > 0
    assert by_page[None] == by_page[f"{SHOP}/next"] == 1


def test_long_texts_take_more_of_the_room(scenario, account):
    for number in range(30):
        page = f"{SHOP}/{number}/" + "x" * 1500
        visit(scenario, OLD, ip=f"192.0.2.{number}", page=page)

    prune(account)

    texts = [page for _, page, *_ in list_counts(account)]
    assert sum(map(len, texts)) < 3 * 10_000 + 2_000
    assert sum(row[4] for row in list_counts(account)) == 30


@pytest.mark.parametrize("size", [20, 60])
def test_each_batch_takes_as_many_statements(scenario, account, monkeypatch, capture_queries, size):
    monkeypatch.setattr(click_retention, "DELETE_BATCH_SIZE", size)
    for number in range(size):
        visit(
            scenario,
            OLD + number * 7 * 60 * SECOND,
            ip=f"192.0.2.{number}",
            page=f"{SHOP}/{number % 3}",
        )
    account.refresh_from_db()

    with capture_queries() as queries:
        assert delete_expired_clicks(account, at=NOW, dry_run=False) == size

    assert len([each for each in queries if "SAVEPOINT" not in each["sql"]]) < 25


def test_two_removals_at_once_count_each_click_once(scenario, account, monkeypatch):
    """A second one begins while the first one is between two batches."""
    monkeypatch.setattr(click_retention, "DELETE_BATCH_SIZE", 2)
    for number in range(7):
        visit(scenario, OLD + number * SECOND, ip=f"192.0.2.{number}")
    forget, results = click_retention.CountedTexts.forget_before, []

    def remove_meanwhile(self, day):
        monkeypatch.setattr(click_retention.CountedTexts, "forget_before", forget)
        results.append(prune(Account.objects.get(pk=account.pk)))

    monkeypatch.setattr(click_retention.CountedTexts, "forget_before", remove_meanwhile)
    results.append(delete_expired_clicks(account, at=NOW, dry_run=False))

    assert results == [5, 2]
    assert [row[4] for row in list_counts(account)] == [7]
    account.refresh_from_db()
    assert account.clicks_pruned_until == OLD + 6 * SECOND


@pytest.fixture
def prospect(scenario, account):
    person = PersonData(firstname="Ida", lastname="Roth", email="ida@notes.example")
    data = ProspectData(person, program_id=scenario.program.slug)
    return create_prospect(account, data=data, at=OLD - DAY)


def test_counts_of_a_prospect_are_those_of_its_affiliate(scenario, account, prospect):
    code = account.referral_codes.get(prospect=prospect).code
    visit(scenario, code=code)
    prune(account)
    assert account.pruned_click_counts.get().affiliate is None

    enrollment = promote_prospect_manually(account, public_id=prospect.public_id, at=NOW)

    assert account.pruned_click_counts.get().affiliate == enrollment.affiliate
    assert account.stale_days.filter(day=OLD.date()).exists()


def test_erasure_clears_what_counts_have_of_the_affiliate(scenario, account, prospect):
    code = account.referral_codes.get(prospect=prospect).code
    values = {"referrer": "https://mina.example", "page": f"{SHOP}/a?sub_id=mina"}
    visit(scenario, **values)
    visit(scenario, code=code, **values)
    prune(account)

    erase_affiliate(account, scenario.mina.affiliate)
    assert [row[1:4] for row in list_counts(account)] == [
        (f"{SHOP}/a", None, None),
        (f"{SHOP}/a", "mina.example", "mina"),
    ]
    erase_prospect(account, prospect)
    assert {row[1:4] for row in list_counts(account)} == {(f"{SHOP}/a", None, None)}


def test_a_click_of_an_erased_affiliate_brings_nothing_back(scenario, account):
    visit(scenario, referrer="https://mina.example", page=f"{SHOP}/a?sub_id=mina")
    erase_affiliate(account, scenario.mina.affiliate)
    prune(account)
    assert [row[1:4] for row in list_counts(account)] == [(f"{SHOP}/a", None, None)]
