"""Retention of attempts and visitor data (docs/reliability.md, section 8)."""

from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.program_scenario import ProgramScenario
from tracking.attribution import TrackingParameters
from tracking.services import retention
from tracking.services.clicks import Visit
from tracking.services.retention import (
    anonymize_ip,
    anonymize_visitor_data,
    delete_expired_attempts,
    delete_expired_visitors,
)
from tracking.services.visitors import record_visit

pytestmark = pytest.mark.usefixtures("shared_scenario")

HOUR = timedelta(hours=1)
OLD = NOW - timedelta(days=90)
MICROSECOND = timedelta(microseconds=1)


def make_attempt(account, external_id, failed_at):
    account.conversion_attempts.create(
        origin="api", external_id=external_id, failed_at=failed_at, reason=""
    )


@pytest.mark.parametrize("dry_run", [False, True])
def test_deletes_attempts_older_than_a_month(account, other_account, dry_run):
    make_attempt(account, "old", NOW - 720 * HOUR)
    make_attempt(account, "recent", NOW - 720 * HOUR + MICROSECOND)
    make_attempt(other_account, "old", NOW - 720 * HOUR - MICROSECOND)
    accounts = [account, other_account]

    counts = [delete_expired_attempts(each, at=NOW, dry_run=dry_run) for each in accounts]

    remaining = [
        [attempt.external_id for attempt in each.conversion_attempts.order_by("id")]
        for each in accounts
    ]
    assert counts == [1, 1]
    assert remaining == ([["old", "recent"], ["old"]] if dry_run else [["recent"], []])


def list_tracking_ids(account):
    return set(account.visitors.values_list("tracking_id", flat=True))


@pytest.mark.parametrize("dry_run", [False, True])
def test_deletes_visitors_400_days_after_their_id_was_issued(
    scenario, account, other_account, dry_run
):
    """A visit through an invalid link issues a new id for the click of the old one."""
    limit = NOW - timedelta(days=400)
    click = scenario.create_click(at=limit - HOUR)
    for age in (MICROSECOND, 0 * MICROSECOND, -MICROSECOND):
        account.visitors.create(tracking_id=f"{limit - age}", click=click, created_at=limit - age)
    foreign = ProgramScenario(other_account, prefix="zz-marker-").create_click()
    other_account.visitors.create(tracking_id="f", click=foreign, created_at=limit)
    parameters = TrackingParameters(referral_code="unknown")
    renewed = record_visit(
        account,
        visit=Visit(parameters=parameters),
        previous_tracking_id=f"{limit}",
        at=limit + HOUR,
    ).tracking_id
    before = list_tracking_ids(account)

    count = delete_expired_visitors(account, at=NOW, dry_run=dry_run)

    assert count == 2
    recent = {f"{limit + MICROSECOND}", renewed}
    assert list_tracking_ids(account) == (before if dry_run else recent)
    assert account.visitors.get(tracking_id=renewed).click == click
    assert list_tracking_ids(other_account) == {"f"}


def test_deletes_visitors_in_batches(scenario, account, monkeypatch, capture_queries):
    monkeypatch.setattr("accounts.services.retention.DELETE_BATCH_SIZE", 2)
    click = scenario.create_click(at=NOW - timedelta(days=500))
    for number in range(5):
        account.visitors.create(tracking_id=f"{number}", click=click, created_at=click.created_at)

    with capture_queries() as queries:
        assert delete_expired_visitors(account, at=NOW, dry_run=False) == 5

    deletions = [query for query in queries if query["sql"].startswith("DELETE")]
    assert len(deletions) == 3
    assert account.clicks.count() == 1


NETWORKS = {
    "192.0.2.7": "192.0.2.0",
    "192.0.2.0": "192.0.2.0",
    "203.0.113.255": "203.0.113.0",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1::",
    "2001:db8:1:2::": "2001:db8:1::",
    "2001:db8:1:2:3:4:5:0": "2001:db8:1::",
    "2001:db8::1": "2001:db8::",
    "::1": "::",
}


@pytest.mark.parametrize(("ip", "network"), NETWORKS.items(), ids=NETWORKS)
def test_truncates_an_address_to_its_network(ip, network):
    assert anonymize_ip(ip) == network


