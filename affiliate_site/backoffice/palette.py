"""The palette: Ctrl + K finds a row by its whole id; a short list of what it asks.

Each question is one exact look-up in an index that begins with the account. Operators
have no account: they find the pages, and search in the lists.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.urls import reverse

from payouts.models.payments import Payment
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.programs import Program

MOST = 10  # rows of one answer
LONGEST = 255  # of what is looked for: no id and no address is longer


@dataclass(frozen=True)
class Finding:
    """A line of the palette."""

    title: str
    description: str
    link: str
    icon: str


@dataclass(frozen=True)
class Ask:
    """A column that is looked up; `present` where its index knows no removed rows."""

    model: type[Model]
    column: str
    icon: str
    present: bool = False
    folded: Callable[[str], str] = str


ASKED = (
    Ask(Affiliate, "slug", "group"),
    Ask(Affiliate, "email_folded", "group", present=True, folded=str.casefold),
    Ask(Customer, "customer_id", "person", present=True),
    Ask(Customer, "public_id", "person"),
    Ask(Conversion, "external_id", "shopping_cart", present=True),
    Ask(Payment, "public_id", "payments"),
    Ask(Program, "slug", "campaign"),
)


def found(request, term: str) -> list[Finding]:
    """Rows of one's own account with exactly this id, for who may see their page.

    The theme hands over the term without its capitals, and ids have capitals.
    """
    word = request.GET.get("s", term).strip()
    if request.user.account is None or not is_id(word):
        return []
    rows = chain.from_iterable(rows_of(request, ask, word) for ask in ASKED)
    lines = dict.fromkeys(rows)  # a row with two such ids stands there once
    return list(islice(lines, MOST))


def is_id(word: str) -> bool:
    """Could a row be called that? PostgreSQL keeps no NUL, and nothing this long."""
    return 0 < len(word) <= LONGEST and word.isprintable()


def rows_of(request, ask: Ask, word: str) -> list[Finding]:
    """What one column finds; nothing where the page is not shown to this role."""
    page = admin.site.get_model_admin(ask.model)
    if not page.has_view_permission(request):
        return []
    same: dict[str, Any] = {ask.column: ask.folded(word)}
    if ask.present:
        same["removed_at"] = None
    return [line(row, ask, word) for row in page.get_queryset(request).filter(**same)]


def line(row, ask: Ask, word: str) -> Finding:
    """The row as the palette shows it, with the way to its page."""
    options = row._meta
    name = f"admin:{options.app_label}_{options.model_name}_change"
    kind = str(options.verbose_name).capitalize()
    told = str(row)
    return Finding(
        title=told if told == word else f"{word} ({told})",
        description=kind,
        link=reverse(name, args=[row.pk]),
        icon=ask.icon,
    )
