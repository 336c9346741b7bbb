"""Spellings of order IDs: staff type `1288`, `order #1288` or `order-1288`, the shop
`ORDER-1288`.

The index of order IDs finds beginnings as they are written. So a search takes the case
of what stands before the number, or all of it, from recent orders.
"""

import re

from accounts.models.accounts import Account

RECENT_CONVERSIONS = 50  # whose order IDs show how the shop begins them
MAX_PREFIXES = 3
MAX_EXACT_ORDERS = 100  # of one ID: all but one are deleted, as a rule
PREFIX_PATTERN = re.compile(r"[^0-9]{1,32}(?=[0-9])")
# What staff write before an order ID: `order `, `#`, `Order no. `.
LEADING_WORDS_PATTERN = re.compile(
    r"\A(?:(?:order|number|no|id)(?:[.:]|\b)\s*)*#?\s*(?=\w)", re.IGNORECASE
)


def list_order_terms(account: Account, term: str) -> list[str]:
    """Return the beginnings of order IDs that a search term may stand for.

    Words before the ID, such as `order #`, are left out unless an ID begins with them.
    """
    without_words = LEADING_WORDS_PATTERN.sub("", term, count=1)
    if without_words != term and not _has_order(account, term):
        term = without_words
    spellings = (_spell(term, prefix) for prefix in _list_prefixes(account))
    return list(dict.fromkeys([term, *filter(None, spellings)]))


def list_exact_orders(account: Account, term: str) -> list[int]:
    """Return the conversions with this whole order ID, deleted ones too."""
    rows = account.conversions.filter(external_id__in=list_order_terms(account, term))
    return list(rows.values_list("pk", flat=True)[:MAX_EXACT_ORDERS])


def _has_order(account: Account, beginning: str) -> bool:
    return account.conversions.filter(external_id__begins_with=beginning).exists()


def _spell(term: str, prefix: str) -> str:
    """Write a term with this prefix, in its case if the term begins with it.

    Empty for another word of letters alone: that is a name, no part of an ID.
    """
    length = min(len(term), len(prefix))
    if term[:length].casefold() == prefix[:length].casefold():
        return prefix[:length] + term[length:]
    return "" if term.isalpha() else prefix + term


def _list_prefixes(account: Account) -> list[str]:
    """Return what stands before the first digit of recent order IDs."""
    rows = account.conversions.order_by("-created_at", "-id")
    recent = rows.values_list("external_id", flat=True)[:RECENT_CONVERSIONS]
    matches = [PREFIX_PATTERN.match(external_id or "") for external_id in recent]
    prefixes = dict.fromkeys(match[0] for match in matches if match)
    return list(prefixes)[:MAX_PREFIXES]
