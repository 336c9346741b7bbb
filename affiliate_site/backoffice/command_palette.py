"""The command palette (Ctrl + K): finds pages, actions and rows of the account.

Affiliates are found by any part of their texts, programs by a part of their title,
conversions by any part of an order ID, all others by an exact ID. Each is a look-up in
an index that begins with the account. Operators have no account: it finds only pages
for them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db.models import Model, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.text import capfirst

from accounts.email_addresses import fold_email
from affiliate_site.backoffice.formatters import format_money, format_person
from affiliate_site.backoffice.lists.search import PK_PATTERN
from affiliate_site.backoffice.navigation import (
    get_model_name,
    iterate_model_admins,
    list_navigation,
)
from affiliate_site.backoffice.theme import (
    get_object_url,
    reverse_changelist,
)
from affiliate_site.roles import get_permission_name
from payouts.models.commissions import Commission
from payouts.models.payments import Payment
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.programs import Program
from tracking.search import fold_text, list_search_words
from tracking.services.search import (
    find_affiliates,
    find_orders,
    list_exact_orders,
    list_hidden_matches,
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
    is_row: bool = True  # a link to more rows is not counted
    synonyms: str = ""  # what staff may call it instead


@dataclass(frozen=True)
class SearchField:
    """A column to search; `excludes_deleted` if its index has no deleted rows."""

    model: type[Model]
    column: str
    excludes_deleted: bool = False
    normalize: Callable[[str], str] = str


SEARCH_FIELDS = (
    SearchField(Customer, "customer_id", excludes_deleted=True),
    SearchField(Customer, "public_id"),
    SearchField(Customer, "email_folded", normalize=fold_email),
    SearchField(Payment, "public_id"),
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
        orders = list_exact_orders(request.user.account, exact_term)
        results += search_by_ids(request, exact_term, orders)
        for search_field in SEARCH_FIELDS:
            results += list_results(request, search_field, exact_term)
        results += search_programs(request, exact_term)
        results += search_affiliates(request, exact_term)
        results += search_orders(request, exact_term, orders)
    found: dict[str, SearchResult] = {}
    for result in results:
        found.setdefault(result.link, result)  # two columns may find the same row
    return list(found.values())


def is_possible_id(term: str) -> bool:
    """Whether an ID can look like this: short, and without control characters."""
    return 0 < len(term) <= MAX_TERM_LENGTH and term.isprintable()


def list_pages(request, term: str) -> list[SearchResult]:
    """The pages and actions whose title has each word of the term; first those with
    words that begin so: “add aff” means “Add affiliate”, not “Add staff user”."""
    words = list_search_words(term)
    found: dict[bool, list[SearchResult]] = {True: [], False: []}
    for page in (*iterate_actions(request), *iterate_pages(request)):
        text = fold_text(f" {page.title} {page.synonyms}")
        if words and all(word in text for word in words):
            found[all(f" {word}" in text for word in words)].append(page)
    return found[True] + found[False]


def iterate_actions(request) -> Iterator[SearchResult]:
    """What the user may do."""
    user = request.user
    found = [(it, page) for _, page in iterate_model_admins() for it in page.list_actions]
    for list_action, page in sorted(found, key=lambda each: each[0].place):
        default = get_permission_name("change", page.model)
        if user.has_perm(list_action.permission or default):
            url = reverse_changelist(get_model_name(page.model))
            query = f"?{list_action.query}" if list_action.query else ""
            yield SearchResult(list_action.title, "Action", f"{url}{query}", "bolt")
    for name, page in iterate_model_admins():
        if page.has_add_permission(request):
            url = reverse(f"admin:{name}_add")
            title = page.add_title or f"Add {page.opts.verbose_name}"
            yield SearchResult(title, "Action", url, "add", synonyms="create new")


def iterate_pages(request) -> Iterator[SearchResult]:
    """The pages of the sidebar that the user may see, and the reports."""
    for group in list_navigation(request):
        for item in group["items"]:
            if item.get("permission", lambda request: True)(request):
                title, url, icon = item["title"], item["link"], item["icon"]
                synonyms = item.get("synonyms", "")
                yield SearchResult(title, "Page", url, icon, synonyms=synonyms)
    for _, page in iterate_model_admins() if request.user.account_id else ():
        if page.reports and page.has_view_permission(request):
            for report in page.reports:
                url = reverse(f"admin:{report.name}")
                yield SearchResult(report.title, "Report", url, "summarize", synonyms="reports")
                for title, query, synonyms in report.list_ready():
                    link = f"{url}?{query}"
                    yield SearchResult(title, "Report", link, "summarize", synonyms=synonyms)


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
        description=describe_row(row),
        link=get_object_url(row),
        icon=get_icon(row),
    )


def get_icon(row) -> str:
    """That of its list in the sidebar."""
    page: Any = admin.site.get_model_admin(type(row))
    return page.menu[0].icon


def describe_row(row, name: str = "") -> str:
    """`Conversion 7, 49.90 EUR, 2026-11-21, Mina Kessler (mina), removed`.

    Rows of no affiliate have their name alone, by default that of their kind.
    """
    texts = [name or capfirst(row._meta.verbose_name)]
    if hasattr(row, "amount"):
        texts.append(format_money(row.amount, row.currency))
    if getattr(row, "affiliate", None):
        day = timezone.localtime(row.created_at).date()
        texts += [day.isoformat(), format_person(row.affiliate)]
    if getattr(row, "deleted_at", None):
        texts.append("removed")
    if getattr(row, "canceled_at", None):
        texts.append("canceled")
    return ", ".join(texts)


def link_to_list(model: type[Model], term: str) -> SearchResult:
    """The list with all rows that the term finds; the palette shows some."""
    options = model._meta
    url = reverse_changelist(f"{options.app_label}_{options.model_name}")
    return SearchResult(
        title=f"Show all with “{term}” in {capfirst(options.verbose_name_plural)}",
        description="Page",
        link=f"{url}?{urlencode({'q': term})}",
        icon="manage_search",
        is_row=False,
    )


def search_programs(request, term: str) -> Iterator[SearchResult]:
    """The programs with this ID, or with this in their title; an account has few."""
    model_admin = admin.site.get_model_admin(Program)
    if not model_admin.has_view_permission(request):
        return
    found = Q(title__icontains=term) | Q(slug=term)
    rows = model_admin.get_queryset(request).filter(found)
    for row in rows.order_by("title", "pk")[:MAX_ROWS]:
        title = f"{row.title} ({row.slug})"
        yield SearchResult(title, "Program", get_object_url(row), get_icon(row))


def search_by_ids(request, term: str, orders: list[int]) -> Iterator[SearchResult]:
    """The conversions with this order ID, then what has this number as its own ID."""
    if not admin.site.get_model_admin(Conversion).has_view_permission(request):
        return
    yield from list_conversions(request, orders[:MAX_ROWS])
    if not PK_PATTERN.fullmatch(term):
        return
    models: tuple[Any, ...] = (Conversion, Commission)
    for model in models:
        model_admin = admin.site.get_model_admin(model)
        if not model_admin.has_view_permission(request):
            continue
        rows = model_admin.get_queryset(request).filter(pk=term)
        for row in rows.select_related("affiliate"):
            title = f"{capfirst(model._meta.verbose_name)} {row}"
            order_id = getattr(row, "external_id", None)
            description = describe_row(row, f"Order {order_id}" if order_id else "")
            yield SearchResult(title, description, get_object_url(row), get_icon(row))


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
            description=", ".join([describe_row(row), *filter(None, details)]),
            link=get_object_url(row),
            icon=get_icon(row),
        )
    if len(pks) > MAX_ROWS:
        yield link_to_list(Affiliate, term)


def search_orders(request, term: str, shown: list[int]) -> Iterator[SearchResult]:
    """The newest conversions with this in their order ID, without those `shown`."""
    if not admin.site.get_model_admin(Conversion).has_view_permission(request):
        return
    pks = find_orders(request.user.account, term).pks
    others = [pk for pk in pks if pk not in shown]
    yield from list_conversions(request, others[: max(MAX_ROWS - len(shown), 0)])
    if len(pks) > MAX_ROWS:
        yield link_to_list(Conversion, term)


def list_conversions(request, pks: list[int]) -> Iterator[SearchResult]:
    """The results for these conversions, in this order."""
    rows = request.user.account.conversions.select_related("affiliate").in_bulk(pks)
    for row in filter(None, map(rows.get, pks)):
        yield SearchResult(
            title=row.external_id,
            description=describe_row(row, f"Conversion {row.pk}"),
            link=get_object_url(row),
            icon=get_icon(row),
        )
