"""The page of an import: what it did, and links to what it made."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst

from affiliate_site.backoffice.audit_sentences import describe_actor, find_names
from affiliate_site.backoffice.formatters import (
    Label,
    format_datetime,
    format_money,
    format_person,
    format_totals,
)
from affiliate_site.backoffice.object_pages import (
    LINK_TEMPLATE,
    Details,
    Section,
    link_to,
)
from affiliate_site.columns import Column
from affiliate_site.moving.tables.kinds import KINDS
from affiliate_site.moving.tables.references import look_up
from affiliate_site.moving.tables.undo import RELATIONS
from tracking.models.affiliates import Affiliate
from tracking.models.imports import TableImport
from tracking.services.table_uploads import find_left_out

MAX_LISTED = 100
# Columns with amount and currency. A balance that an affiliate owes has no creditor.
AMOUNTS = {
    "conversion": ("amount", "currency"),
    "commission": ("amount", "currency"),
    "payment": ("amount", "currency"),
    "opening_balance": ("amount", "currency", "credit__affiliate"),
}
# What is read with the objects that have amounts, to name their affiliates.
PEOPLE = {
    "conversion": ("affiliate",),
    "payment": ("affiliate",),
    "opening_balance": ("credit__affiliate", "debit__affiliate"),
}
# What the other answers are about.
ANSWERED = {
    "decimal": "Numbers",
    "dates": "Dates",
    "units": "Amounts",
    "affiliates": "Unknown affiliates",
    "twice": "Several balances of one affiliate",
    "paid_on": "Day of payments",
}
LEFT_OUT = "left_out"  # in the address of a download
# What to do with rows left out, before other tables create those whom they name.
BEFORE_SALES = {
    "affiliates": ": correct them, and import them before customers and sales.",
}


def get_import_details(request, table_import: TableImport) -> Details:
    """The content of the page."""
    names = find_names(request.user, (), [table_import.actor])
    is_undone = table_import.undone_at is not None
    facts = [
        ("Kind of rows", KINDS[table_import.kind].label),
        ("File", table_import.file_name),
        ("Imported", format_datetime(table_import.created_at)),
        ("By", describe_actor(table_import.actor, names)),
        ("New", f"{table_import.created:,}"),
        ("Known already, stayed as they were", f"{table_import.known:,}"),
        ("Left out", f"{table_import.not_stored:,}"),
        ("Undone", format_datetime(table_import.undone_at)),
    ]
    next_url = reverse("admin:tracking_tableimport_add")
    link = format_html(LINK_TEMPLATE, next_url, "Import the next table")
    may_import = request.user.has_perm("tracking.add_tableimport")
    lines = [link] if may_import else []
    if may_import and find_left_out(table_import) is not None:
        text = f"Download the rows left out ({table_import.not_stored:,})"
        link = format_html(LINK_TEMPLATE, f"?{LEFT_OUT}", text)
        lines.append(format_html("{}{}", link, BEFORE_SALES.get(table_import.kind, "")))
    return Details(
        table_import.file_name,
        labels=[Label("undone", "warning")] if is_undone else [],
        sections=[
            Section(
                "Import",
                facts=[*facts, *sum_made(table_import)],
                lines=format_lines(lines),
            ),
            *list_made(table_import),
            *describe_settings(table_import),
        ],
    )


def describe_settings(table_import: TableImport) -> list[Section]:
    """How the file was read; older imports do not know it."""
    settings = table_import.settings
    if not settings:
        return []
    kind = KINDS[table_import.kind]
    labels = {it.name: it.label for it in kind.columns}
    facts = [
        *((labels.get(name, name), it) for name, it in settings["columns"].items()),
        *(
            (f"{labels.get(name, name)}, where it is empty", it)
            for name, it in settings["defaults"].items()
        ),
        *(
            (describe_question(name, labels), it.replace("_", " "))
            for name, it in settings["answers"].items()
            if not name.startswith("dates:")  # `dates` has all of them
        ),
    ]
    return [Section("How the file was read", facts=facts)]


def describe_question(name: str, labels: dict[str, str]) -> str:
    """What an answer was about."""
    question, _, subject = name.partition(":")
    if question == "value":
        column, _, word = subject.partition(":")
        return f"“{word}” in {labels.get(column, column)}"
    if question == "column":
        return f"Column “{subject}”"
    return ANSWERED[question]


def format_lines(lines: Sequence[str]) -> str:
    """Paragraphs as HTML."""
    return format_html_join("", '<p class="mt-2">{}</p>', ((it,) for it in lines))


def count_made(table_import: TableImport) -> list[tuple[str, str]]:
    """What an import made, and how many."""
    account = table_import.account
    rows = account.imported_objects.filter(source=table_import.source)
    counts = Counter(rows.values_list("kind", flat=True))
    return [
        (name_kind(table_import, kind), f"{counts[kind]:,}") for kind in RELATIONS if kind in counts
    ]


def sum_made(table_import: TableImport) -> list[tuple[str, object]]:
    """The sums of what an import made, by kind."""
    account = table_import.account
    objects = account.imported_objects.filter(source=table_import.source)
    totals: list[tuple[str, object]] = []
    for kind, columns in AMOUNTS.items():
        pks = objects.filter(kind=kind).values_list("local_id", flat=True)
        rows = look_up(getattr(account, RELATIONS[kind]), "pk", pks, *columns)
        sums: dict[str, Decimal] = defaultdict(Decimal)
        for _, amount, currency, *sides in rows:
            sums[currency] += amount if all(sides) else -amount
        if rows:
            name = f"{name_kind(table_import, kind)}, total"
            totals.append((name, format_totals(sums)))
    return totals


def name_kind(table_import: TableImport, kind: str) -> str:
    """What staff call the objects of a kind."""
    if kind == "opening_balance":
        return "Opening balances"
    rows = getattr(table_import.account, RELATIONS[kind])
    return capfirst(rows.model._meta.verbose_name_plural)


def describe_amount(kind: str, row: Any) -> tuple[str, str]:
    """The affiliate of an object, and its amount: negative if the affiliate owes it."""
    if kind == "opening_balance":
        affiliate = row.credit.affiliate or row.debit.affiliate
        amount = row.amount if row.credit.affiliate else -row.amount
    else:
        affiliate, amount = row.affiliate, row.amount
    name = link_to(affiliate, format_person(affiliate))
    return name, format_money(amount, row.currency)


def name_object(page: Any, row: Any) -> str:
    """The title of an object's page; the name and ID of an affiliate."""
    if isinstance(row, Affiliate):
        return format_person(row)
    return page.get_object_title(row)


