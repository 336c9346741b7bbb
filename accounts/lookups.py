"""Look up one row or raise a business error."""

from typing import Any, TypeVar

from django.db.models import Manager, Model, QuerySet

Row = TypeVar("Row", bound=Model)


def get_or_raise(
    rows: QuerySet[Row] | Manager[Row],
    error: Exception | type[Exception],
    *,
    lock: bool = False,
    **lookup: Any,
) -> Row:
    """Return the first of these rows that matches, or raise `error`.

    With `lock`, the row (without joined rows) is locked until the transaction ends.
    """
    if lock:
        rows = rows.select_for_update(no_key=True, of=("self",))
    row = rows.filter(**lookup).first()
    if row is None:
        raise error
    return row
