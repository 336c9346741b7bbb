"""The worker of the inbox: what it claims, and what it leaves to others."""

import json
from contextlib import closing
from datetime import timedelta
from itertools import islice

import pytest
from django.db import InterfaceError, OperationalError
from django.db import connection as database
from django.utils import timezone

from affiliate_site.shops import processing
from affiliate_site.shops.processing import OUR_FAULT, process_due_events, receive_envelope
from payouts.services.shop_orders import OrderOutcome
from tests.program_scenario import CONVERSION_CREATED_AT
from tests.shop_inbox import list_sales
from tests.stripe_events import build_charge, build_checkout
from tracking.models.shops import ConnectionMode, ShopEventState
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.connections import create_connection
from tracking.services.inbox import (
    LEASE,
    MAX_CLAIMED_EVENTS,
    RETRY_DELAYS,
    Envelope,
    claim_events,
    store_event,
)

AT = CONVERSION_CREATED_AT
MAX_STATEMENTS = 36  # of one event, BEGIN and COMMIT among them
COUNT = MAX_CLAIMED_EVENTS + 2


def fill_inbox(account, count=COUNT):
    connection = create_connection(account, kind="stripe", at=AT)
    for number in range(count):
        envelope = Envelope(f"evt_{number}", "customer.created", AT, "{}")
        store_event(connection, envelope, at=AT + timedelta(seconds=number))


def list_due(account):
    return list(account.shop_events.order_by("id").values_list("due_at", flat=True))


def test_claims_some_events_and_the_longest_due_first(account):
    fill_inbox(account)
    later = AT + timedelta(hours=1)
    first = claim_events(account, due_before=later, at=later)
    second = claim_events(account, due_before=later, at=later)
    assert [event.key for event in first + second] == [f"evt_{number}" for number in range(COUNT)]
    assert len(first) == MAX_CLAIMED_EVENTS
    assert set(list_due(account)) == {later + LEASE}


def test_processes_all(account):
    fill_inbox(account)
    later = AT + timedelta(hours=1)
    events = list(process_due_events(due_before=later))
    assert len(events) == COUNT
    assert set(list_due(account)) == {None}


@pytest.mark.parametrize("count", [1, MAX_CLAIMED_EVENTS])
def test_a_worker_that_stops_leaves_the_rest_to_others(account, count):
    fill_inbox(account)
    later = AT + timedelta(hours=1)
    with closing(process_due_events(due_before=later)) as events:
        assert len(list(islice(events, count))) == count
    rows = account.shop_events.filter(state=ShopEventState.RECEIVED)
    assert rows.count() == COUNT - count
    assert len(list(process_due_events(due_before=later + LEASE * 10**5))) == COUNT - count


def test_accounts_take_turns(account, other_account):
    fill_inbox(account, 3 * MAX_CLAIMED_EVENTS)
    fill_inbox(other_account, 1)
    events = process_due_events(due_before=AT + timedelta(hours=1))
    first = [event.account.pk for event in islice(events, MAX_CLAIMED_EVENTS + 1)]
    assert other_account.pk in first


def test_a_sale_and_its_refund_need_few_statements(scenario, capture_queries):
    """A thousand events in a minute need it."""
    connection = create_connection(scenario.account, kind="stripe", mode=ConnectionMode.LIVE, at=AT)
    for number in range(2):
        sale = build_checkout(
            id=f"cs_{number}",
            payment_intent=f"pi_{number}",
            metadata={"referral_code": scenario.mina.code},
            customer=None,
        )
        refund = build_charge(5950, hours=1, id=f"ch_{number}", payment_intent=f"pi_{number}")
        for body in (sale, refund):
            envelope = Envelope(body["id"], body["type"], AT, json.dumps(body))
            store_event(connection, envelope, at=AT)
    counts = []
    with closing(process_due_events(due_before=timezone.now())) as events:
        for _ in range(4):
            with capture_queries() as captured:
                next(events)
            counts.append(len(captured))
    assert max(counts[2:]) <= MAX_STATEMENTS  # without what is read once
    assert len(list_sales(scenario.account)) == 2


@pytest.fixture
def failing(monkeypatch):
    """Let the database fail while an event is applied."""

    def fail(error):
        def apply(event, *, at):
            raise error

        monkeypatch.setattr(processing, "apply", apply)

    return fail


def get_attempt(account):
    columns = ("state", "result", "attempts")
    return account.shop_events.values_list(*columns).get()


@pytest.mark.parametrize(
    "error", [OperationalError("busy"), InterfaceError("closed"), ConcurrentUpdate()]
)
@pytest.mark.parametrize(
    ("age", "wait"),
    [
        (timedelta(), timedelta(minutes=1)),
        (timedelta(minutes=7), timedelta(minutes=7)),
        (timedelta(days=2), timedelta(hours=1)),
    ],
)
def test_an_error_of_the_database_counts_no_attempt(
    account, failing, time_machine, error, age, wait
):
    fill_inbox(account, 1)
    time_machine.move_to(AT + age, tick=False)
    before = get_attempt(account)
    failing(error)
    [event] = process_due_events(due_before=AT + age)
    assert event.state == ShopEventState.RECEIVED
    assert get_attempt(account) == before
    assert list_due(account) == [AT + age + wait]


def test_an_event_that_arrives_while_the_database_fails_stays_due(account, failing):
    connection = create_connection(account, kind="stripe", at=AT)
    failing(OperationalError("busy"))
    envelope = Envelope("evt_1", "customer.created", AT, "{}")
    assert receive_envelope(connection, envelope, at=AT) is not None
    assert get_attempt(account)[0::2] == (ShopEventState.RECEIVED, 0)
    assert list_due(account) == [AT + LEASE if database.vendor == "sqlite" else AT]


@pytest.mark.skipif(database.vendor != "sqlite", reason="only there the request processes it")
def test_no_worker_takes_an_event_that_the_request_processes(account, monkeypatch):
    connection = create_connection(account, kind="stripe", at=AT)
    claimed = []

    def apply(event, *, at):
        claimed.extend(claim_events(account, due_before=at, at=at))
        return OrderOutcome()

    monkeypatch.setattr(processing, "apply", apply)
    receive_envelope(connection, Envelope("evt_1", "customer.created", AT, "{}"), at=AT)
    assert claimed == []
    assert list_due(account) == [None]


def test_an_error_that_lasts_counts_attempts_and_ends(account, failing, time_machine):
    """For example more values than a statement of PostgreSQL can have."""
    fill_inbox(account, 1)
    failing(OperationalError("number of parameters must be between 0 and 65535"))
    for _ in range(len(RETRY_DELAYS) + 1):
        [due_at] = list_due(account)
        time_machine.move_to(due_at, tick=False)
        [event] = process_due_events(due_before=due_at)
    assert get_attempt(account) == (
        *(ShopEventState.FAILED, [OUR_FAULT.format(pk=event.pk)]),
        len(RETRY_DELAYS) + 1,
    )
    assert list_due(account) == [None]
