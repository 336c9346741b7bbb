"""Uploaded files as imports, with their encoding, columns and answers; and templates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from accounts.models.accounts import Account
from affiliate_site.cells import render_csv
from affiliate_site.moving.tables.files import (
    GUESSED_ENCODING_NOTE,
    Cell,
    CellError,
    ReadTable,
)
from affiliate_site.moving.tables.importing import TableImporter
from affiliate_site.moving.tables.kinds import KINDS, TableKind
from affiliate_site.moving.tables.limited import (
    PAGE_LIMITS,
    TABLE_START,
    load_table,
    read_foreign_table,
)
from affiliate_site.moving.tables.mappings import SYSTEMS, guess_mapping, normalize
from affiliate_site.moving.tables.questions import IGNORE
from affiliate_site.moving.tables.values import Styles, find_shape
from tracking.models.imports import TableUpload
from tracking.services.table_uploads import read_content


def build_template(account: Account, kind: TableKind) -> str:
    """Return a CSV file with a header and a row of examples, to be replaced."""
    cells = {column.label: column.example for column in kind.columns}
    if "custom" in kind.prefixes:
        titles = account.field_definitions.order_by("pk").values_list("title", flat=True)
        cells |= {f"custom:{title}": "" for title in titles}
    return render_csv([cells, cells.values()])


# Encodings of files that are not Unicode: those of `GUESSED_ENCODING` are asked about.
GUESSED_ENCODING = "cp1252"
ENCODINGS = {
    "cp1252": "Western European",
    "cp1250": "Central European",
    "cp1251": "Cyrillic",
    "mac_roman": "Macintosh",
}


@dataclass(frozen=True)
class UploadSettings:
    """How a file is read, as staff have chosen; `TableUpload.settings` has it as a map.

    `answers` are those to the questions besides encoding and styles.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    encoding: str = ""
    decimal: str = ""
    dates: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)


def guess_settings(kind: TableKind, table: ReadTable, system_name: str) -> UploadSettings:
    """Return the settings that a page begins with."""
    system = SYSTEMS.get(system_name)
    mapping = guess_mapping(kind, table.header, system)
    if "paid" in mapping and "paid_at" not in mapping:
        cells = list_examples(table, table.header.index(mapping["paid"]))
        if cells and all(map(find_shape, cells)):
            mapping["paid_at"] = mapping.pop("paid")
    if system is None:
        return UploadSettings(mapping=mapping)
    ignored = {normalize(it) for it in system.ignored.get(kind.name, ())}
    return UploadSettings(
        mapping=mapping,
        defaults=dict(system.defaults.get(kind.name, {})),
        answers=dict(system.answers.get(kind.name, {}))
        | {f"column:{it}": IGNORE for it in table.header if normalize(it) in ignored},
    )


def read_upload(upload: TableUpload) -> ReadTable:
    """Return the table of a file. Older releases stored the file itself."""
    data = read_content(upload)
    if data.startswith(TABLE_START):
        return load_table(data)
    return read_foreign_table(data, upload.file_name, PAGE_LIMITS)


def decode_again(table: ReadTable, encoding: str) -> ReadTable:
    """Return a table whose encoding was guessed in another one."""
    if not encoding or table.encoding != GUESSED_ENCODING:
        return table

    def decode(text: str) -> str:
        return text.encode(GUESSED_ENCODING).decode(encoding, "replace")

    def decode_cell(cell: Cell) -> Cell:
        if isinstance(cell, CellError):
            return CellError(cell.code, decode(cell.text))
        return decode(cell) if isinstance(cell, str) else cell

    def decode_cells(cells: Sequence[Cell]) -> list[Cell]:
        return list(map(decode_cell, cells))

    rows = [
        row._replace(cells=decode_cells(row.cells), raw=decode_cells(row.raw)) for row in table.rows
    ]
    notes = [note for note in table.notes if note != GUESSED_ENCODING_NOTE]
    header = list(map(decode, table.header))
    return replace(table, header=header, rows=rows, encoding=encoding, notes=notes)


def list_encoding_readings(table: ReadTable) -> dict[str, str]:
    """Return how each encoding reads the text that depends most on it."""
    cells = [*table.header, *(cell for row in table.rows for cell in row.cells)]
    texts = [it for it in cells if isinstance(it, str) and not it.isascii()]

    def read(text: str) -> dict[str, str]:
        data = text.encode(GUESSED_ENCODING)
        return {name: data.decode(name, "replace") for name in ENCODINGS}

    readings = max(map(read, texts), key=lambda each: len(set(each.values())))
    return {name: it for name, it in readings.items() if "\ufffd" not in it}


def list_examples(table: ReadTable, index: int, number: int = 3) -> list[str]:
    """Return the first different values of a column as texts."""
    texts: dict[str, None] = {}
    for row in table.rows:
        cell = row.cells[index]
        if cell is not None:
            texts[cell.text if isinstance(cell, CellError) else str(cell)] = None
        if len(texts) == number:
            break
    return list(texts)


def build_importer(
    upload: TableUpload,
    table: ReadTable,
    settings: UploadSettings,
    *,
    at: datetime,
    only_good: bool = False,
) -> TableImporter:
    """Return the import of a file."""
    return TableImporter(
        upload.account,
        KINDS[upload.kind],
        table,
        settings.mapping,
        at,
        file_name=upload.file_name,
        styles=Styles(settings.decimal or None, settings.dates or None),
        defaults=settings.defaults,
        only_good=only_good,
        answers=settings.answers,
    )


def load_importer(upload: TableUpload, **kwargs: Any) -> TableImporter:
    """Return the import of a file with its stored settings."""
    settings = UploadSettings(**upload.settings)
    table = decode_again(read_upload(upload), settings.encoding)
    return build_importer(upload, table, settings, **kwargs)
