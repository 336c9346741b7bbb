"""How much pages may store without a key or signature (docs/tracking-trust.md).

Each call takes what it stores, rows and text, off what a link, its affiliate and the
account may still store in a day. The limits are far above honest use: a usual click
counts as 1 kB, a usual sale as 6 kB.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from accounts.models.accounts import Account
from accounts.services.rate_limits import count_hits
from tracking.errors import TooMuchFromPages
from tracking.models.clicks import Click

MAX_UNSIGNED_COMMENT_LENGTH = 100
BYTES_OF_CLICK = 500  # with its tracking id, beside its texts
BYTES_OF_CLAIM = 4000
BYTES_OF_CLAIMED_COMMISSION = 2000  # with its transfer and its entry in the audit log
DAY = timedelta(days=1)


@dataclass(frozen=True)
class StorageLimits:
    """Kilobytes a day that calls of one kind may store."""

    kind: str  # of the counters
    link: int  # an affiliate in a program
    affiliate: int
    account: int


CLICKS = StorageLimits("page-clicks", 200_000, 500_000, 2_000_000)
CLAIMS = StorageLimits("page-claims", 50_000, 100_000, 500_000)


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
    size = row_bytes + sum(len(text.encode()) for text in texts if text)
    number = ceil(size / 1000)
    subject = f"{limits.kind} {account.pk}"
    subjects = (subject, f"{subject} {owner}", f"{subject} {owner} {program}")
    counted = count_hits(dict.fromkeys(subjects, number), window=DAY)
    allowed = (limits.account, limits.affiliate, limits.link)
    if any(hits > most for (_, hits), most in zip(counted, allowed, strict=True)):
        raise TooMuchFromPages


def take_storage_of_click(click: Click, *, is_new: bool) -> None:
    """Count a click that was stored with a tracking id, or the tracking id alone."""
    meta_data = click.meta_data if is_new else {}
    texts = (click.landing_page, click.referrer, click.user_agent) if is_new else ()
    take_storage(
        click.account,
        CLICKS,
        owner=name_owner(click.affiliate_id, click.prospect_id),
        program=click.program_id,
        row_bytes=BYTES_OF_CLICK,
        texts=(*texts, *meta_data, *meta_data.values()),
    )


def name_owner(affiliate: int | None, prospect: int | None) -> str:
    """Name the affiliate of a link, or the prospect, for its counters."""
    return f"prospect {prospect}" if affiliate is None else f"affiliate {affiliate}"
