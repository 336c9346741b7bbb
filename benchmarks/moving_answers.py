"""Compare what two services answer about an account that moved between them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import httpx

LISTS = (
    "programs/",
    "affiliate-groups/",
    "affiliates/",
    "affiliate-prospects/",
    "customers/",
    "conversions/",
    "commissions/",
    "payments/",
    "balances/",
)
BELOW = {
    "programs/": ("commission-types/", "levels/", "bonuses/", "affiliates/"),
    "affiliates/": (
        "notes/",
        "payout-methods/",
        "balances/",
        "payments/",
        "programs/",
        "meta-data/",
    ),
    "customers/": ("meta-data/",),
    "conversions/": ("meta-data/", "commissions/"),
}
UNPAGED = {"balances/"}
# Numbers of rows and links, and clicks, which do not come over.
DIFFERENT = {"asset_id", "source_id", "click", "affiliate_meta_data"}

Row = dict[str, Any]


@dataclass
class Side:
    """A service, and a key that reads the account."""

    base_url: str
    key: str
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = httpx.Client(headers={"X-Api-Key": self.key}, timeout=60)

    def get(self, path: str) -> Any:
        """Return the JSON of an answer; its status if it is none."""
        response = self.client.get(f"{self.base_url}/1.6/{path}")
        return response.json() if response.status_code == httpx.codes.OK else (response.status_code)

    def list_pages(self, path: str) -> Iterator[Any]:
        """Yield the pages of a list, the newest first."""
        if path in UNPAGED:
            yield self.get(path)
            return
        number = 1
        while page := self.get(f"{path}?page={number}"):
            yield page
            number += 1


@dataclass
class Comparison:
    """How many answers were compared, and which differ."""

    count: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, path: str, there: Any, here: Any) -> None:
        """Compare two answers."""
        self.count += 1
        if forget_numbers(there) != forget_numbers(here):
            self.differences.append(f"{path}: {describe(there, here)}")


def compare_sides(source: Side, target: Side, *, details: int) -> Comparison:
    """Compare all lists, and so many objects of each with what is below them."""
    compared = Comparison()
    with ThreadPoolExecutor(1) as other:  # both sides answer at once
        for path in LISTS:
            pairs: list[tuple[Row, Row]] = []
            pages = zip_longest(source.list_pages(path), prefetch(other, target.list_pages(path)))
            for there, here in pages:
                compared.add(path, there, here)
                if isinstance(there, list) and isinstance(here, list):
                    pairs += zip(there, here, strict=False)
            step = max(1, len(pairs) // details)
            for one, two in pairs[::step]:
                compare_object(compared, source, target, path, one, two)
    return compared


def prefetch(pool: ThreadPoolExecutor, pages: Iterator[Any]) -> Iterator[Any]:
    """Read the next page while the last one is looked at."""
    future = pool.submit(next, pages, None)
    while (page := future.result()) is not None:
        future = pool.submit(next, pages, None)
        yield page


def compare_object(
    compared: Comparison, source: Side, target: Side, path: str, one: Row, two: Row
) -> None:
    """Compare an object, and what is below it; each side has an ID of its own."""
    if path in UNPAGED or "id" not in one or "id" not in two:
        return
    for below in ("", *BELOW.get(path, ())):
        there, here = (
            side.get(f"{path}{row['id']}/{below}") for side, row in ((source, one), (target, two))
        )
        compared.add(f"{path}{one['id']}/{below}", there, here)


def forget_numbers(value: Any) -> Any:
    """Return an answer without what must differ."""
    if isinstance(value, list):
        return [forget_numbers(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: forget_numbers(each)
        for name, each in value.items()
        if name not in DIFFERENT and not (name == "id" and isinstance(each, int))
    }


def describe(there: Any, here: Any) -> str:
    """Return the first rows that differ."""
    if isinstance(there, list) and isinstance(here, list):
        for one, two in zip_longest(there, here):
            if forget_numbers(one) != forget_numbers(two):
                return describe(one, two)
    if isinstance(there, dict) and isinstance(here, dict):
        for name in there:
            if forget_numbers({name: there[name]}) != forget_numbers({name: here.get(name)}):
                return f"{name}: {there[name]!r} there, {here.get(name)!r} here"
    return f"{there!r} there, {here!r} here"[:300]
