"""The order of lists: long ones are sorted by an index of the account only.

For another order the database would read and sort all rows for each page. Lists of up
to 10,000 rows have any order.
"""

from collections.abc import Sequence


def find_index_order(model, ordering: Sequence[str]) -> list[str]:
    """The order of an index that sorts rows by these columns; empty without one.

    It decides about rows with equal values: the newest first, or last if the order is
    reversed.
    """
    names = list(ordering)
    for index in [*model._meta.total_unique_constraints, *model._meta.indexes]:
        account, *columns = index.fields
        if account != "account" or index.condition or getattr(index, "opclasses", ()):
            continue
        for order in (columns, [reverse(name) for name in columns]):
            if order[-1] not in ("id", "-id"):
                order.append("-id")
            if names and order[: len(names)] == names:
                return order
    return []


def reverse(name: str) -> str:
    """The name of a column in the opposite order."""
    return name.removeprefix("-") if name.startswith("-") else f"-{name}"