def list_made(table_import: TableImport) -> Sequence[Section]:
    """Links to the objects that the rows of the file became."""
    kind = table_import.kind.removesuffix("s")
    account = table_import.account
    made = account.imported_objects.filter(source=table_import.source, kind=kind)
    listed = list(made.order_by("pk")[:MAX_LISTED])
    if not listed:
        return ()
    people = PEOPLE.get(kind, ())
    table = getattr(account, RELATIONS[kind]).select_related(*people)
    rows = table.in_bulk([it.local_id for it in listed])
    page: Any = admin.site.get_model_admin(type(next(iter(rows.values()))))
    more = table_import.created - len(listed)
    return (
        Section("What it made", facts=count_made(table_import)),
        Section(
            name_kind(table_import, kind),
            notes=[f"The first {len(listed)}; {more:,} more."] if more > 0 else [],
            columns=(
                Column("ID or row", lambda it: it.source_id),
                Column(
                    "Here", lambda it: link_to(row := rows[it.local_id], name_object(page, row))
                ),
                *(
                    Column(
                        title,
                        lambda it, place=place: describe_amount(kind, rows[it.local_id])[place],
                        is_amount=place == 1,
                    )
                    for place, title in enumerate(("Affiliate", "Amount") if people else ())
                ),
            ),
            rows=[it for it in listed if it.local_id in rows],
        ),
    )
