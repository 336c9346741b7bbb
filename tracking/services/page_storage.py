"""How much pages may store without a key or signature (docs/tracking-trust.md).

Each call takes what it stores, rows and text, off what a link, its affiliate and the
account may still store in a day. The limits are far above honest use: a usual click
counts as a row with 500 bytes of text, a usual sale as 6 kB.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import TypeVar

from django.db import transaction

from accounts.models.accounts import Account
from accounts.services.rate_limits import add_hits, count_hits
from tracking.errors import TooMuchFromPages
from tracking.models.clicks import Click

MAX_UNSIGNED_COMMENT_LENGTH = 100
BYTES_OF_CLAIM = 4000
BYTES_OF_CLAIMED_COMMISSION = 2000  # with its transfer and its entry in the audit log
DAY = timedelta(days=1)
Stored = TypeVar("Stored")


@dataclass(frozen=True)
class StorageLimits:
    """How much calls of one kind may store in a day."""

    kind: str  # of the counters
    link: int  # an affiliate in a program
    affiliate: int
    account: int


# In rows: clicks, or further tracking ids of one. Each has 500 bytes beside its texts.
CLICKS = StorageLimits("page-clicks", 200_000, 500_000, 2_000_000)
# In bytes: beyond them clicks have no texts.
CLICK_TEXTS = StorageLimits("page-click-texts", 100_000_000, 250_000_000, 1_000_000_000)
CLAIMS = StorageLimits("page-claims", 50_000, 100_000, 500_000)  # in kilobytes


class TooMuchText(Exception):
    """The texts of a click are beyond a limit: it is stored without them."""


def take_storage(
    account: Account,
    limits: StorageLimits,
    *,
    owner: str,
    program: int,
    row_bytes: int,
    texts: Iterable[str | None],
) -> None:
    """Count what a call stores; raise `TooMuchFromPages` if a limit is exceeded.

    `owner` names the affiliate or prospect of the link. Call it at the end of the
    transaction that stores: its counters are locked until then, and a call that is
    refused takes nothing.
    """
    number = ceil((row_bytes + count_bytes(texts)) / 1000)
    if _exceeds(account, {limits: number}, owner=owner, program=program):
        raise TooMuchFromPages


def take_storage_of_click(click: Click, *, is_new: bool) -> None:
    """Count a click that was stored with a tracking id, or the tracking id alone.

    Raises `TooMuchFromPages` beyond a limit of rows, `TooMuchText` beyond one of bytes.
    """
    numbers = {CLICKS: 1}
    if is_new:
        meta_data = click.meta_data
        texts = (click.landing_page, click.referrer, click.user_agent, click.sub_id)
        size = count_bytes((*texts, *meta_data, *meta_data.values()))
        numbers |= {CLICK_TEXTS: size} if size else {}
    owner = name_owner(click.affiliate_id, click.prospect_id)
    exceeded = _exceeds(click.account, numbers, owner=owner, program=click.program_id)
    if CLICKS in exceeded:
        raise TooMuchFromPages
    if exceeded:
        raise TooMuchText


def store_click(store: Callable[[bool], Stored]) -> Stored:
    """Call `store` in a transaction: with True, or with False if the texts of its click
    are too much. It ends with `take_storage_of_click`."""
    try:
        with transaction.atomic():
            return store(True)  # noqa: FBT003 - its only argument
    except TooMuchText:
        with transaction.atomic():
            return store(False)  # noqa: FBT003


def count_bytes(texts: Iterable[str | None]) -> int:
    """The bytes of texts as they are stored."""
    return sum(len(text.encode()) for text in texts if text)


def _exceeds(
    account: Account, numbers: Mapping[StorageLimits, int], *, owner: str, program: int
) -> set[StorageLimits]:
    """Count numbers; return the limits that are exceeded. Then nothing is counted."""
    counters = {}
    for limits, number in numbers.items():
        subject = f"{limits.kind} {account.pk}"
        counters[subject] = (limits, limits.account, number)
        counters[f"{subject} {owner}"] = (limits, limits.affiliate, number)
        counters[f"{subject} {owner} {program}"] = (limits, limits.link, number)
    hits = {subject: number for subject, (*_, number) in counters.items()}
    counted = count_hits(hits, window=DAY)
    exceeded = {
        limits
        for (limits, most, _), (_, sum_of_day) in zip(counters.values(), counted, strict=True)
        if sum_of_day > most
    }
    if exceeded:  # Redis takes no part in the transaction that is rolled back
        for subject, number in hits.items():
            add_hits(subject, hits=-number)
    return exceeded


def name_owner(affiliate: int | None, prospect: int | None) -> str:
    """Name the affiliate of a link, or the prospect, for its counters."""
    return f"prospect {prospect}" if affiliate is None else f"affiliate {affiliate}"
