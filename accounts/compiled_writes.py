"""Build the SQL of an INSERT or an UPDATE once, and run it with values.

Django builds the SQL each time. Queries are in `accounts/compiled_queries.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import (
    BooleanField,
    CharField,
    ForeignKey,
    IntegerField,
    JSONField,
    Model,
    TextField,
)
from django.db.models.sql import UpdateQuery

from accounts.compiled_queries import (
    CompiledStatement,
    Parameter,
    find_lookups,
    set_parameter_fields,
)
from accounts.db_compat import split_by_values
from accounts.encryption import EncryptedTextField

PLAIN_TYPES = {
    BooleanField: bool,
    CharField: str,
    ForeignKey: int,
    IntegerField: int,
    TextField: str,
}
MAX_KEPT_ROWS = 64  # the SQL of an INSERT of more rows is not kept

# The SQL of inserts and updates, by model, fields and number of rows.
_inserts: dict[Any, str] = {}
_updates: dict[Any, CompiledStatement] = {}


def insert_rows(rows: Sequence[Model]) -> None:
    """Insert rows of one model and set their primary keys.

    All rows are in one statement, unless the database limits the number of its values.
    """
    if not rows:
        return
    fields = get_insert_fields(type(rows[0]), has_key=rows[0].pk is not None)
    batches = split_by_values(rows, len(fields))
    if len(batches) == 1:
        _insert_batch(rows, "")
        return
    with transaction.atomic(savepoint=False):
        for batch in batches:
            _insert_batch(batch, "")


def insert_many_rows(rows: Sequence[Model]) -> None:
    """Insert thousands of rows of one model, without reading their primary keys.

    psycopg takes longer to read one statement with all values than to send each row.
    """
    if not rows:
        return
    connection = connections[DEFAULT_DB_ALIAS]
    fields = get_insert_fields(type(rows[0]), has_key=False)
    sql = _build_insert(type(rows[0]), fields, 1, "", ())
    with (
        transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS),
        connection.cursor() as cursor,
    ):
        cursor.executemany(sql, [_list_values(row, fields, connection) for row in rows])


def insert_or_ignore(row: Model, unique_fields: tuple[str, ...], condition_sql: str = "") -> bool:
    """Insert a row and set its primary key; return False if it conflicts.

    Also sets the JSON fields of the row to what is stored, because PostgreSQL reorders
    keys. See `TenantQuerySet.insert_or_ignore`.
    """
    columns = ", ".join(
        f'"{row._meta.get_field(name).attname}"'  # type: ignore[union-attr]
        for name in unique_fields
    )
    condition = f" WHERE {condition_sql}" if condition_sql else ""
    return _insert_batch([row], f" ON CONFLICT ({columns}){condition} DO NOTHING")


def _insert_batch(rows: Sequence[Model], conflict_sql: str) -> bool:
    """Insert rows by one statement; return whether they were inserted."""
    model, connection = type(rows[0]), connections[DEFAULT_DB_ALIAS]
    fields = get_insert_fields(model, has_key=rows[0].pk is not None)
    values = [value for row in rows for value in _list_values(row, fields, connection)]
    stored_fields: list[Any] = [
        field for field in fields if conflict_sql and isinstance(field, JSONField)
    ]
    key = model, len(fields), len(rows), conflict_sql
    sql = _inserts.get(key) or _build_insert(
        model, fields, len(rows), conflict_sql, [model._meta.pk, *stored_fields]
    )
    if len(rows) <= MAX_KEPT_ROWS:
        _inserts[key] = sql
    with (
        transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS),
        connection.cursor() as cursor,
    ):
        cursor.execute(sql, values)
        returned = cursor.fetchall()
    if not returned:
        return False
    for row, (pk, *stored) in zip(rows, returned, strict=True):
        row.pk = pk
        for field, value in zip(stored_fields, stored, strict=True):
            setattr(row, field.attname, field.from_db_value(value, None, connection))
        row._state.adding = False  # noqa: SLF001 - as Django's own insert does
        row._state.db = DEFAULT_DB_ALIAS  # noqa: SLF001
    return True


def _list_values(row: Model, fields: dict[Any, type | None], connection: Any) -> list[Any]:
    return [
        value
        if type(value := getattr(row, field.attname)) is plain_type or value is None
        else field.get_db_prep_save(field.pre_save(row, add=True), connection)
        for field, plain_type in fields.items()
    ]


@cache
def get_insert_fields(model: type[Model], *, has_key: bool) -> dict[Any, type | None]:
    """Return the fields that an insert names: all but a primary key to be generated.

    Maps each field to the type whose values need no preparation, if there is one.
    """
    return {
        field: next(
            (plain for kind, plain in PLAIN_TYPES.items() if isinstance(field, kind)),
            None,
        )
        if not isinstance(field, EncryptedTextField)
        else None
        for field in model._meta.concrete_fields
        if has_key or not field.primary_key
    }


def _build_insert(
    model: type[Model],
    fields: Iterable[Any],
    row_count: int,
    conflict_sql: str,
    returned_fields: Iterable[Any],
) -> str:
    quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
    columns = ", ".join(quote(field.column) for field in fields)
    placeholders = f"({', '.join('%s' for _ in fields)})"
    returned = ", ".join(quote(field.column) for field in returned_fields)
    return (
        f"INSERT INTO {quote(model._meta.db_table)} ({columns})"  # noqa: S608 - names from our own models
        f" VALUES {', '.join([placeholders] * row_count)}{conflict_sql}"
        f"{f' RETURNING {returned}' if returned else ''}"
    )


def update_rows(model: type[Model], lookup: dict[str, Any], values: dict[str, Any]) -> int:
    """Update the rows that match the lookup; return their number.

    None in the lookup matches NULL. Values are no expressions.
    """
    constants = {name: v for name, v in lookup.items() if v is None or v is True or v is False}
    key = model, tuple(values), tuple(lookup), tuple(constants.items())
    if key not in _updates:
        parameters = {name: Parameter(name) for name in lookup}
        _updates[key] = _build_update(model, parameters | constants, values)
    statement = _updates[key]
    arguments = {f"new_{name}": value for name, value in values.items()} | lookup
    connection = connections[DEFAULT_DB_ALIAS]
    with (
        transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement.sql, statement.bind(arguments, connection))
        return int(cursor.rowcount)


def _build_update(
    model: type[Model], lookup: dict[str, Any], values: dict[str, Any]
) -> CompiledStatement:
    query: Any = model._base_manager.filter(**lookup).query.chain(UpdateQuery)
    for found in find_lookups(query):
        set_parameter_fields(found)
    new_values = {name: Parameter(f"new_{name}") for name in values}
    for name, parameter in new_values.items():
        parameter.compared_field = model._meta.get_field(name)  # type: ignore[assignment]
    query.add_update_values(new_values)
    sql, parameters = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
    return CompiledStatement(sql, tuple(parameters))


def update_each(
    model: type[Model],
    account_id: int,
    names: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    *,
    adds: bool = False,
) -> None:
    """Set these fields of many rows, each to values of its own, in few statements.

    `rows` are tuples of a primary key and the values. With `adds`, the values are added
    to those of the rows. The caller has locked the rows: a statement changes them in no
    certain order.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    quote = connection.ops.quote_name
    fields: list[Any] = [model._meta.pk, *map(model._meta.get_field, names)]
    columns = [quote(f"new_{field.column}") for field in fields]
    # The types of the first row are those of all. SQLite would make dates to numbers.
    is_typed = connection.vendor == "postgresql"
    casts = ", ".join(
        f"CAST(%s AS {field.db_type(connection)})" if is_typed else "%s" for field in fields
    )
    placeholders = ", ".join("%s" for _ in fields)
    assignments = ", ".join(
        f"{quote(field.column)} = {f'{quote(field.column)} + ' if adds else ''}{column}"
        for field, column in zip(fields[1:], columns[1:], strict=True)
    )
    table = quote(model._meta.db_table)
    for batch in split_by_values(rows, len(fields)):
        values = f"({casts})" + f", ({placeholders})" * (len(batch) - 1)
        sql = (
            f"WITH new ({', '.join(columns)}) AS (VALUES {values})"  # noqa: S608 - names from our own models
            f" UPDATE {table} SET {assignments} FROM new"
            f" WHERE {table}.{quote('account_id')} = %s"
            f" AND {table}.{quote(fields[0].column)} = {columns[0]}"
        )
        parameters = [
            field.get_db_prep_save(value, connection)
            for row in batch
            for field, value in zip(fields, row, strict=True)
        ]
        with (
            transaction.mark_for_rollback_on_error(DEFAULT_DB_ALIAS),
            connection.cursor() as cursor,
        ):
            cursor.execute(sql, [*parameters, account_id])
