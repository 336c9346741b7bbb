"""Questions about a file, which are answered before its rows are stored."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from statistics import median
from typing import Any

from accounts.decimals import parse_decimal
from accounts.email_addresses import fold_email
from accounts.models.accounts import Account
from affiliate_site.moving.tables.files import Cell, ReadTable, TableRow
from affiliate_site.moving.tables.kinds import ImportColumn, TableKind
from affiliate_site.moving.tables.mappings import normalize
from affiliate_site.moving.tables.references import find_affiliates, find_programs
from affiliate_site.moving.tables.rows import AMOUNT_TYPES, is_example
from affiliate_site.moving.tables.values import (
    EPOCHS,
    Styles,
    find_shape,
    fold_word,
    parse_any_date,
)
from affiliate_site.moving.tables.words import (
    LEAVE_OUT,
    MEANINGS,
    MONEY_NAMES,
    MONEY_PARTS,
    NOT_ABOUT_MONEY,
    SUGGESTIONS,
    WORDS,
)
from tracking.services.imports import ImportProblem

MAX_WORDS = 20  # of a column; one with more holds something else
MAX_WORD_LENGTH = 64
MAX_NAMED = 5
MAX_COMPARED = 500  # amounts
# Whole numbers without others to compare with are asked about from here on.
MIN_DOUBTED = {"amount": 1000, "values": 10}
WHOLE_NUMBER = re.compile(r"-?\d{1,20}(\.0)?", re.ASCII)  # a spreadsheet adds `.0`
IGNORE, CREATE, ADD_UP = "ignore", "create", "add_up"
CENTS, WHOLE = "cents", "whole"
# The columns that an unread column about money may be, by the kind of table.
MONEY_COLUMNS = {
    "conversions": (*("status", "approved", "paid", "paid_at", "payment", "row_kind", "tier"),),
    "payments": ("status",),
    "opening_balances": (),
}
# With this column, others are not asked about.
READ_INSTEAD = {"payments": "removed_at"}
TEXTS = {
    "dates": "How are dates written? {example} in “{column}” is",
    "decimal": "How are numbers written? {example} in “{column}” is",
    "units": "Are the amounts whole units or cents? {example} in “{column}” is",
    "column": "“{column}” ({example}) looks as if it decides about money, and is not"
    " read. What is it?",
    "value": "“{example}” in “{column}” means",
    "affiliates": "Nobody here is named {example} in “{column}”. What about them?",
    "twice": "{example} in “{column}” is there several times. What about such rows?",
    "paid_on": "Sales are paid, and the file does not say when. Their payments have the day",
}


@dataclass(frozen=True)
class ImportQuestion:
    """A question about the column `column`, with a cell as `example`.

    `name` is a key of `TEXTS`, with what it is about after a colon. `options` map each
    answer to what it means: for styles what the example is in them, None: it cannot be
    read. Without options the answer is a day. What is suggested counts unless there is
    another answer. One that is not needed may stay open: its rows are problems then.
    """

    name: str
    column: str
    example: str
    options: dict[str, str | None]
    suggestion: str = ""
    is_needed: bool = True

    @property
    def text(self) -> str:
        """The question as a sentence or its beginning."""
        text = TEXTS[self.name.partition(":")[0]]
        return text.format(column=self.column, example=self.example)


@dataclass(frozen=True)
class FileColumn:
    column: ImportColumn
    header: str
    cells: list[Cell]

    @property
    def texts(self) -> list[str]:
        """The cells that are texts or numbers."""
        return [str(it) for it in self.cells if isinstance(it, str | Decimal)]


def list_columns(
    kind: TableKind,
    table: ReadTable,
    rows: Sequence[TableRow],
    mapping: Mapping[str, str],
) -> list[FileColumn]:
    """Return the chosen columns, without the cells of a template's example."""
    chosen = [
        (column, table.header.index(header))
        for name, header in mapping.items()
        if (column := kind.find_column(name))
    ]
    own = [row for row in rows if not is_example(row, kind, chosen)]
    return [
        FileColumn(it, table.header[index], [row.cells[index] for row in own])
        for it, index in chosen
    ]


