"""Process the events of the inbox: read what they say, and apply it."""

import json
import logging
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import connection as database
from django.db import transaction
from django.utils import timezone

from accounts.actor import ActorKind, build_actor, use_actor
from accounts.errors import DomainError
from accounts.services.queues import list_accounts_with_due_rows
from affiliate_site.shops.base import parse_body
from affiliate_site.shops.kinds import SHOPS
from payouts.services.shop_customers import erase_customer_of_shop, erase_next_of_shop
from payouts.services.shop_orders import OrderOutcome, apply_event
from payouts.shop_amounts import list_unclear
from payouts.shop_facts import EventFacts, ShopErasure, format_time, mark_received
from tracking.errors import UnreadableEvent
from tracking.models.shops import (
    MAX_KEY_LENGTH,
    Connection,
    ConnectionMode,
    ShopEvent,
    ShopEventState,
)
from tracking.services.concurrency import (
    UNAVAILABLE_ERRORS,
    ensure_transaction_usable,
    is_worth_a_retry,
)
from tracking.services.inbox import (
    Envelope,
    claim_events,
    finish_waiting_events,
    postpone_event,
    record_event_result,
    release_events,
    store_event,
)

logger = logging.getLogger(__name__)

OUR_FAULT = "The event could not be processed; see the log for “Event {pk} of a shop”."
BUSY = "The database was not available for event %s of a shop; it is tried again"
SWITCHED_OFF = "The connection is off."
LISTENS_ONLY = "Listen only, so nothing was changed. Live, this would happen:"
ODD_ID = (
    "The event does not look as expected: an ID of it is no text of at most"
    f" {MAX_KEY_LENGTH} printable characters."
)
ODD_TEXT = "The event does not look as expected: it has characters that no text has."
NUL = "\\u0000"  # as JSON has it; PostgreSQL stores none
ERASED = "The body was erased with the person."
IS_ERASING = "Personal data is being erased, as the shop asked."
ERASED_FOR_SHOP = "Personal data was erased, as the shop asked."


def receive_envelope(
    connection: Connection, envelope: Envelope, *, at: datetime
) -> ShopEvent | None:
    """Store an event; return None if it was stored before.

    The worker processes it, on the embedded database this call, unless it takes long or
    the database is busy: the event is stored, so the worker does it then.
    """
    is_slow = envelope.kind in SHOPS[connection.kind].slow_kinds
    is_processed_here = database.vendor == "sqlite" and not is_slow
    event = store_event(connection, envelope, at=at, is_leased=is_processed_here)
    if event is not None and is_processed_here:
        try:
            process_event(event, at=at)
        except UNAVAILABLE_ERRORS:
            logger.warning(BUSY, event.pk, exc_info=True)
    return event


def process_due_events(*, due_before: datetime) -> Generator[ShopEvent]:
    """Process the events of all accounts that are due; yield each one afterwards.

    The accounts take turns, so that none waits for all events of another. What is
    claimed and not processed is released when the generator is closed.
    """
    while accounts := list_accounts_with_due_rows(ShopEvent, due_before=due_before):
        for account in accounts:
            at = timezone.now()
            claimed = deque(claim_events(account, due_before=due_before, at=at))
            try:
                while claimed:
                    event = claimed.popleft()
                    try:
                        process_event(event, at=timezone.now())
                    except UNAVAILABLE_ERRORS:
                        logger.warning(BUSY, event.pk, exc_info=True)
                        postpone_event(event, at=timezone.now())
                    yield event
            finally:
                release_events(claimed, at=at)


def process_event(event: ShopEvent, *, at: datetime) -> None:
    """Process one event; what it does and that it is done are one transaction.

    One that does its work in parts is due again at once until all is done.
    Raises errors that a retry is worth (`is_worth_a_retry`), which say nothing about
    the event, and those of a database that cannot store a failure: nothing is changed.
    """
    with use_actor(build_actor(ActorKind.CONNECTION, event.connection)):
        try:
            with transaction.atomic():
                outcome = apply(event, at=at)
                facts_key = outcome.order.customer_key if outcome.order else ""
                record_event_result(
                    event,
                    state=outcome.state,
                    effects=outcome.effects,
                    order=outcome.order,
                    customer_key=facts_key or outcome.customer_key,
                    at=at,
                )
        except DomainError as error:
            fail(event, error.text, at=at)
        except Exception as error:
            if is_worth_a_retry(error):
                raise
            logger.exception("Event %s of a shop could not be processed", event.pk)
            fail(event, OUR_FAULT.format(pk=event.pk), at=at)


