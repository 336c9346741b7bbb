"""Compile a queryset to SQL once, and run it with values.

Django builds and compiles the SQL of a statement each time, which takes several times
as long as running it. See docs/performance.md, section 2.
Inserts and updates are in `accounts/compiled_writes.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import (
    BigIntegerField,
    Field,
    Lookup,
    Model,
    QuerySet,
    Value,
)
from django.db.models.query import (
    FlatValuesListIterable,
    ModelIterable,
    ValuesIterable,
    get_related_populators,
)
from django.db.models.sql import Query

Row = TypeVar("Row")


class Parameter(Value):
    """A placeholder in a queryset; each execution passes its value by `name`."""

    def __init__(self, name: str, index: int | None = None) -> None:
        super().__init__(name)
        self.name = name
        self.index = index  # of the value, if the value by that name is a list
        self.compared_field: Field[Any, Any] | None = None

    def as_sql(  # type: ignore[override]
        self, compiler: Any, connection: Any
    ) -> tuple[str, list[Any]]:
        """Return a placeholder with the parameter itself as its value."""
        return "%s", [self]

    def _resolve_output_field(self) -> None:
        """The type of the values is not known."""

    def get_value(self, values: dict[str, Any], connection: Any) -> Any:
        """Return the value of this execution, prepared for the database."""
        value = values[self.name]
        if self.index is not None:  # a shorter list repeats its last value
            value = value[min(self.index, len(value) - 1)]
        if isinstance(value, Model):
            value = value.pk
        if isinstance(value, int) and abs(value) > BigIntegerField.MAX_BIGINT:
            raise EmptyResultSet  # no row has it
        if self.compared_field is None:
            return value
        if self.for_save:
            return self.compared_field.get_db_prep_save(value, connection)
        return self.compared_field.get_db_prep_value(value, connection)


@dataclass(frozen=True)
class CompiledStatement:
    """SQL, and the parameter or constant of each placeholder in the SQL's order."""

    sql: str
    parameters: tuple[Any, ...]

    def bind(self, values: dict[str, Any], connection: Any) -> list[Any]:
        """Return the values of the placeholders."""
        return [
            parameter.get_value(values, connection)
            if isinstance(parameter, Parameter)
            else parameter
            for parameter in self.parameters
        ]


class CompiledSelect:
    """A compiled queryset: the statement, and how its rows become results."""

    def __init__(self, queryset: QuerySet[Any, Any]) -> None:
        compiler = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        for lookup in find_lookups(queryset.query):
            set_parameter_fields(lookup)
        sql, parameters = compiler.as_sql()
        self.statement = CompiledStatement(sql, tuple(parameters))
        self.locks = queryset.query.select_for_update
        self.model = queryset.model
        self.foreign_keys = {field.name for field in self.model._meta.fields if field.is_relation}
        expressions = [column[0] for column in compiler.select[: compiler.col_count]]
        self.converters = compiler.get_converters(expressions)
        iterable_class = queryset._iterable_class  # noqa: SLF001 - as Django names it
        self.is_model = iterable_class is ModelIterable
        if self.is_model:
            self._prepare_instances(compiler)
        elif iterable_class is ValuesIterable:
            names = tuple(queryset.query.selected or ())
            self.build_row: Callable[[Any], Any] = lambda row: dict(zip(names, row, strict=True))
        elif iterable_class is FlatValuesListIterable:
            self.build_row = lambda row: row[0]
        else:
            self.build_row = tuple

    def _prepare_instances(self, compiler: Any) -> None:
        """Keep what Django's `ModelIterable` looks up for each query.

        The public `QuerySet.raw` would fill no related objects: a query for each of
        them (8 in a sale) takes a sixth of the CPU time of a sale.
        """
        info = compiler.klass_info
        first, last = info["select_fields"][0], info["select_fields"][-1] + 1
        names = [column[0].target.attname for column in compiler.select[first:last]]
        populators = get_related_populators(info, compiler.select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]
        annotations = tuple((compiler.annotation_col_map or {}).items())

        def build_row(row: Any) -> Any:
            instance = info["model"].from_db(DEFAULT_DB_ALIAS, names, row[first:last])
            for populator in populators:
                populator.populate(row, instance)
            for name, position in annotations:
                setattr(instance, name, row[position])
            return instance

        self.build_row = build_row

    def run(self, values: dict[str, Any], using: str) -> list[Any]:
        """Run the statement with these values, by parameter name; return the results.

        Raises `TransactionManagementError` if the query locks rows in autocommit mode.
        """
        connection = connections[using]
        if self.locks and connection.get_autocommit():
            raise transaction.TransactionManagementError(
                "a query that locks rows runs inside a transaction"
            )
        try:
            arguments = self.statement.bind(values, connection)
        except EmptyResultSet:
            return []
        with connection.cursor() as cursor:
            cursor.execute(self.statement.sql, arguments)
            rows = cursor.fetchall()
        if self.converters:
            rows = [self._convert(row, connection) for row in rows]
        results = [self.build_row(row) for row in rows]
        if self.is_model:
            for name, value in values.items():
                if name in self.foreign_keys and isinstance(value, Model):
                    self._set_related(results, name, value)
        return results

    def _convert(self, row: Any, connection: Any) -> list[Any]:
        converted = list(row)
        for index, (functions, expression) in self.converters.items():
            value = converted[index]
            for function in functions:
                value = function(value, expression, connection)
            converted[index] = value
        return converted

    def _set_related(self, results: list[Any], name: str, value: Model) -> None:
        """Set the foreign key `name` of the results to the object that was passed."""
        field = self.model._meta.get_field(name)
        for instance in results:
            if not field.is_cached(instance):
                setattr(instance, name, value)