def ask_about_units(
    account: Account, kind: TableKind, columns: Sequence[FileColumn]
) -> Iterator[ImportQuestion]:
    """Ask whether amounts are cents, if all are bare digits and that is in doubt.

    They are compared with the amounts that the account has, else with what is usual.
    """
    amounts = [it for it in columns if it.column.type in AMOUNT_TYPES]
    cells = [it for column in amounts for it in column.texts]
    if not all(map(WHOLE_NUMBER.fullmatch, cells)):
        return
    values = [number for cell in cells if (number := abs(parse_decimal(cell)))]
    main = [
        abs(parse_decimal(cell))
        for it in amounts
        if it.column.name == "amount"
        for cell in it.texts
    ]
    if not values or not main:
        return
    known = list_known_amounts(account, kind)
    if known:
        is_doubted = median(main) > 10 * median(known)
    else:
        is_doubted = (
            max(values) >= MIN_DOUBTED["amount"] or len(set(values)) >= MIN_DOUBTED["values"]
        )
    if is_doubted:
        header = amounts[0].header
        example, total = max(main), sum(main, Decimal(0))
        yield ImportQuestion(
            "units",
            header,
            f"{example:f}",
            {
                unit: f"{example / share:,.2f}, all together {total / share:,.2f}"
                for unit, share in ((WHOLE, 1), (CENTS, 100))
            },
        )


def list_known_amounts(account: Account, kind: TableKind) -> list[Decimal]:
    """Return some amounts of the account that are like those of the table."""
    rows: Any = {
        "conversions": account.conversions.not_deleted(),
        "payments": account.payments.not_canceled(),
    }.get(kind.name)
    if rows is None:
        return []
    return list(rows.order_by("-pk").values_list("amount", flat=True)[:MAX_COMPARED])


def ask_about_columns(
    kind: TableKind,
    table: ReadTable,
    rows: Sequence[TableRow],
    mapping: Mapping[str, str],
) -> Iterator[ImportQuestion]:
    """Ask what columns are that nobody reads, and that look as if they decide about
    money."""
    if kind.name not in MONEY_COLUMNS or READ_INSTEAD.get(kind.name) in mapping:
        return
    free = [kind.by_name[it] for it in MONEY_COLUMNS[kind.name] if it not in mapping]
    for index, header in enumerate(table.header):
        if header in mapping.values() or not is_about_money(header):
            continue
        cells = [cell for row in rows if (cell := row.cells[index])]
        words = dict.fromkeys(map(str, cells))
        if words:
            example = ", ".join(list(words)[:MAX_NAMED])
            options: dict[str, str | None] = {
                it.name: it.label for it in free if fits_values(it, cells)
            }
            options[IGNORE] = "It does not matter here"
            yield ImportQuestion(f"column:{header}", header, example, options)


def fits_values(column: ImportColumn, cells: Sequence[Cell]) -> bool:
    """Return whether cells may be those of a column: of days, and only of days, if it
    holds them. Numbers may be times or IDs."""
    shapes = {"iso" if isinstance(cell, datetime) else find_shape(str(cell)) for cell in cells}
    if shapes & EPOCHS:
        return True
    return shapes != {""} if column.type == "date" else "" in shapes


def is_about_money(header: str) -> bool:
    """Return whether a column looks as if it decides what is owed or paid."""
    text = normalize(header)
    if text in NOT_ABOUT_MONEY:
        return False
    if any(name in text.split() for name in MONEY_NAMES):
        return True
    return any(part in text for part in MONEY_PARTS)


def ask_about_words(columns: Sequence[FileColumn]) -> Iterator[ImportQuestion]:
    """Ask what the words of a column mean that are not known."""
    for it in columns:
        kind = it.column.type
        if kind not in WORDS:
            continue
        words = dict.fromkeys(map(fold_word, it.texts))
        unknown = [word for word in words if word not in WORDS[kind]]
        if not 0 < len(unknown) <= MAX_WORDS or max(map(len, unknown)) > MAX_WORD_LENGTH:
            continue
        for word in unknown:
            yield ImportQuestion(
                f"value:{it.column.name}:{word}",
                it.header,
                word,
                {**MEANINGS[kind], LEAVE_OUT: "Leave these rows out"},
                SUGGESTIONS.get(kind, {}).get(word, ""),
            )


