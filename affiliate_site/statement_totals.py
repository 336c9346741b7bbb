"""Totals in place of the lines of a long statement: a PDF of 6,000 lines takes 21 s of
a server's thread and 640 MB."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from payouts.services.statements import Statement
from tracking.money import ZERO

MAX_LINES = 1_000  # of a PDF, of all currencies
PERIODS = (len("2026-03-04"), len("2026-03"), len("2026"))  # beginnings of a day


def choose_period(statement: Statement) -> int:
    """Return which beginning of a day the totals share; 0 if no totals are needed."""
    if sum(len(each.lines) for each in statement.currencies) <= MAX_LINES:
        return 0
    get_day = statement.affiliate.account.get_day
    days = {
        (each.currency, str(get_day(line.at)))
        for each in statement.currencies
        for line in each.lines
    }
    for length in PERIODS:
        if len({(currency, day[:length]) for currency, day in days}) <= MAX_LINES:
            break
    return length


def add_up_rows(
    rows: Sequence[tuple[Any, ...]], period: int, describe: Callable[[int], str]
) -> Iterator[tuple[Any, ...]]:
    """Replace the rows between the balances by one for each day, or longer period.

    A row begins with its day and ends with its amount; `describe` returns the text of a
    total of so many rows.
    """
    first, *movements, last = rows
    yield first
    for day, group in groupby(movements, key=lambda row: str(row[0])[:period]):
        amounts = [row[-1] for row in group]
        empty = [""] * (len(first) - 3)
        yield day, describe(len(amounts)), *empty, sum(amounts, ZERO)
    yield last
