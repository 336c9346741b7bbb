"""The code of the function from rows to answers, generated from a representation."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from textwrap import indent
from typing import TYPE_CHECKING, Any

from accounts.models.accounts import Account

if TYPE_CHECKING:
    from affiliate_site.api.representations.base import NestedList, Representation

Row = tuple[Any, ...]


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
