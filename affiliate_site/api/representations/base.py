"""Representation: one declaration of an answer.

It names each key in the order of the specification: its type, the column its value
comes from, whether it may be null, and an example. From it come the columns of the
query, the function from rows to answers, the OpenAPI schema with its example, and the
bodies of webhooks.
"""

from __future__ import annotations

import linecache
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import copy
from functools import cache
from textwrap import indent
from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework import serializers

from accounts.compiled_queries import CompiledQuery
from accounts.models.accounts import Account
from affiliate_site.api.fields import ExactAmountField

ACCOUNT = "account"  # stands for the account among the columns of a function

Row = tuple[Any, ...]


class Key(ABC):
    """A key of an answer."""

    prefix = ""  # of its columns, if another representation includes this one

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
    def build_code(self, code: Code, prefix: str) -> str:
        """Return the Python expression of the value."""


class Field(Key):
    """A value of a column, which has the name of the key if none is named.

    With a `function`, the value is what that returns for the columns. `options` are
    those of the serializer field.
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

    def build_code(self, code: Code, prefix: str) -> str:
        names = [
            ACCOUNT if column == ACCOUNT else code.add_column(prefix + column)
            for column in self.columns
        ]
        if self.function is None:
            return names[0]
        function = code.add_function(f"compute_{self.name}", self.function)
        return f"{function}({', '.join(names)})"


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
    """An object, whose columns are those of a relation, if one is named.

    With `null`, it is null if all its columns are, or if the column `hidden_by` of the
    relation has a value.
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

    def build_code(self, code: Code, prefix: str) -> str:
        prefix += add_lookup_separator(self.relation)
        answer = code.build_answer(self.representation, prefix)
        if not self.null:
            return answer
        columns = [
            prefix + column
            for key in self.representation.keys.values()
            if isinstance(key, Field)
            for column in key.columns
        ]
        condition = " and ".join(f"{code.add_column(name)} is None" for name in columns)
        if self.hidden_by:
            condition += f" or {code.add_column(prefix + self.hidden_by)}"
        return f"None if {condition} else {answer}"


class AlwaysNull(Nested):
    """An object that the specification has and this version does not."""

    def __init__(self, representation: type[Representation]) -> None:
        super().__init__(representation, null=True)

    def get_example(self) -> None:
        return None

    def build_code(self, code: Code, prefix: str) -> str:
        return "None"


class NestedList(Key):
    """A list of objects, which one further query loads for all rows.

    The query has the parameters `account` and `parents`: values of `column`. Its rows
    begin with that of their parent.
    """

    def __init__(
        self,
        representation: type[Representation],
        query: CompiledQuery[Any],
        column: str = "id",
    ) -> None:
        super().__init__()
        self.representation = representation
        self.query = query
        self.column = column

    def get_example(self) -> Any:
        return [self.representation.get_example()]

    def build_serializer(self) -> serializers.Field:
        return self.representation.get_serializer_class()(many=True)

    def build_code(self, code: Code, prefix: str) -> str:
        parent = code.add_column(prefix + self.column)
        code.lists[self.name] = (self, parent)
        return f"{self.name}_by_parent[{parent}]"

    def load(self, account: Account, parents: list[Any]) -> dict[Any, list[dict]]:
        """Return the objects of each parent."""
        rows = self.query.all(account=account, parents=parents)
        answers = self.representation.represent_all([row[1:] for row in rows], account)
        lists = defaultdict(list)
        for row, answer in zip(rows, answers, strict=True):
            lists[row[0]].append(answer)
        return lists


class Inline:
    """The keys of another representation; its columns may be those of a relation."""

    def __init__(
        self, representation: type[Representation], relation: str = ""
    ) -> None:
        self.representation = representation
        self.relation = relation

    def list_prefixed_keys(self) -> Iterable[tuple[str, Key]]:
        """Yield the keys, by their names."""
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
    represent_all: ClassVar[Callable[[list[Row], Account], list[dict]]]
    rows_by_pk: ClassVar[CompiledQuery[Row]]

    def __init_subclass__(cls) -> None:
        cls.keys = dict(cls.keys)
        for name, attribute in vars(cls).items():
            if isinstance(attribute, Key):
                cls.keys[name] = attribute
            elif isinstance(attribute, Inline):
                cls.keys.update(attribute.list_prefixed_keys())
        code = Code()
        cls.represent_all = staticmethod(code.compile(cls))
        cls.columns = tuple(code.columns)
        if cls.model is not None:
            cls.rows_by_pk = CompiledQuery(cls.build_query_by_pk())

    @classmethod
    def build_query_by_pk(cls) -> Callable[..., QuerySet[Any, Row]]:
        """Return the function of `rows_by_pk`."""

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
    def represent(cls, row: Row, account: Account) -> dict:
        """Return the answer for one row."""
        return cls.represent_all([row], account)[0]

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


class Code:
    """The code of the function from rows to answers, and what it names.

    It is plain code without a function call for a column, and is several times as fast
    as asking each key for its value. Tracebacks show it.
    """

    def __init__(self) -> None:
        self.columns: dict[str, None] = {}  # in the order of the query
        self.lists: dict[str, tuple[NestedList, str]] = {}
        self.namespace: dict[str, Any] = {}

    def add_column(self, name: str) -> str:
        """Return the variable of a column."""
        self.columns[name] = None
        return name

    def add_function(self, name: str, function: Callable[..., Any]) -> str:
        """Return the name of a function."""
        if self.namespace.setdefault(name, function) is not function:
            return self.add_function(f"{name}_", function)
        return name

    def build_answer(self, representation: type[Representation], prefix: str) -> str:
        """Return the expression of an object."""
        items = "".join(
            f'"{name}": {key.build_code(self, prefix + key.prefix)},\n'
            for name, key in representation.keys.items()
        )
        return f"{{\n{indent(items, '    ')}}}"

    def compile(
        self, representation: type[Representation]
    ) -> Callable[[list[Row], Account], list[dict]]:
        """Return the function."""
        answer = indent(self.build_answer(representation, ""), " " * 8)
        lines = ["def represent_all(rows, account):"]
        for name, (nested, parent) in self.lists.items():
            index = list(self.columns).index(parent)
            load = self.add_function(f"load_{name}", nested.load)
            parents = f"[row[{index}] for row in rows]"
            lines.append(f"    {name}_by_parent = {load}(account, {parents})")
        lines += [
            "    return [",
            answer,
            f"        for ({', '.join(self.columns)},) in rows",
            "    ]",
        ]
        source = "\n".join(lines)
        filename = f"<{representation.__name__}>"
        linecache.cache[filename] = (
            len(source),
            None,
            source.splitlines(keepends=True),
            filename,
        )
        exec(compile(source, filename, "exec"), self.namespace)  # noqa: S102 - built above
        return self.namespace["represent_all"]


def add_lookup_separator(relation: str) -> str:
    """Return the prefix of a relation's columns."""
    return f"{relation}__" if relation else ""
