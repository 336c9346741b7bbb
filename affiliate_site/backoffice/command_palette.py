"""The command palette (Ctrl + K): finds pages, actions and rows of the account.

Affiliates are found by any part of their texts, programs by a part of their title,
conversions by the beginning of an order ID in some spellings, all others by an exact
ID. Each is a look-up in an index that begins with the account. Operators have no
account: it finds only pages for them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.text import capfirst

from affiliate_site.backoffice.formatters import format_person
from affiliate_site.backoffice.lists.search import PK_PATTERN
from affiliate_site.backoffice.theme import (
    get_object_url,
    list_navigation,
    reverse_changelist,
)
from payouts.models.commissions import Commission
from payouts.models.payments import Payment
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.programs import Program
from tracking.search import fold_text, list_search_words
from tracking.services.search import (
    find_affiliates,
    list_hidden_matches,
    list_order_terms,
    list_search_codes,
)

MAX_ROWS = 8  # affiliates, or conversions, of one search
MAX_TERM_LENGTH = 255  # characters; no ID and no e-mail address is longer


@dataclass(frozen=True)
class SearchResult:
    """A page or row that was found, as the theme's template reads it."""

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
    SearchField(Customer, "customer_id", "person", excludes_deleted=True),
    SearchField(Customer, "public_id", "person"),
    SearchField(Customer, "email_folded", "person", normalize=str.casefold),
    SearchField(Payment, "public_id", "payments"),
    SearchField(Program, "slug", "campaign"),
)
NOTHING_FOUND = (
    "Affiliates, coupons, programs, orders and customers are searched; payments and"
    " commissions by their whole ID"
)


@dataclass(frozen=True)
class ListAction:
    """What staff do on a list: its name, the list with its filter, the permission."""

    title: str
    model_name: str
    query: str
    permission: str


LIST_ACTIONS = (
    ListAction(
        "Approve commissions",
        "payouts_commission",
        "?status__exact=pending&deleted_at__isnull=True",
        "payouts.change_commission",
    ),
    ListAction(
        "Approve affiliates",
        "tracking_enrollment",
        "?approved=pending",
        "tracking.change_enrollment",
    ),
    ListAction(
        "Pay affiliates",
        "payouts_ledgeraccount",
        "?balance__gt=0",
        "payouts.add_payment",
    ),
    ListAction(
        "Decide contested claims",
        "tracking_conversionclaim",
        "?decided_at__isnull=True",
        "tracking.change_conversionclaim",
    ),
)


def search(request, term: str) -> list[SearchResult]:
    """Pages, actions and rows of the user's account, if the user may see them.

    The theme passes the term in lower case; IDs are case-sensitive.
    """
    exact_term = request.GET.get("s", term).strip()
    if not is_possible_id(exact_term):
        return []
    results = list_pages(request, exact_term)
    if request.user.account is not None:
        for search_field in SEARCH_FIELDS:
            results += list_results(request, search_field, exact_term)
        results += search_programs(request, exact_term)
        results += search_commissions(request, exact_term)
        results += search_affiliates(request, exact_term)
        results += search_conversions(request, exact_term)
    if not results:
        url = reverse("admin:index")
        return [SearchResult("Nothing found", NOTHING_FOUND, url, "search_off")]
    return list(dict.fromkeys(results))  # two columns may find the same row


def is_possible_id(term: str) -> bool:
    """Whether an ID can look like this: short, and without control characters."""
    return 0 < len(term) <= MAX_TERM_LENGTH and term.isprintable()


def list_pages(request, term: str) -> list[SearchResult]:
    """The pages and actions whose title has each word of the term; first those with
    words that begin so: “add aff” means “Add affiliate”, not “Add staff user”."""
    words = list_search_words(term)
    found: dict[bool, list[SearchResult]] = {True: [], False: []}
    for page in (*iterate_actions(request), *iterate_pages(request)):
        # Some say “create affiliate” or “new affiliate”.
        synonyms = "create new" if page.icon == "add" else ""
        text = fold_text(f" {page.title} {synonyms}")
        if words and all(word in text for word in words):
            found[all(f" {word}" in text for word in words)].append(page)
    return found[True] + found[False]


def iterate_actions(request) -> Iterator[SearchResult]:
    """What the user may do."""
    user = request.user
    for list_action in LIST_ACTIONS:
        if user.has_perm(list_action.permission):
            url = reverse_changelist(list_action.model_name) + list_action.query
            yield SearchResult(list_action.title, "Action", url, "bolt")
    if user.account is not None and user.has_perm("payouts.add_payment"):
        url = reverse("admin:bulk_payouts")
        yield SearchResult("Bulk payout", "Action", url, "bolt")
    for model, model_admin in admin.site._registry.items():  # noqa: SLF001 - no other way
        opts = model._meta
        if model_admin.has_add_permission(request):
            url = reverse(f"admin:{opts.app_label}_{opts.model_name}_add")
            yield SearchResult(f"Add {opts.verbose_name}", "Action", url, "add")


