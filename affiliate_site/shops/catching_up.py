"""Read what was missed from the shop itself, and store it in the inbox.

Time is read in windows, the oldest first. One that has more than a page is read again
in smaller ones, so that `Connection.caught_up_until` advances whatever interrupts it.
What was stored before is not stored again.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic, sleep
from typing import Any

from django.utils import timezone

from accounts.decimals import parse_decimal
from accounts.errors import InvalidUrl
from accounts.url_safety import split_url
from affiliate_site.safe_http import FetchedResponse, RequestFailed, fetch
from affiliate_site.shops.base import ODDITIES, OddValue, describe
from affiliate_site.shops.processing import receive_envelope
from affiliate_site.shops.sources import SOURCES, ShopSource, Window
from tracking.errors import CatchUpFailed
from tracking.models.shops import Connection, ConnectionKind, ConnectionMode
from tracking.services.inbox import Envelope

A_DAY, A_SECOND = timedelta(days=1), timedelta(seconds=1)
OVERLAP = timedelta(minutes=5)  # clocks differ, and shops list late
RETRY_DELAYS = (2.0, 10.0, 30.0)  # seconds, if the shop is busy
MAX_WAIT_SECONDS = 120.0  # that a shop may ask for
TIMEOUT_SECONDS = 10.0  # of a request
MAX_PAGE_BYTES = 16_000_000
MAX_PAGES = 100  # of the smallest window

NOT_POSSIBLE = (
    "A shop of the kind {kind} cannot be caught up with: send its events again from there."
)
IS_OFF = "The connection is off: switch it on before you catch up."
NO_KEY = "Set the key that reads from the shop before you catch up."
NO_ADDRESS = "Set the address of the shop before you catch up."
WRONG_KEY = (
    "The shop refuses the key ({status}): set one of this shop with the permission “{permission}”."
)
NOT_THERE = "There is no {kind} at {host}: check the address of the shop."
LEADS_ELSEWHERE = "The address of the shop leads to {location}: set that one if it is yours."
NO_JSON = "The shop answered no JSON: check its address."
UNREACHABLE = "The shop could not be read: {reason}."
BUSY = "The shop is busy, it answered {status}: try again later."
ASKS_TO_WAIT = "The shop asks to wait for {seconds:.0f} seconds: go on then."
ODD = "The answer of the shop does not look as expected: {what}."
TOO_MANY = "The shop lists too many events of one second."


@dataclass
class CatchUp:
    """What was read; `until` is up to when nothing is missing."""

    since: datetime
    until: datetime
    read: int = 0
    new: int = 0
    is_complete: bool = False


@dataclass(frozen=True)
class Pace:
    """How long a run may take, and how it waits for a busy shop."""

    delays: Sequence[float] = RETRY_DELAYS
    wait: Callable[[float], None] = sleep
    seconds: float = float("inf")  # no further request begins after these


def catch_up(
    connection: Connection,
    *,
    at: datetime,
    since: datetime | None = None,
    pace: Pace | None = None,
) -> CatchUp:
    """Store what the shop lists since a time, by default where the last run ended.

    A later `since` leaves no gap: it begins where the last run ended. Raises
    `CatchUpFailed`; what was stored until then counts.
    """
    source, pace = get_source(connection), pace or Pace()
    at = at.replace(microsecond=0)
    deadline = monotonic() + pace.seconds
    start = choose_start(connection, source, since=since, at=at)
    result, length = CatchUp(since=start, until=start), A_DAY
    while start < at:
        window = Window(start, min(start + length, at))
        if monotonic() >= deadline:
            return result
        if not read_window(connection, source, window, result, pace):
            length = max(timedelta(seconds=length.total_seconds() // 4), A_SECOND)
            continue
        start, length = window.end, length * 2
        result.until = start
        connection.update_row(caught_up_until=start)
    result.is_complete = True
    return result


def get_source(connection: Connection) -> ShopSource:
    """Return how the shop is read; raise `CatchUpFailed` if it cannot be."""
    source, kind = SOURCES.get(connection.kind), connection.get_kind_display()
    if source is None:
        raise CatchUpFailed(what=NOT_POSSIBLE.format(kind=kind))
    if connection.mode == ConnectionMode.OFF:
        raise CatchUpFailed(what=IS_OFF)
    if not connection.source_key:
        raise CatchUpFailed(what=NO_KEY)
    needs_address = connection.kind != ConnectionKind.STRIPE
    if needs_address and not connection.settings.get("shop_url"):
        raise CatchUpFailed(what=NO_ADDRESS)
    return source


def choose_start(
    connection: Connection, source: ShopSource, *, since: datetime | None, at: datetime
) -> datetime:
    """Return where a run begins, in whole seconds of UTC."""
    until = connection.caught_up_until
    start = until - OVERLAP if until else connection.created_at
    if since is not None:
        start = min(since, start) if until else since
    if source.max_age is not None:
        start = max(start, at - source.max_age)
    return min(start, at).astimezone(UTC).replace(microsecond=0)


def read_window(
    connection: Connection,
    source: ShopSource,
    window: Window,
    result: CatchUp,
    pace: Pace,
) -> bool:
    """Store what a window has; return whether that was all of it."""
    cursor = ""
    for _ in range(MAX_PAGES):
        url = source.build_url(connection, window, cursor)
        response = call(connection, source, url, pace)
        envelopes, cursor = read_page(source, response, cursor)
        result.read += len(envelopes)
        for envelope in envelopes:
            event = receive_envelope(connection, envelope, at=timezone.now())
            result.new += event is not None
        if not cursor:
            return True
        if window.end - window.start > A_SECOND:
            return False
    raise CatchUpFailed(what=TOO_MANY)


def read_page(
    source: ShopSource, response: FetchedResponse, cursor: str
) -> tuple[list[Envelope], str]:
    """Return the events of a page, and the cursor of the next one."""
    try:
        answer = json.loads(response.content, parse_float=parse_decimal)
    except (ValueError, RecursionError):
        raise CatchUpFailed(what=NO_JSON) from None
    try:
        items = source.list_items(answer)
        next_cursor = source.find_cursor(answer, response.headers, items, cursor)
        envelopes = [source.identify(item) for item in items]
        if not all((each.key + each.kind).isprintable() for each in envelopes):
            raise OddValue("an ID is no text")
    except (*ODDITIES, OSError) as error:
        raise CatchUpFailed(what=ODD.format(what=describe(error))) from error
    return envelopes, next_cursor


def call(
    connection: Connection,
    source: ShopSource,
    url: str,
    pace: Pace,
    *,
    permission: str = "",
) -> FetchedResponse:
    """Return an answer of the shop; wait if it is busy. Raises `CatchUpFailed`.

    `permission` is what the key needs, if that is not the permission of the source.
    """
    headers = [
        ("Accept", "application/json"),
        ("User-Agent", "affiliate-service"),
        *source.build_headers(connection.source_key),
    ]
    for delay in (*pace.delays, None):
        try:
            response = fetch(
                url,
                headers=headers,
                timeout_seconds=TIMEOUT_SECONDS,
                max_bytes=MAX_PAGE_BYTES,
            )
        except InvalidUrl as error:
            raise CatchUpFailed(what=error.text) from error
        except RequestFailed as error:
            reason = str(error).rstrip(".")
            raise CatchUpFailed(what=UNREACHABLE.format(reason=reason)) from error
        if response.status != 429 and response.status < 500:
            break
        seconds = read_retry_after(response)
        if seconds > MAX_WAIT_SECONDS or (seconds and delay is None):
            raise CatchUpFailed(what=ASKS_TO_WAIT.format(seconds=seconds))
        if delay is None:
            raise CatchUpFailed(what=BUSY.format(status=response.status))
        pace.wait(max(delay, seconds))
    ensure_accepted(connection, response, url, permission or source.permission)
    return response


def read_retry_after(response: FetchedResponse) -> float:
    """Return the seconds that the shop asks to wait for; 0 if it names none."""
    text: Any = response.headers.get("retry-after", "")
    try:
        seconds = float(text)
    except ValueError:  # a date, or nothing
        return 0.0
    return seconds if 0 < seconds < 1_000_000 else 0.0


def ensure_accepted(
    connection: Connection, response: FetchedResponse, url: str, permission: str
) -> None:
    """Raise `CatchUpFailed` unless the shop answered 200."""
    status = response.status
    if status == 200:
        return
    if status in (401, 403):
        text = WRONG_KEY.format(status=status, permission=permission)
        raise CatchUpFailed(what=text)
    if 300 <= status < 400:
        location = response.headers.get("location", "another page")[:200]
        raise CatchUpFailed(what=LEADS_ELSEWHERE.format(location=location))
    if status == 404:
        kind, host = connection.get_kind_display(), split_url(url).hostname
        raise CatchUpFailed(what=NOT_THERE.format(kind=kind, host=host))
    raise CatchUpFailed(what=UNREACHABLE.format(reason=f"it answered {status}"))
