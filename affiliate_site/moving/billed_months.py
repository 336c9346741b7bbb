"""What an import adds to months that self-billing documents have billed already.

Downloads of statements are not recorded: only a document says what an affiliate has.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from accounts.models.accounts import Account
from payouts.services.documents import find_billed_months

Added = tuple[str, str, int]  # ID of the affiliate, month as `2026-03`, number of rows


def list_added(account: Account, rows: Iterable[tuple[int, datetime]]) -> list[Added]:
    """Count the rows, as primary key of the affiliate and time, in billed months."""
    counts = Counter((pk, account.get_day(at).strftime("%Y-%m")) for pk, at in rows if pk)
    billed = find_billed_months(account, {pk for pk, _ in counts})
    affiliates = account.affiliates.in_bulk({pk for pk, _ in billed})
    return sorted(
        (affiliates[pk].slug, month, count)
        for (pk, month), count in counts.items()
        if (pk, month) in billed
    )


def describe_added(texts: str) -> str:
    """Return the sentence about affiliates and months."""
    return (
        f"Documents were issued for these months already: {texts}. What is added there"
        " is not in them."
    )


def format_added(added: Added) -> str:
    """`minakessler 2026-03 (2)`."""
    slug, month, count = added
    return f"{slug} {month} ({count:,})"
