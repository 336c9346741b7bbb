"""Representation: one declaration of an answer.

A `Representation` names each key of an answer in the order of the specification, with
its type, the column of its value, whether it may be null, and an example. From this
declaration come the columns of the query, the function from rows to answers, the
OpenAPI schema with its example, and the bodies of webhooks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import copy
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework import serializers

from accounts.compiled_queries import CompiledQuery
from accounts.models.accounts import Account
from affiliate_site.api.fields import ExactAmountField

ACCOUNT = "account"  # as a column: passes the account to the key's function

Row = tuple[Any, ...]
Reader = Callable[[Row], Any]
# A reader makes the value of a key from a row. Behind the columns of the query, the row
# has two more values, which the indexes below name.
LISTS_INDEX, ACCOUNT_INDEX = -2, -1


class Key(ABC):
    """A key of an answer."""

    prefix = ""  # of the columns, for a key of an `Inline` representation

    def __init__(self, *, null: bool = False) -> None:
        self.null = null

    def __set_name__(self, owner: type[Representation], name: str) -> None:
        self.name = name

    @abstractmethod
    def get_example(self) -> Any:
        """Return an example of the value."""

    @abstractmethod
    def build_serializer(self) -> serializers.Field:
        """Return the serializer field that describes the value."""

    @abstractmethod
    def build_reader(self, columns: Columns, prefix: str) -> Reader:
        """Return the function from a row to the value."""


class Field(Key):
    """The value of a column; by default the column has the name of the key.

    With a `function`, the value is the function's result for the values of its
    columns. `options` are passed to the serializer field.
    """

    serializer_class: type[serializers.Field]

    def __init__(
        self,
        *columns: str,
        function: Callable[..., Any] | None = None,
        null: bool = False,
        example: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(null=null)
        self.columns = columns
        self.function = function
        self.example = example
        self.options = options

    def __set_name__(self, owner: type[Representation], name: str) -> None:
        super().__set_name__(owner, name)
        self.columns = self.columns or (name,)

    def get_example(self) -> Any:
        return self.example

    def build_serializer(self) -> serializers.Field:
        return self.serializer_class(allow_null=self.null, **self.options)

    def build_reader(self, columns: Columns, prefix: str) -> Reader:
        indexes = [
            ACCOUNT_INDEX if column == ACCOUNT else columns.add(prefix + column)
            for column in self.columns
        ]
        function = self.function
        if function is None:
            return itemgetter(indexes[0])
        return lambda row: function(*[row[index] for index in indexes])


class Text(Field):
    """A text."""

    serializer_class = serializers.CharField


class Integer(Field):
    """An integer."""

    serializer_class = serializers.IntegerField


class Boolean(Field):
    """True or false."""

    serializer_class = serializers.BooleanField


class Amount(Field):
    """An exact amount."""

    serializer_class = ExactAmountField


class Time(Field):
    """A time in UTC."""

    serializer_class = serializers.DateTimeField


class Choice(Field):
    """One of the `choices`."""

    serializer_class = serializers.ChoiceField


class List(Field):
    """A list of texts."""

    def build_serializer(self) -> serializers.Field:
        text = serializers.CharField()
        return serializers.ListField(child=text, allow_null=self.null)


class Map(Field):
    """An object with any keys; `child` describes its values."""

    serializer_class = serializers.DictField


class TextMap(Field):
    """An object with any keys and texts as values."""

    def build_serializer(self) -> serializers.Field:
        text = serializers.CharField()
        return serializers.DictField(child=text, allow_null=self.null)


class Nested(Key):
    """An object; its columns are those of the `relation`, if one is named.

    With `null`, the object is null if all its columns are null, or if the column
    `hidden_by` of the relation has a true value.
    """

    def __init__(
        self,
        representation: type[Representation],
        relation: str = "",
        *,
        null: bool = False,
        hidden_by: str = "",
    ) -> None:
        super().__init__(null=null)
        self.representation = representation
        self.relation = relation
        self.hidden_by = hidden_by

    def get_example(self) -> Any:
        return self.representation.get_example()

    def build_serializer(self) -> serializers.Field:
        return self.representation.get_serializer_class()(allow_null=self.null)

    def build_reader(self, columns: Columns, prefix: str) -> Reader:
        prefix += add_lookup_separator(self.relation)
        read = self.representation.build_reader(columns, prefix)
        if not self.null:
            return read
        indexes = [
            columns.add(prefix + column)
            for key in self.representation.keys.values()
            if isinstance(key, Field)
            for column in key.columns
        ]
        hidden_by = columns.add(prefix + self.hidden_by) if self.hidden_by else None

        def read_or_none(row: Row) -> Any:
            if hidden_by is not None and row[hidden_by]:
                return None
            for index in indexes:
                if row[index] is not None:
                    return read(row)
            return None

        return read_or_none


class AlwaysNull(Nested):
    """An object that the specification has and this version does not."""

    def __init__(self, representation: type[Representation]) -> None:
        super().__init__(representation, null=True)

    def get_example(self) -> None:
        return None

    def build_reader(self, columns: Columns, prefix: str) -> Reader:
        return lambda row: None


class NestedList(Key):
    """A list of objects, which one further query loads for all rows of an answer.

    The query has the parameters `account` and `parents` (values of `column`). The first
    column of its rows is the value of their parent. An instance may have the objects in
    the attribute `stored_in`.
    """

    def __init__(
        self,
        representation: type[Representation],
        query: CompiledQuery[Any],
        column: str = "id",
        *,
        stored_in: str = "",
    ) -> None:
        super().__init__()
        self.representation = representation
        self.query = query
        self.column = column
        self.stored_in = stored_in

    def get_example(self) -> Any:
        return [self.representation.get_example()]

    def build_serializer(self) -> serializers.Field:
        return self.representation.get_serializer_class()(many=True)

    def build_reader(self, columns: Columns, prefix: str) -> Reader:
        parent = columns.add(prefix + self.column)
        number = len(columns.lists)
        columns.lists.append((self, parent))
        return lambda row: row[LISTS_INDEX][number][row[parent]]

    def load(self, account: Account, parents: list[Any]) -> dict[Any, list[dict]]:
        """Return the lists of objects by parent."""
        rows = self.query.all(account=account, parents=parents)
        answers = self.representation.represent_all([row[1:] for row in rows], account)
        lists = defaultdict(list)
        for row, answer in zip(rows, answers, strict=True):
            lists[row[0]].append(answer)
        return lists

    def load_of(self, instance: Any, account: Account) -> dict[Any, list[dict]]:
        """Return the objects of one parent, without a query if it has them."""
        parent = getattr(instance, self.column)
        stored = getattr(instance, self.stored_in, None)
        if stored is None:
            return self.load(account, [parent])
        represent = self.representation.represent_instance
        return {parent: [represent(each, account) for each in stored]}


class Inline:
    """The keys of another representation, with the columns of a relation, if named."""

    def __init__(self, representation: type[Representation], relation: str = "") -> None:
        self.representation = representation
        self.relation = relation

    def list_prefixed_keys(self) -> Iterable[tuple[str, Key]]:
        """Yield names and keys, with the relation as prefix of their columns."""
        for name, key in self.representation.keys.items():
            key = copy(key)
            key.prefix = add_lookup_separator(self.relation) + key.prefix
            yield name, key


class Representation:
    """Base class of the declarations; a subclass lists its keys as attributes.

    Without a `model`, the columns are a tuple that the caller builds.
    """

    model: ClassVar[Any] = None
    # The method of the model's query set that joins what the columns name.
    join_method: ClassVar[str] = ""

    keys: ClassVar[dict[str, Key]] = {}
    columns: ClassVar[tuple[str, ...]] = ()
    lists: ClassVar[list[tuple[NestedList, int]]] = []
    read: ClassVar[Reader]
    rows_by_pk: ClassVar[CompiledQuery[Row]]

    def __init_subclass__(cls) -> None:
        cls.keys = dict(cls.keys)
        for name, attribute in vars(cls).items():
            if isinstance(attribute, Key):
                cls.keys[name] = attribute
            elif isinstance(attribute, Inline):
                cls.keys.update(attribute.list_prefixed_keys())
        columns = Columns()
        cls.read = staticmethod(cls.build_reader(columns, ""))
        cls.columns, cls.lists = tuple(columns.indexes), columns.lists
        if cls.model is not None:
            cls.rows_by_pk = CompiledQuery(cls.build_query_by_pk())

    @classmethod
    def build_query_by_pk(cls) -> Callable[..., QuerySet[Any, Row]]:
        """Return the function that `rows_by_pk` compiles: rows by primary keys."""

        def rows_by_pk(account: Account, pks: list[int]) -> QuerySet[Any, Row]:
            rows = cls.model.objects.of(account)
            return cls.select(rows.filter(pk__in=pks).order_by("pk"))

        return rows_by_pk

    @classmethod
    def select(cls, rows: QuerySet[Any, Any], *further: str) -> QuerySet[Any, Row]:
        """Select the columns as tuples, after `further` ones."""
        if cls.join_method:
            rows = getattr(rows, cls.join_method)()
        return rows.values_list(*further, *cls.columns)

    @classmethod
    def build_reader(cls, columns: Columns, prefix: str) -> Reader:
        """Return the function that makes the answer from a row."""
        readers = [
            (name, key.build_reader(columns, prefix + key.prefix)) for name, key in cls.keys.items()
        ]
        return lambda row: {name: read(row) for name, read in readers}

    @classmethod
    def represent_all(cls, rows: list[Row], account: Account) -> list[dict]:
        """Return the answers for rows, as dicts; loads their nested lists."""
        lists = [
            nested.load(account, [row[parent] for row in rows]) for nested, parent in cls.lists
        ]
        read = cls.read
        return [read((*row, lists, account)) for row in rows]

    @classmethod
    def represent(cls, row: Row, account: Account) -> dict:
        """Return the answer for one row."""
        return cls.represent_all([row], account)[0]

    @classmethod
    def represent_instance(cls, instance: Any, account: Account) -> dict:
        """Return the answer for an instance; relations not loaded yet take queries."""
        row = [read_lookup(instance, column) for column in cls.columns]
        lists = [nested.load_of(instance, account) for nested, _ in cls.lists]
        return cls.read((*row, lists, account))

    @classmethod
    def replace(cls, row: Row, **values: Any) -> Row:
        """Return the row with other values of some columns."""
        return tuple((dict(zip(cls.columns, row, strict=True)) | values).values())

    @classmethod
    def get_example(cls) -> dict:
        """Return the example of the answer."""
        return {name: key.get_example() for name, key in cls.keys.items()}

    @classmethod
    @cache
    def get_serializer_class(cls) -> type[serializers.Serializer]:
        """Return the serializer class that describes the answer for OpenAPI."""
        name = cls.__name__.removesuffix("Representation")
        fields = {name: key.build_serializer() for name, key in cls.keys.items()}
        attributes = {"__doc__": cls.__doc__, **fields}
        return type(f"{name}Serializer", (serializers.Serializer,), attributes)


class Columns:
    """The index in a row of each column, and the nested lists of an answer, each with
    the index of the column that identifies the parent."""

    def __init__(self) -> None:
        self.indexes: dict[str, int] = {}
        self.lists: list[tuple[NestedList, int]] = []

    def add(self, name: str) -> int:
        """Return the index of a column, which is added if it is missing."""
        return self.indexes.setdefault(name, len(self.indexes))


def read_lookup(instance: Any, lookup: str) -> Any:
    """Return the value of `relation__column`; None if the relation is null."""
    for name in lookup.split("__"):
        if instance is None:
            return None
        instance = getattr(instance, name)
    return instance


def add_lookup_separator(relation: str) -> str:
    """Return `relation__`, the prefix of the relation's columns; "" without one."""
    return f"{relation}__" if relation else ""
