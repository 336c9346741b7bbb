"""Look up one row or raise a business error."""

from typing import Any, TypeVar

from django.db.models import Count, IntegerField, Manager, Model, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

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


def count_rows(rows: QuerySet[Any]) -> Coalesce:
    """The number of these rows of one account, as a part of another query."""
    by_account = rows.order_by().values("account").annotate(n=Count("pk"))
    return Coalesce(Subquery(by_account.values("n"), output_field=IntegerField()), Value(0))