def iterate_pages(request) -> Iterator[SearchResult]:
    """The pages of the sidebar that the user may see."""
    for group in list_navigation(request):
        for item in group["items"]:
            if item.get("permission", lambda request: True)(request):
                title, url, icon = item["title"], item["link"], item["icon"]
                yield SearchResult(title, "Page", url, icon)


def list_results(request, search_field: SearchField, term: str) -> list[SearchResult]:
    """The results of one column; none if the user cannot view its page."""
    model_admin = admin.site.get_model_admin(search_field.model)
    if not model_admin.has_view_permission(request):
        return []
    lookup: dict[str, Any] = {search_field.column: search_field.normalize(term)}
    if search_field.excludes_deleted:
        lookup["deleted_at"] = None
    rows = model_admin.get_queryset(request).filter(**lookup)[:MAX_ROWS]
    return [build_result(row, search_field, term) for row in rows]


def build_result(row, search_field: SearchField, term: str) -> SearchResult:
    """The result for one row, with the URL of its page."""
    title = str(row)
    return SearchResult(
        title=title if title == term else f"{term} ({title})",
        description=describe_result(row),
        link=get_object_url(row),
        icon=search_field.icon,
    )


def describe_result(row) -> str:
    """What was found: `Conversion`, or `Conversion, removed`."""
    name = capfirst(row._meta.verbose_name)
    return f"{name}, removed" if getattr(row, "deleted_at", None) else name


def search_programs(request, term: str) -> Iterator[SearchResult]:
    """The programs with this in their title; an account has few."""
    model_admin = admin.site.get_model_admin(Program)
    if not model_admin.has_view_permission(request):
        return
    rows = model_admin.get_queryset(request).filter(title__icontains=term)
    for row in rows.exclude(slug=term).order_by("title", "pk")[:MAX_ROWS]:
        title = f"{row.title} ({row.slug})"
        yield SearchResult(title, "Program", get_object_url(row), "campaign")


def search_commissions(request, term: str) -> Iterator[SearchResult]:
    """The commission with this ID."""
    model_admin = admin.site.get_model_admin(Commission)
    if not PK_PATTERN.fullmatch(term) or not model_admin.has_view_permission(request):
        return
    rows = model_admin.get_queryset(request).filter(pk=term)
    for row in rows.select_related("affiliate"):
        title = f"Commission {row} of {row.affiliate}"
        url = get_object_url(row)
        yield SearchResult(title, describe_result(row), url, "percent")


def search_affiliates(request, term: str) -> Iterator[SearchResult]:
    """The affiliates with these words, with what a code or company was found by."""
    if not admin.site.get_model_admin(Affiliate).has_view_permission(request):
        return
    account = request.user.account
    pks = find_affiliates(account, term).pks
    rows = account.affiliates.in_bulk(pks[:MAX_ROWS])
    enrollments = list_search_codes(account, rows.values()) if rows else []
    found_by = list_hidden_matches(rows.values(), enrollments, term)
    for row in filter(None, map(rows.get, pks)):
        details = [row.email or "", *found_by.get(row.pk, ())]
        yield SearchResult(
            title=format_person(row),
            description=", ".join([describe_result(row), *filter(None, details)]),
            link=get_object_url(row),
            icon="group",
        )
    if len(pks) > MAX_ROWS:
        yield SearchResult(
            title=f"All affiliates with “{term}”",
            description="Page",
            link=f"{reverse_changelist('tracking_affiliate')}?{urlencode({'q': term})}",
            icon="manage_search",
        )


def search_conversions(request, term: str) -> Iterator[SearchResult]:
    """The conversions whose order ID begins like this."""
    model_admin = admin.site.get_model_admin(Conversion)
    if not model_admin.has_view_permission(request):
        return
    rows = model_admin.get_queryset(request).order_by("external_id", "-id")
    found: dict[int, Any] = {}
    for spelling in list_order_terms(request.user.account, term):
        matches = rows.filter(external_id__begins_with=spelling)
        found |= {row.pk: row for row in matches[: MAX_ROWS - len(found)]}
    for row in found.values():
        yield SearchResult(
            title=f"{row.external_id} ({row.pk})",
            description=describe_result(row),
            link=get_object_url(row),
            icon="shopping_cart",
        )
