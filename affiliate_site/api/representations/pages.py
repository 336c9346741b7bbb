"""Loads the rows of a page, by SQL that is compiled once for the same conditions."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db.models import QuerySet

from accounts.compiled_queries import OFFSET_MARK, CompiledQuery
from accounts.models.accounts import Account, TenantQuerySet
from accounts.services.row_counts import read_conditions
from affiliate_site.api.representations.base import Representation, Row

COMPARISONS = {"exact", "isnull", "gte", "lt"}


def load_page(
    representation: type[Representation],
    rows: TenantQuerySet[Any],
    account: Account,
    *,
    offset: int,
    limit: int,
) -> list[Row]:
    """Return the columns of `limit` rows from `offset`.

    Conditions that are no comparisons of columns with values are compiled each time.
    """
    conditions = read_conditions(rows)
    if not conditions or any(kind not in COMPARISONS for _, kind in conditions):
        page = rows.paginate(account, offset=offset, limit=limit)
        return list(representation.select(page))
    values = {f"{name}__{kind}": value for (name, kind), value in conditions.items()}
    query = get_page_query(
        representation,  # type: ignore[arg-type]  # mypy: classes are not hashable
        tuple((lookup, get_constant(value)) for lookup, value in values.items()),
        rows.query.order_by,
        limit,
    )
    return query.all(**values, offset=offset)


def get_constant(value: Any) -> bool | None:
    """Return True or False, which are part of the SQL; None for a parameter."""
    return value if isinstance(value, bool) else None


@cache
def get_page_query(
    representation: type[Representation],
    lookups: tuple[tuple[str, bool | None], ...],
    order_by: tuple[str, ...],
    limit: int,
) -> CompiledQuery[Row]:
    """Return the compiled query of a page with these look-ups and their constants."""

    def select_page(**values: Any) -> QuerySet[Any, Row]:
        rows = representation.model.objects.order_by(*order_by)
        for lookup, constant in lookups:
            value = values[lookup] if constant is None else constant
            rows = rows.filter(**{lookup: value})
        page = rows.paginate(values["account__exact"], offset=OFFSET_MARK, limit=limit)
        return representation.select(page)

    names = tuple(lookup for lookup, constant in lookups if constant is None)
    return CompiledQuery(select_page, names)
