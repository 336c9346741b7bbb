"""Functions and look-ups that Django does not have, for SQLite and PostgreSQL."""

import json
from typing import TYPE_CHECKING, Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import (
    BinaryField,
    CharField,
    Func,
    IntegerField,
    Lookup,
    TextField,
    Value,
)
from django.db.models.sql.compiler import SQLCompiler

LAST_CHARACTER = "\U0010ffff"  # of Unicode


class JsonTextAtKey(Func):
    """The text at one key of a JSON object, for any key.

    Django's own lookups treat a key of digits as an index into a list. SQLite
    compares a key as it is stored in the row, with its escapes.
    """

    output_field = TextField()

    def __init__(self, field: str, key: str) -> None:
        super().__init__(field)
        self.key = key

    def as_sqlite(  # type: ignore[override]
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        column, values = compiler.compile(self.source_expressions[0])
        return f"JSON_EXTRACT({column}, %s)", [*values, f"$.{json.dumps(self.key)}"]

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        column, values = compiler.compile(self.source_expressions[0])
        return f"({column} ->> %s::text)", [*values, self.key]


class BytesPosition(Func):
    """The position of bytes in a binary column, counted from 1; 0: not found."""

    function = "INSTR"
    output_field = IntegerField()

    def __init__(self, field: str, searched: bytes) -> None:
        super().__init__(field, Value(searched, output_field=BinaryField()))

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any
    ) -> tuple[str, list[Any]]:
        column, searched = map(compiler.compile, self.source_expressions)
        return f"POSITION({searched[0]} IN {column[0]})", [*searched[1], *column[1]]


if TYPE_CHECKING:
    StringLookup = Lookup[str]
else:
    StringLookup = Lookup


@CharField.register_lookup
class BeginsWith(StringLookup):
    """`column__begins_with`: case-sensitive, and found by an index on both databases.

    Django's `startswith` is a LIKE, for which SQLite does not use an index. On
    PostgreSQL the index needs `varchar_pattern_ops`, since a collation sorts texts
    in another order than by their characters.
    """

    lookup_name = "begins_with"

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[str | int, ...]]:
        column, values = self.process_lhs(compiler, connection)
        is_sqlite = connection.vendor == "sqlite"
        first, end = (">=", "<") if is_sqlite else ("~>=~", "~<~")
        sql = f"({column} {first} %s AND {column} {end} %s)"
        return sql, (*values, self.rhs, *values, f"{self.rhs}{LAST_CHARACTER}")