def make_visitor_rows(scenario, at, ip, user_agent="Harbor/1"):
    """Create a click, a customer and a conversion with this visitor data."""
    click = scenario.create_click(at=at)
    customer = scenario.create_customer(f"{at} {ip}", at=at)
    conversion = scenario.create_conversion("10", at=at)
    for row in (click, customer, conversion):
        row.update_row(ip=ip, user_agent=user_agent)
    return click, customer, conversion


def list_visitor_data(rows):
    reloaded = [row.reload() for row in rows]
    return {(row.ip, row.user_agent) for row in reloaded}


@pytest.mark.parametrize("ip", [ip for ip in NETWORKS if NETWORKS[ip] != ip])
@pytest.mark.parametrize("user_agent", [None, "Harbor/1"])
def test_anonymizes_old_addresses_and_user_agents(scenario, account, ip, user_agent):
    old = make_visitor_rows(scenario, OLD, ip, user_agent)
    recent = make_visitor_rows(scenario, OLD + MICROSECOND, ip, user_agent)

    count = anonymize_visitor_data(account, at=NOW, dry_run=False)

    assert list_visitor_data(old) == {(NETWORKS[ip], None)}
    assert list_visitor_data(recent) == {(ip, user_agent)}
    assert count == 3
    assert anonymize_visitor_data(account, at=NOW, dry_run=False) == 0


def test_removes_user_agents_without_address(scenario, account):
    old = make_visitor_rows(scenario, OLD, None)

    assert anonymize_visitor_data(account, at=NOW, dry_run=False) == 3
    assert list_visitor_data(old) == {(None, None)}


def test_dry_run_counts_rows(scenario, account):
    old = make_visitor_rows(scenario, OLD, "192.0.2.7")

    assert anonymize_visitor_data(account, at=NOW, dry_run=True) == 3
    assert list_visitor_data(old) == {("192.0.2.7", "Harbor/1")}


def test_anonymizes_in_batches(scenario, account, monkeypatch):
    monkeypatch.setattr(retention, "DELETE_BATCH_SIZE", 2)
    old = [
        row
        for number in range(5)
        for row in make_visitor_rows(scenario, OLD, f"192.0.2.{number}", f"Harbor/{number}")
    ]

    assert anonymize_visitor_data(account, at=NOW, dry_run=False) == 15
    assert list_visitor_data(old) == {("192.0.2.0", None)}


def test_keeps_visitor_data_as_many_days_as_the_account_says(scenario, account):
    account.visitor_data_days = 30
    old = make_visitor_rows(scenario, NOW - timedelta(days=30), "192.0.2.7")
    recent = make_visitor_rows(scenario, NOW - timedelta(days=29), "192.0.2.7")

    assert anonymize_visitor_data(account, at=NOW, dry_run=False) == 3
    assert list_visitor_data(old) == {("192.0.2.0", None)}
    assert list_visitor_data(recent) == {("192.0.2.7", "Harbor/1")}


def test_anonymizes_in_one_pass(scenario, account, monkeypatch, capture_queries):
    """Rows of one moment, too, are read once; a batch writes them by one statement."""
    monkeypatch.setattr(retention, "DELETE_BATCH_SIZE", 2)
    clicks = [scenario.create_click(at=OLD - HOUR * (n // 3)) for n in range(7)]
    for number, click in enumerate(clicks):
        click.update_row(ip=f"198.51.{number}.7", user_agent="Harbor/1")

    with capture_queries() as queries:
        assert anonymize_visitor_data(account, at=NOW, dry_run=False) == 7

    assert [each.reload().ip for each in clicks] == [f"198.51.{number}.0" for number in range(7)]
    updates = [each for each in queries if each["sql"].startswith("UPDATE")]
    assert len(updates) == 4
    assert not account.clicks.exclude(user_agent=None).exists()


def test_anonymizes_only_the_given_accounts(scenario, other_account):
    foreign = make_visitor_rows(
        ProgramScenario(other_account, prefix="zz-marker-"), OLD, "192.0.2.7"
    )

    anonymize_visitor_data(scenario.account, at=NOW, dry_run=False)

    assert list_visitor_data(foreign) == {("192.0.2.7", "Harbor/1")}