class CompiledQuery(Generic[Row]):
    """A function that returns a queryset, compiled at its first use in a process.

    The parameters are called like the function's arguments, unless `names` are given.
    For a list, the queryset is compiled once per length, rounded up to a power of two.
    Calling the object itself returns the ordinary queryset.
    """

    def __init__(
        self,
        function: Callable[..., QuerySet[Any, Row]],
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.function = function
        self.names = names or tuple(inspect.signature(function).parameters)
        self.compiled: dict[tuple[int | None, ...], CompiledSelect | None] = {}
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__

    def __call__(self, **values: Any) -> QuerySet[Any, Row]:
        return self.function(**values)

    def all(self, using: str = DEFAULT_DB_ALIAS, /, **values: Any) -> list[Row]:
        """Return all results for these values, read from the database `using`.

        Raises `ValueError` for None: `column = NULL` is never true in SQL.
        """
        sizes: list[int | None] = []
        for name in self.names:
            value = values[name]
            if value is None:
                raise ValueError(f"{self.__name__}: {name} is None")
            if isinstance(value, list | tuple):
                sizes.append(1 << (len(value) - 1).bit_length() if value else 0)
            else:
                sizes.append(None)
        key = tuple(sizes)
        if key not in self.compiled:
            self.compiled[key] = self.compile(key)
        select = self.compiled[key]
        return [] if select is None else select.run(values, using)

    def first(self, **values: Any) -> Row | None:
        """Return the first result, or None."""
        results = self.all(**values)
        return results[0] if results else None

    def get_or_raise(self, error: Exception | type[Exception], /, **values: Any) -> Row:
        """Return the first result, or raise `error`."""
        row = self.first(**values)
        if row is None:
            raise error
        return row

    def compile(self, sizes: Sequence[int | None]) -> CompiledSelect | None:
        """Compile the queryset for lists of these lengths (None: a single value).

        Returns None if no row can match, because a list is empty.
        """
        arguments: dict[str, Any] = {
            name: Parameter(name)
            if size is None
            else [Parameter(name, index) for index in range(size)]
            for name, size in zip(self.names, sizes, strict=True)
        }
        try:
            return CompiledSelect(self.function(**arguments))
        except EmptyResultSet:
            return None


def compiled(function: Callable[..., QuerySet[Any, Row]]) -> CompiledQuery[Row]:
    """Compile the queryset that a function returns once: use it as a decorator.

    ::

        @compiled
        def customer_by_id(account, customer_id):
            return Customer.objects.of(account).filter(customer_id=customer_id)

        customer_by_id.first(account=account, customer_id="member-2041")
    """
    return CompiledQuery(function)


def find_lookups(node: Any) -> Iterator[Lookup[Any]]:
    """Yield all lookups of a query or expression, with those of its subqueries."""
    if isinstance(node, Query):
        children: list[Any] = [node.where, *node.annotations.values()]
        joins = [getattr(join, "filtered_relation", None) for join in node.alias_map.values()]
        children += [join.resolved_condition for join in joins if join is not None]
    elif hasattr(node, "children"):
        children = node.children
    else:
        if isinstance(node, Lookup):
            yield node
        children = node.get_source_expressions()
    for child in children:
        if child is not None:
            yield from find_lookups(child)


def set_parameter_fields(lookup: Lookup[Any]) -> None:
    """Set the field with which the parameters of a lookup are compared: it prepares
    their values for the database."""
    right = lookup.rhs
    for parameter in getattr(right, "source_expressions", None) or [right]:
        if isinstance(parameter, Parameter):
            field = lookup.lhs.output_field
            parameter.compared_field = getattr(field, "target_field", field)
