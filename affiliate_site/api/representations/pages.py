"""Count the rows of a list, and load the rows of a page, by compiled queries.

Lists whose conditions compare the same columns with values share a compiled query. The
SQL of other lists is compiled each time.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db.models import Count, Model, QuerySet
from django.db.models.expressions import RawSQL

from accounts.compiled_queries import CompiledQuery, CompiledSelect
from accounts.models.accounts import Account, TenantQuerySet
from accounts.services.row_counts import read_conditions
from affiliate_site.api.representations.base import Representation, Row

COMPARISONS = {"exact", "isnull", "gte", "lt"}

Lookups = tuple[tuple[str, bool | None], ...]


def load_page(
    representation: type[Representation],
    rows: TenantQuerySet[Any],
    account: Account,
    *,
    offset: int,
    limit: int,
) -> list[Row]:
    """Return `limit` rows from `offset`, with the columns of the representation."""
    if rows.query.is_empty():
        return []
    values = read_comparisons(rows)
    if not values:
        page = rows.paginate(account, offset=offset, limit=limit)
        return list(representation.select(page))
    query = get_page_query(
        representation,  # type: ignore[arg-type]  # mypy: classes are not hashable
        get_lookups(values),
        rows.query.order_by,
        limit,
    )
    return query.all(rows.db, **values, offset=offset)


def count_list(rows: TenantQuerySet[Any]) -> int:
    """Return the number of rows of a list."""
    values = read_comparisons(rows)
    if not values:
        return rows.count()
    query = get_count_query(rows.model, get_lookups(values))  # type: ignore[arg-type]
    return sum(query.all(rows.db, **values))


def read_comparisons(rows: TenantQuerySet[Any]) -> dict[str, Any]:
    """Return the values of a list's conditions by look-up, such as `created_at__gte`.

    The result is empty if another kind of condition is among them.
    """
    conditions = read_conditions(rows.query)
    if any(kind not in COMPARISONS for _, kind in conditions):
        return {}
    return {f"{name}__{kind}": value for (name, kind), value in conditions.items()}


def get_lookups(values: dict[str, Any]) -> Lookups:
    """Return the look-ups, each with its constant (see `get_constant`)."""
    return tuple((lookup, get_constant(value)) for lookup, value in values.items())


def get_constant(value: Any) -> bool | None:
    """Return True or False, which are part of the SQL; None for a parameter."""
    return value if isinstance(value, bool) else None


@cache
def get_page_query(
    representation: type[Representation],
    lookups: Lookups,
    order_by: tuple[str, ...],
    limit: int,
) -> CompiledQuery[Row]:
    """Return the compiled query of a page; its parameters are look-ups and `offset`.

    The limit applies before joins. The offset is a parameter, which Django cannot do.
    """

    def select_page(offset: int, **values: Any) -> QuerySet[Any, Row]:
        rows = select_rows(representation.model, lookups, values).order_by(*order_by)
        ids = CompiledSelect(rows.values("pk")).statement
        page = RawSQL(  # noqa: S611 - SQL of Django, and our own limit
            f"{ids.sql} LIMIT {limit} OFFSET %s", (*ids.parameters, offset)
        )
        account = values["account__exact"]
        rows = representation.model.objects.filter(account=account, pk__in=page)
        return representation.select(rows.order_by(*order_by))

    return CompiledQuery(select_page, (*list_names(lookups), "offset"))


@cache
def get_count_query(model: type[Model], lookups: Lookups) -> CompiledQuery[int]:
    """Return the compiled query of a list's length; it returns no row for 0."""

    def count_all(**values: Any) -> QuerySet[Any, int]:
        counted = select_rows(model, lookups, values).values("account")
        return counted.annotate(n=Count("pk")).values_list("n", flat=True)

    return CompiledQuery(count_all, list_names(lookups))


def select_rows(
    model: type[Model], lookups: Lookups, values: dict[str, Any]
) -> TenantQuerySet[Any]:
    """Return the rows that match the look-ups."""
    rows: TenantQuerySet[Any] = model.objects.all()  # type: ignore[attr-defined]
    for lookup, constant in lookups:
        value = values[lookup] if constant is None else constant
        rows = rows.filter(**{lookup: value})
    return rows


def list_names(lookups: Lookups) -> tuple[str, ...]:
    """Return the names of a compiled query's parameters: look-ups without constant."""
    return tuple(lookup for lookup, constant in lookups if constant is None)