def apply(event: ShopEvent, *, at: datetime) -> OrderOutcome:
    """Apply an event as the mode of its connection says."""
    connection = event.connection
    if not event.body:
        return OrderOutcome(ShopEventState.IGNORED, [ERASED])
    if connection.mode == ConnectionMode.OFF:
        return OrderOutcome(ShopEventState.IGNORED, [SWITCHED_OFF])

    def read(connection: Connection) -> EventFacts:
        kind, body = event.kind, event.body
        facts = read_event(connection, kind, body, at=event.occurred_at)
        received = f"{format_time(event.created_at)} {event.pk:019}"
        return replace(
            facts,
            order=mark_received(facts.order, received, is_claim=event.is_claim),
            customer=mark_received(facts.customer, received, is_claim=event.is_claim),
            is_claim=event.is_claim,
        )

    facts = read(connection)
    if facts.erasure is not None:  # also of what was only listened to
        return erase(event, facts.erasure, at=at)
    if connection.mode == ConnectionMode.LISTEN:
        outcome = preview_event(connection, facts, reread=read, at=at)
        return OrderOutcome(
            ShopEventState.IGNORED,
            [LISTENS_ONLY, *outcome.effects],
            customer_key=outcome.customer_key,
        )
    outcome = apply_event(connection, facts, reread=read, at=at)
    if outcome.order is not None and outcome.order.conversion_id is not None:
        is_clear = not list_unclear(outcome.order.facts)
        finish_waiting_events(outcome.order, is_clear=is_clear, at=at)
    return outcome


def erase(event: ShopEvent, erasure: ShopErasure, *, at: datetime) -> OrderOutcome:
    """Erase a customer, or the next part of a whole shop."""
    if not erasure.is_whole_shop:
        erase_customer_of_shop(event.connection, erasure, at=at)
    elif erase_next_of_shop(event, at=at):
        return OrderOutcome(ShopEventState.RECEIVED, [IS_ERASING])
    event.update_row(body="")
    return OrderOutcome(effects=[ERASED_FOR_SHOP], customer_key=erasure.customer_key)


def preview_event(
    connection: Connection,
    facts: EventFacts,
    *,
    reread: Callable[[Connection], EventFacts],
    at: datetime,
) -> OrderOutcome:
    """Return what an event would do, and undo it."""
    with rolled_back():
        try:
            outcome = apply_event(connection, facts, reread=reread, at=at)
        except DomainError as error:
            ensure_transaction_usable()
            outcome = OrderOutcome(ShopEventState.FAILED, [error.text])
    outcome.order = None  # it does not exist any more
    return outcome


@contextmanager
def rolled_back() -> Iterator[None]:
    """Undo what the block does."""
    with transaction.atomic():
        point = transaction.savepoint()
        yield
        transaction.savepoint_rollback(point)


def read_event(
    connection: Connection, kind: str, body: str, *, at: datetime | None = None
) -> EventFacts:
    """Return what a stored body says. Raises `UnreadableEvent`."""
    shop = SHOPS[connection.kind]
    facts = shop.read(kind, parse_body(body), connection, at=at)
    ensure_storable(facts)
    return facts


def ensure_storable(facts: EventFacts) -> None:
    """Raise `UnreadableEvent` if an ID or a text of the facts cannot be stored."""
    for key in list_ids(facts):
        is_text = isinstance(key, str) and key.isprintable()
        if not is_text or len(key) > MAX_KEY_LENGTH:
            raise UnreadableEvent(what=ODD_ID)
    try:
        known = [facts.order, facts.customer]
        text = json.dumps(known, ensure_ascii=False, allow_nan=False)
        text.encode()  # not half of a surrogate pair
    except (TypeError, ValueError):
        raise UnreadableEvent(what=ODD_TEXT) from None
    if NUL in text:
        raise UnreadableEvent(what=ODD_TEXT)


def list_ids(facts: EventFacts) -> Iterator[Any]:
    """Yield what an event calls orders, customers and what belongs to them."""
    erased = facts.erasure or ShopErasure()
    yield from (*facts.references, facts.customer_key)
    yield from (*erased.references, erased.customer_key)
    refunds = facts.order.get("refunds", {})
    yield from refunds
    totals = facts.order.get("refund_totals", {})
    yield from (refund.get("charge", "") for refund in refunds.values())
    for fact in (*refunds.values(), *totals.values()):
        yield fact.get("payment", "")
    yield from totals
    yield from facts.order.get("disputes", {})
    yield from facts.customer.get("subscriptions", {})


def fail(event: ShopEvent, reason: str, *, at: datetime) -> None:
    """Record a failure; the event is tried again."""
    ensure_transaction_usable()
    with transaction.atomic():
        record_event_result(
            event,
            state=ShopEventState.FAILED,
            effects=[reason],
            can_retry=True,
            at=at,
        )
