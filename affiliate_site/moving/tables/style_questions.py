"""In which style a file writes numbers and dates: found, or asked."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from affiliate_site.moving.tables.questions import FileColumn, ImportQuestion
from affiliate_site.moving.tables.rows import AMOUNT_TYPES
from affiliate_site.moving.tables.values import (
    ALIKE,
    NUMBER_STYLES,
    find_shape,
    find_styles,
    list_alike,
    parse_date,
    parse_number,
)
from tracking.services.imports import ImportProblem


def choose_decimal(
    columns: Sequence[FileColumn], answer: str | None
) -> tuple[str | None, list[ImportQuestion]]:
    """Return the style of numbers, and what has to be asked."""
    cells = [
        (it.header, cell)
        for it in columns
        if it.column.type in AMOUNT_TYPES
        for cell in it.cells
        if isinstance(cell, str)
    ]
    texts = [cell for _, cell in cells]
    style, options = find_styles(texts, parse_number, list(NUMBER_STYLES))
    if style:
        return answer or style, []
    return answer, [build_style_question("decimal", cells, parse_number, options)]


def choose_dates(
    columns: Sequence[FileColumn], answers: str | None
) -> tuple[str, list[ImportQuestion]]:
    """Return the styles of dates with spaces between them, and what has to be asked.

    One column with several styles is asked about each of them.
    """
    shapes: dict[str, list[tuple[str, str]]] = {}
    is_mixed = False
    for it in columns:
        if it.column.type == "date":
            own = [(find_shape(text), text) for text in it.texts]
            is_mixed |= len({shape for shape, _ in own if shape}) > 1
            for shape, text in own:
                if shape:
                    shapes.setdefault(ALIKE.get(shape, shape), []).append((it.header, text))
    chosen, questions = (answers or "").split(), []
    for shape, cells in shapes.items():
        alike = list_alike(shape)
        style, options = find_styles([text for _, text in cells], parse_date, alike)
        if is_mixed or not style:
            name = f"dates:{shape}" if len(shapes) > 1 else "dates"
            options = options or [style or shape]
            question = build_style_question(name, cells, parse_date, options)
            questions.append(replace(question, suggestion=style or ""))
        if style and not set(alike) & set(chosen):
            chosen.append(style)
    return " ".join(chosen), questions


def build_style_question(
    name: str, cells: Sequence[tuple[str, str]], parse: Any, options: Sequence[str]
) -> ImportQuestion:
    """Return the question with the cell that differs most between the styles."""

    def count_meanings(cell: str) -> int:
        return len({read_or_none(parse, cell, option) for option in options})

    header, example = max(cells, key=lambda pair: count_meanings(pair[1]))
    readings = {option: read_or_none(parse, example, option) for option in options}
    return ImportQuestion(name, header, example, readings)


def read_or_none(parse: Any, cell: str, style: str) -> str | None:
    """Return what a cell means in a style; None if it cannot be read."""
    try:
        value = parse(cell, style)
    except ImportProblem:
        return None
    return value.isoformat(" ") if isinstance(value, datetime) else f"{value:f}"
