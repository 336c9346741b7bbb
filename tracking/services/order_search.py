"""Spellings of order IDs: staff type `1288` or `order-1288`, the shop `ORDER-1288`.

The index of order IDs finds beginnings as they are written. So a search takes the case
of what stands before the number, or all of it, from recent orders.
"""

import re

from accounts.models.accounts import Account

RECENT_CONVERSIONS = 50  # whose order IDs show how the shop begins them
MAX_PREFIXES = 3
PREFIX_PATTERN = re.compile(r"[^0-9]{1,32}(?=[0-9])")


def list_order_terms(account: Account, term: str) -> list[str]:
    """Return the beginnings of order IDs that a search term may stand for."""
    spellings = (_spell(term, prefix) for prefix in _list_prefixes(account))
    return list(dict.fromkeys([term, *filter(None, spellings)]))


def _spell(term: str, prefix: str) -> str:
    """Write a term with this prefix; empty if it begins with something else."""
    if term[:1].isdecimal():
        return prefix + term
    length = min(len(term), len(prefix))
    is_same = term[:length].casefold() == prefix[:length].casefold()
    return prefix[:length] + term[length:] if is_same else ""


def _list_prefixes(account: Account) -> list[str]:
    """Return what stands before the first digit of recent order IDs."""
    rows = account.conversions.order_by("-created_at", "-id")
    recent = rows.values_list("external_id", flat=True)[:RECENT_CONVERSIONS]
    matches = [PREFIX_PATTERN.match(external_id or "") for external_id in recent]
    prefixes = dict.fromkeys(match[0] for match in matches if match)
    return list(prefixes)[:MAX_PREFIXES]