def ask_about_programs(account: Account, columns: Sequence[FileColumn]) -> Iterator[ImportQuestion]:
    """Ask which programs names stand for that no program has; the only one is
    suggested."""
    for it in columns:
        if it.column.type != "program":
            continue
        texts = dict.fromkeys(it.texts)
        found = find_programs(account, texts.keys())
        unknown = [text for text in texts if text not in found]
        programs = account.programs.filter(archived_at=None).order_by("title", "pk")
        titles = dict(programs.values_list("slug", "title"))
        if not titles or len(unknown) > MAX_WORDS:
            continue
        options = {**titles, LEAVE_OUT: "Leave these rows out"}
        only = next(iter(titles)) if len(titles) == 1 else ""
        for word in unknown:
            name = f"value:{it.column.name}:{fold_word(word)}"
            yield ImportQuestion(name, it.header, word, dict(options), only, is_needed=False)


def ask_about_affiliates(
    account: Account, kind: TableKind, columns: Sequence[FileColumn]
) -> Iterator[ImportQuestion]:
    """Ask whether affiliates whom nobody here is named like are created."""
    if kind.name == "affiliates":
        return
    has_program = "program" in kind.by_name
    where = "approved in the program of their rows" if has_program else "in no program"
    for it in columns:
        if it.column.type == "affiliate":
            texts = dict.fromkeys(it.texts)
            found = find_affiliates(account, texts.keys())
            unknown = [text for text in texts if text not in found]
            if unknown:
                yield ImportQuestion(
                    "affiliates",
                    it.header,
                    name_some(unknown),
                    {
                        CREATE: f"Create them, {where}",
                        LEAVE_OUT: "Leave their rows out",
                    },
                    is_needed=False,
                )


def ask_about_duplicates(
    kind: TableKind, columns: Sequence[FileColumn]
) -> Iterator[ImportQuestion]:
    """Ask what to do with several opening balances of one affiliate."""
    if kind.name != "opening_balances":
        return
    named = [it for it in columns if it.column.name in ("affiliate", "currency")]
    named.sort(key=lambda it: it.column.name)
    if not named or named[0].column.name != "affiliate":
        return
    seen: set[tuple[str, ...]] = set()
    several: dict[str, None] = {}
    for cells in zip(*(it.cells for it in named), strict=True):
        key = tuple(fold_email(str(cell)) for cell in cells)
        if cells[0] and key in seen:
            several[str(cells[0])] = None
        seen.add(key)
    if several:
        options: dict[str, str | None] = {
            ADD_UP: "Add the amounts up",
            LEAVE_OUT: "Leave these rows out",
        }
        yield ImportQuestion(
            "twice", named[0].header, name_some(list(several)), options, is_needed=False
        )


def ask_about_day(
    columns: Sequence[FileColumn], styles: Styles, words: Mapping[tuple[str, str], str]
) -> Iterator[ImportQuestion]:
    """Ask on which day sales were paid whose rows do not say it.

    The day of the latest of these sales is suggested.
    """
    by_name = {it.column.name: it for it in columns}
    if "commission" not in by_name:
        return
    latest: datetime | None = None
    header = ""
    count = len(by_name["commission"].cells)
    for index in range(count):
        cells = {name: it.cells[index] for name, it in by_name.items()}
        if cells.get("paid_at") or cells.get("payment"):
            continue
        name = next((it for it in ("paid", "status") if is_paid(it, cells, words)), "")
        if name:
            header = header or by_name[name].header
            at = read_day(cells.get("created_at"), styles)
            latest = max(filter(None, (latest, at)), default=None, key=to_day)
    if header and latest:
        yield ImportQuestion("paid_on", header, "", {}, to_day(latest))


def to_day(at: datetime) -> str:
    """Return the day of a time, in the order of days."""
    return at.date().isoformat()


def is_paid(name: str, cells: Mapping[str, Cell], words: Mapping[tuple[str, str], str]) -> bool:
    """Return whether the cell of a column says that the sale is paid."""
    cell = cells.get(name)
    if cell is None:
        return False
    word = fold_word(cell)
    return WORDS[name].get(words.get((name, word), word)) in (True, "paid")


def read_day(cell: Cell, styles: Styles) -> datetime | None:
    """Return the time of a cell; None if it is none."""
    if isinstance(cell, datetime):
        return cell
    try:
        return parse_any_date(str(cell), styles.dates)
    except ImportProblem:
        return None


def name_some(texts: Sequence[str]) -> str:
    """Return the first texts, and how many more there are."""
    more = len(texts) - MAX_NAMED
    return ", ".join(texts[:MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")
