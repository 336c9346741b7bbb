"""The page of an import: what it did, and links to what it made."""

from itertools import groupby
from typing import Any

from affiliate_site.backoffice.audit_sentences import describe_actor, find_names
from affiliate_site.backoffice.formatters import EMPTY_VALUE, format_datetime
from affiliate_site.backoffice.object_pages import (
    Column,
    Details,
    Section,
    link_to,
)
from affiliate_site.moving.tables.kinds import KINDS
from affiliate_site.moving.tables.undo import RELATIONS
from tracking.models.imports import TableImport

MAX_LISTED = 100


def get_import_details(request, table_import: TableImport) -> Details:
    """The content of the page."""
    names = find_names(request.user, (), [table_import.actor])
    facts = [
        ("Rows", KINDS[table_import.kind].label),
        ("File", table_import.file_name),
        ("Imported", format_datetime(table_import.created_at)),
        ("By", describe_actor(table_import.actor, names)),
        ("New", f"{table_import.created:,}"),
        ("Known already, stayed as they were", f"{table_import.known:,}"),
        ("Left out", f"{table_import.not_stored:,}"),
        ("Undone", format_datetime(table_import.undone_at)),
    ]
    is_undone = table_import.undone_at is not None
    return Details(
        table_import.file_name,
        labels=[("undone", "warning")] if is_undone else [],
        sections=[Section("Import", facts=facts), *list_made(request, table_import)],
    )


def list_made(request, table_import: TableImport) -> list[Section]:
    """Links to what the import made."""
    account = table_import.account
    rows = account.imported_objects.filter(source=table_import.source).order_by("pk")
    number = rows.count()
    if not number:
        return []
    made = list(rows[:MAX_LISTED])
    found: dict[tuple[str, int], Any] = {}
    for kind, group in groupby(
        sorted(made, key=lambda it: it.kind), lambda it: it.kind
    ):
        pks = [it.local_id for it in group]
        objects = getattr(account, RELATIONS[kind]).in_bulk(pks)
        found |= {(kind, pk): row for pk, row in objects.items()}
    more = number - len(made)
    return [
        Section(
            "What it made",
            notes=[f"The first {len(made)} of {number:,}."] if more else [],
            columns=(Column("What"), Column("In the file"), Column("Here")),
            rows=[
                (
                    it.kind.replace("_", " ").capitalize(),
                    it.source_id,
                    link_to(found.get((it.kind, it.local_id))) or EMPTY_VALUE,
                )
                for it in made
            ],
        )
    ]
