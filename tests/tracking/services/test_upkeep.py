"""reliability.md, sections 5 and 14: what is forgotten of attempts and of visitors."""

from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.shop import Shop
from tracking.services import upkeep
from tracking.services.upkeep import cut_traces, network, prune_attempts

HOUR = timedelta(hours=1)
OLD = NOW - timedelta(days=90)
TICK = timedelta(microseconds=1)


def attempt(account, external_id, failed_at):
    account.conversion_attempts.create(
        source="api", external_id=external_id, failed_at=failed_at, message=""
    )


@pytest.mark.parametrize("dry_run", [False, True])
def test_forgets_attempts_older_than_an_hour(account, other_account, dry_run):
    attempt(account, "old", NOW - HOUR - TICK)
    attempt(account, "young", NOW - HOUR + TICK)
    attempt(other_account, "old", NOW - HOUR - TICK)
    accounts = [account, other_account]

    forgotten = prune_attempts(accounts, at=NOW, dry_run=dry_run)

    kept = [
        list(
            it.conversion_attempts.order_by("id").values_list("external_id", flat=True)
        )
        for it in accounts
    ]
    assert forgotten == 2
    assert kept == ([["old", "young"], ["old"]] if dry_run else [["young"], []])


@pytest.mark.parametrize(
    ("address", "cut"),
    [
        ("192.0.2.7", "192.0.2.0"),
        ("192.0.2.0", "192.0.2.0"),
        ("203.0.113.255", "203.0.113.0"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
        ("2001:db8:1:2::", "2001:db8:1::"),
        ("2001:db8::1", "2001:db8::"),
        ("::1", "::"),
    ],
)
def test_cuts_an_address_to_its_network(address, cut):
    assert network(address) == cut


@pytest.fixture
def shop(account):
    return Shop(account)


def traced(shop, at, ip, agent="Harbor/1"):
    """A click, a customer and a sale that somebody made then."""
    click = shop.click(at=at)
    customer = shop.customer(f"{at} {ip}", at=at)
    sale = shop.sell("10", at=at)
    for row in (click, customer, sale):
        row.change(ip=ip, user_agent=agent)
    return click, customer, sale


def traces(rows):
    again = [it.again() for it in rows]
    return {(it.ip, it.user_agent) for it in again}


@pytest.mark.parametrize(
    ("address", "cut"),
    [
        ("192.0.2.7", "192.0.2.0"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
        ("2001:db8:1:2::", "2001:db8:1::"),
        ("2001:db8:1:2:3:4:5:0", "2001:db8:1::"),
        ("::1", "::"),
    ],
)
@pytest.mark.parametrize("agent", [None, "Harbor/1"])
def test_cuts_old_addresses_and_drops_user_agents(shop, account, address, cut, agent):
    old = traced(shop, OLD - TICK, address, agent)
    young = traced(shop, OLD + TICK, address, agent)

    done = cut_traces([account], at=NOW, dry_run=False)

    assert traces(old) == {(cut, None)}
    assert traces(young) == {(address, agent)}
    assert done == 3
    assert cut_traces([account], at=NOW, dry_run=False) == 0


def test_drops_a_user_agent_without_an_address(shop, account):
    old = traced(shop, OLD, None)

    assert cut_traces([account], at=NOW, dry_run=False) == 3
    assert traces(old) == {(None, None)}


def test_counts_what_it_would_cut(shop, account):
    old = traced(shop, OLD, "192.0.2.7")

    assert cut_traces([account], at=NOW, dry_run=True) == 3
    assert traces(old) == {("192.0.2.7", "Harbor/1")}


def test_works_in_batches(shop, account, monkeypatch):
    monkeypatch.setattr(upkeep, "BATCH", 2)
    old = [
        row
        for number in range(5)
        for row in traced(shop, OLD, f"192.0.2.{number}", f"Harbor/{number}")
    ]

    assert cut_traces([account], at=NOW, dry_run=False) == 15
    assert traces(old) == {("192.0.2.0", None)}


def test_cuts_nothing_of_accounts_that_it_is_not_given(shop, other_account):
    theirs = traced(Shop(other_account, mark="zz-marker-"), OLD, "192.0.2.7")

    cut_traces([shop.account], at=NOW, dry_run=False)

    assert traces(theirs) == {("192.0.2.7", "Harbor/1")}
