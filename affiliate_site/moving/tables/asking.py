"""All questions about a file, and how it is read with their answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from accounts.models.accounts import Account
from affiliate_site.moving.tables.files import ReadTable, TableRow
from affiliate_site.moving.tables.kinds import TableKind
from affiliate_site.moving.tables.questions import (
    ImportQuestion,
    ask_about_affiliates,
    ask_about_columns,
    ask_about_day,
    ask_about_duplicates,
    ask_about_programs,
    ask_about_units,
    ask_about_words,
    list_columns,
)
from affiliate_site.moving.tables.style_questions import choose_dates, choose_decimal
from affiliate_site.moving.tables.values import Styles


def choose_words(
    questions: Iterable[ImportQuestion], answers: Mapping[str, str]
) -> dict[tuple[str, str], str]:
    """Return what words mean, by the names of columns and the words."""
    words = {}
    for question in questions:
        kind, _, rest = question.name.partition(":")
        suggestion = question.suggestion if question.is_needed else ""
        meaning = answers.get(question.name) or suggestion
        if kind == "value" and meaning:
            name, _, word = rest.partition(":")
            words[name, word] = meaning
    return words


@dataclass(frozen=True)
class Answered:
    """How the file is read, and all questions, those with an answer too."""

    styles: Styles
    words: Mapping[tuple[str, str], str]
    questions: list[ImportQuestion]


def ask(
    account: Account,
    kind: TableKind,
    table: ReadTable,
    rows: Sequence[TableRow],
    mapping: Mapping[str, str],
    styles: Styles,
    answers: Mapping[str, str],
) -> Answered:
    """Return what has to be asked about a file, and how it is read with the answers."""
    columns = list_columns(kind, table, rows, mapping)
    decimal, first = choose_decimal(columns, styles.decimal)
    dates, second = choose_dates(columns, styles.dates)
    chosen = Styles(decimal, dates or None)
    asked = [*ask_about_words(columns), *ask_about_programs(account, columns)]
    words = choose_words(asked, answers)
    days = ask_about_day(columns, chosen, words) if kind.name == "conversions" else ()
    return Answered(
        chosen,
        words,
        [
            *(*first, *second),
            *ask_about_columns(kind, table, rows, mapping),
            *ask_about_units(account, kind, columns),
            *asked,
            *days,
            *ask_about_affiliates(account, kind, columns),
            *ask_about_duplicates(kind, columns),
        ],
    )


def is_open(question: ImportQuestion, styles: Styles, answers: Mapping[str, str]) -> bool:
    """Return whether rows cannot be stored before somebody answers the question."""
    if not question.is_needed or question.suggestion:
        return False
    if question.name == "decimal":
        return not styles.decimal
    if question.name.startswith("dates"):
        return not set(question.options) & set((styles.dates or "").split())
    return not answers.get(question.name)
