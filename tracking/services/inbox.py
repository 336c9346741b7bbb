"""The inbox of shops: an event is stored before it is processed, then with its effects.

An event that fails is tried again with delays: `accounts.services.queues`. Effects are
sentences, and data that sentences are made from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypedDict

from django.db import transaction

from accounts.models.accounts import Account
from accounts.services.queues import claim_due_rows, find_retry_time
from accounts.services.retention import delete_in_batches
from tracking.models.shops import (
    MAX_KEY_LENGTH,
    Connection,
    ShopEvent,
    ShopEventState,
    ShopOrder,
    ShopOrderReason,
)
from tracking.services.shop_mappings import reports_claims

MAX_NAMED_CODES, MAX_CODE_LENGTH = 5, 60
RETRY_DELAYS = (
    timedelta(minutes=1),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(hours=24),
)
LEASE = timedelta(minutes=5)  # of a worker that processes events
MAX_CLAIMED_EVENTS = 10  # by a worker at once, of one account
MAX_WAIT = timedelta(days=1)  # of a refund for its sale; then it is listed as failed
EVENT_RETENTION = timedelta(days=30)
SALE_NEVER_CAME = "Its sale did not arrive within a day."


class UnknownCodes(TypedDict):
    """The codes of a sale that no affiliate of the program, or of any, has.

    They are texts of the shop, such as its own ID of a customer. `more` is the number
    of those that are not named.
    """

    program: str
    codes: list[str]
    more: int


Effect = str | UnknownCodes


def list_unknown_codes(codes: list[str], *, program: str) -> UnknownCodes:
    """Return the codes as they are stored."""
    named = [code[:MAX_CODE_LENGTH] for code in codes[:MAX_NAMED_CODES]]
    return {"program": program, "codes": named, "more": len(codes) - len(named)}


def describe_effect(effect: Effect) -> str:
    """Return the sentence that staff see."""
    if isinstance(effect, str):
        return effect
    named = [f"“{code}”" for code in effect["codes"]]
    if effect["more"]:
        named.append(f"{effect['more']} more")
    listed = " or ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    program = f" of {effect['program']}" if effect["program"] else ""
    return f"Nobody referred this customer: no affiliate{program} has {listed}."


def forget_codes(effect: Effect) -> str:
    """Return the sentence without the codes."""
    return effect if isinstance(effect, str) else ShopOrderReason.NO_REFERRAL.label


@dataclass(frozen=True)
class Envelope:
    """An event as it arrived: what the shop calls it, and its body as text."""

    key: str
    kind: str
    occurred_at: datetime
    body: str


def store_event(
    connection: Connection, envelope: Envelope, *, is_leased: bool = False, at: datetime
) -> ShopEvent | None:
    """Store an event; return None if it was stored before.

    `is_leased`: the caller processes it, and no worker takes it meanwhile.
    """
    account = connection.account
    event = ShopEvent(
        account=account,
        connection=connection,
        key=envelope.key[:MAX_KEY_LENGTH],
        kind=envelope.kind[:MAX_KEY_LENGTH],
        body=envelope.body,
        is_claim=reports_claims(connection.settings),
        occurred_at=envelope.occurred_at,
        created_at=at,
        due_at=at + LEASE if is_leased else at,
    )
    unique_fields = ("account", "connection", "key")
    with transaction.atomic():
        is_new = account.shop_events.insert_or_ignore(event, unique_fields=unique_fields)
    return event if is_new else None


def claim_events(account: Account, *, due_before: datetime, at: datetime) -> list[ShopEvent]:
    """Start attempts of the events that are due longest; no other worker takes them."""
    events = claim_due_rows(
        account.shop_events.select_related("connection"),
        limit=MAX_CLAIMED_EVENTS,
        due_before=due_before,
        next_attempt=at + LEASE,
    )
    for event in events:
        event.account = event.connection.account = account
    return events


def release_events(events: Sequence[ShopEvent], *, at: datetime) -> None:
    """Let other workers take claimed events that were not processed."""
    for event in events:
        event.update_row(expected={"due_at": event.due_at}, due_at=at)


def postpone_event(event: ShopEvent, *, at: datetime) -> None:
    """Try an event later that the database was not available for: no attempt counts.

    The wait grows with the age of the event, from a minute to an hour.
    """
    shortest, _, longest, *_ = RETRY_DELAYS
    wait = min(max(at - event.created_at, shortest), longest)
    event.update_row(due_at=at + wait)


def record_event_result(
    event: ShopEvent,
    *,
    state: ShopEventState,
    effects: Sequence[Effect],
    order: ShopOrder | None = None,
    customer_key: str = "",
    can_retry: bool = False,
    at: datetime,
) -> None:
    """Record what an attempt did, and when the next one is if it failed.

    An event that is `RECEIVED` still has more to do. It is due at once, and as it was
    before, so that the worker who claims what was due by now takes it again.
    """
    attempts = event.attempts + 1
    due_at = find_retry_time(RETRY_DELAYS, attempts, at=at) if can_retry else None
    if state == ShopEventState.RECEIVED:
        attempts, due_at = event.attempts, event.created_at
    if state == ShopEventState.WAITING:
        due_at = max(event.created_at + MAX_WAIT, at)
        if at >= event.created_at + MAX_WAIT:
            state, due_at = ShopEventState.FAILED, None
            effects = [*effects, SALE_NEVER_CAME]
    event.update_row(
        state=state,
        result=list(effects),
        order=order,
        customer_key=customer_key[:MAX_KEY_LENGTH],
        attempts=min(attempts, 32_000),
        due_at=due_at,
    )


def finish_waiting_events(order: ShopOrder, *, is_clear: bool, at: datetime) -> None:
    """Mark the events that waited for the sale of an order as done.

    Unless it is clear that all could be applied, they are processed again.
    """
    rows = order.account.shop_events.filter(order=order, state=ShopEventState.WAITING)
    if not is_clear:
        rows.update(due_at=at)
        return
    rows.update(
        state=ShopEventState.DONE,
        due_at=None,
        result=["Applied when its sale arrived."],
    )


def process_again(event: ShopEvent, *, at: datetime) -> None:
    """Let an event be processed once more, as if it had just arrived.

    Why its order earned nothing is decided again.
    """
    if event.order is not None:
        event.order.update_row(reason=ShopOrderReason.PROCESSED_AGAIN)
    event.update_row(due_at=at, attempts=0)


def delete_expired_events(account: Account, *, at: datetime, dry_run: bool) -> int:
    """Delete the events that are older than `EVENT_RETENTION`."""
    expired = account.shop_events.filter(created_at__lte=at - EVENT_RETENTION)
    return delete_in_batches(expired, dry_run=dry_run)
