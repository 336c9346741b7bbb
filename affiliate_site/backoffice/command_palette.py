"""The command palette (Ctrl + K): finds rows of the account by their exact ID.

Each searched column is one exact look-up in an index that begins with the account.
Operators have no account: the palette finds only pages for them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.urls import reverse
from django.utils.text import capfirst

from payouts.models.payments import Payment
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.programs import Program

MAX_RESULTS = 10
MAX_TERM_LENGTH = 255  # characters; no ID and no e-mail address is longer


@dataclass(frozen=True)
class SearchResult:
    """A row that was found, as the theme's template reads it."""

    title: str
    description: str
    link: str
    icon: str


@dataclass(frozen=True)
class SearchField:
    """A column to search; `excludes_deleted` if its index has no deleted rows."""

    model: type[Model]
    column: str
    icon: str
    excludes_deleted: bool = False
    normalize: Callable[[str], str] = str


SEARCH_FIELDS = (
    SearchField(Affiliate, "slug", "group"),
    SearchField(
        Affiliate,
        "email_folded",
        "group",
        excludes_deleted=True,
        normalize=str.casefold,
    ),
    SearchField(Customer, "customer_id", "person", excludes_deleted=True),
    SearchField(Customer, "public_id", "person"),
    SearchField(Conversion, "external_id", "shopping_cart", excludes_deleted=True),
    SearchField(Payment, "public_id", "payments"),
    SearchField(Program, "slug", "campaign"),
)


def search(request, term: str) -> list[SearchResult]:
    """Rows of the user's account with exactly this ID, if the user may view them.

    The theme passes the term in lower case; IDs are case-sensitive.
    """
    exact_term = request.GET.get("s", term).strip()
    if request.user.account is None or not is_possible_id(exact_term):
        return []
    results = chain.from_iterable(
        list_results(request, search_field, exact_term)
        for search_field in SEARCH_FIELDS
    )
    unique_results = dict.fromkeys(results)  # two columns may find the same row
    return list(islice(unique_results, MAX_RESULTS))


def is_possible_id(term: str) -> bool:
    """Whether an ID can look like this: short, and without control characters."""
    return 0 < len(term) <= MAX_TERM_LENGTH and term.isprintable()


def list_results(request, search_field: SearchField, term: str) -> list[SearchResult]:
    """The results of one column; none if the user cannot view its page."""
    model_admin = admin.site.get_model_admin(search_field.model)
    if not model_admin.has_view_permission(request):
        return []
    lookup: dict[str, Any] = {search_field.column: search_field.normalize(term)}
    if search_field.excludes_deleted:
        lookup["deleted_at"] = None
    return [
        build_result(row, search_field, term)
        for row in model_admin.get_queryset(request).filter(**lookup)
    ]


def build_result(row, search_field: SearchField, term: str) -> SearchResult:
    """The result for one row, with the URL of its page."""
    opts = row._meta
    name = f"admin:{opts.app_label}_{opts.model_name}_change"
    title = str(row)
    return SearchResult(
        title=title if title == term else f"{term} ({title})",
        description=capfirst(opts.verbose_name),
        link=reverse(name, args=[row.pk]),
        icon=search_field.icon,
    )
