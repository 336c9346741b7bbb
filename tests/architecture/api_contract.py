"""Operations of the API with roles and limits, and routes of the resolver."""

import re
from dataclasses import dataclass

from django.urls import get_resolver

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

# Requests and minutes (docs/api-contract.md, section 1.8).
BUCKETS = {
    "R1": (10, 1),
    "R2": (100, 1),
    "R3": (900, 1),
    "R4": (1500, 5),
    "R5": (300, 15),
    "-": None,
}
ROLES = {"V": "viewer", "M": "manager", "O": "owner"}
RANKS = ("viewer", "manager", "owner")

# Path, then a cell for each of METHODS: bucket and minimum role; empty for a 405.
# In parentheses: the plan feature that the path, or one of its methods, requires.
TABLE = """
/customers/                                          | R4 V | - M  |      |      |
/customers/{}/                                       | R4 V |      |      | - M  | - M
/customers/{}/status/                                |      |      | - M  |      | - M
/customers/{}/meta-data/                             | R5 V | R5 M | R5 M |      |
/conversions/{}/meta-data/                           | R5 V | R5 M | R5 M |      |
/affiliates/{}/meta-data/                            | R5 V | R5 M | R5 M |      |
/customers/{}/meta-data/{}/                          | R5 V |      | R5 M |      | R5 M
/conversions/{}/meta-data/{}/                        | R5 V |      | R5 M |      | R5 M
/affiliates/{}/meta-data/{}/                         | R5 V |      | R5 M |      | R5 M
/conversions/                                        | R3 V | - M  |      |      |
/conversions/{}/                                     | R4 V |      |      | - M  | - M
/conversions/{}/commissions/                         |      | - M  |      |      |
/commissions/                                        | R4 V |      |      |      |
/commissions/{}/                                     | - V  |      |      | - M  |
/commissions/{}/approved/                            |      |      | - M  |      | - M
/commissions/{}/approval/                            |      |      | - M  |      | - M
/affiliates/                                         | R4 V | R4 M |      |      |
/affiliates/custom-fields/                           | R4 V |      |      |      |
/affiliates/{}/                                      | R4 V |      |      | R4 M | R4 M
/affiliates/{}/group/                                |      |      | R4 M |      | R4 M
/affiliates/{}/parent/ (mlm)                         |      | R4 M | R4 M |      | R4 M
/affiliates/{}/notes/                                | R5 V | R5 M |      |      |
/affiliates/{}/notes/{}/                             | R5 V |      | R5 M | R5 M | R5 M
/affiliates/{}/payout-methods/                       | R4 V |      |      |      |
/affiliates/{}/payout-methods/{}/                    | R4 V |      | R4 M |      |
/affiliates/{}/balances/                             | R4 V |      |      |      |
/affiliates/{}/payments/                             | R4 V |      |      |      |
/affiliates/{}/programs/                             | R4 V |      |      |      |
/affiliate-groups/                                   | R5 V | R5 M |      |      |
/affiliate-groups/{}/                                | R5 V |      |      | R5 M |
/affiliate-prospects/                                | R4 V | R4 M |      |      |
/affiliate-prospects/{}/                             | R4 V |      |      |      | R4 M
/programs/                                           | R4 V |      |      |      |
/programs/{}/                                        | R4 V |      |      |      |
/programs/{}/affiliates/                             | R4 V | R4 M |      |      |
/programs/{}/affiliates/{}/                          | R4 V |      |      | R4 M |
/programs/{}/affiliates/{}/approved/                 |      |      | R4 M |      | R4 M
/programs/{}/affiliates/{}/approval/                 |      |      | R4 M |      | R4 M
/programs/{}/commission-types/                       | R4 V |      |      |      |
/programs/{}/levels/ (mlm)                           | R4 V |      |      |      |
/programs/{}/bonuses/ (bonuses)                      | R4 V |      |      |      |
/clicks/ (GET: clicks)                               | R3 V | - M  |      |      |
/clicks/{}/ (clicks)                                 | R2 V |      |      |      |
/balances/                                           | R1 V |      |      |      |
/payments/                                           | R5 V | R5 O |      |      |
/payments/{}/                                        | R5 V |      |      |      | R5 O
/reports/                                            | R2 V |      |      |      |
/pb/con/c/                                           | - M  | - M  |      |      |
/pb/con/u/                                           | - M  | - M  |      |      |
/pb/cus/c/                                           | - M  | - M  |      |      |
/pb/cus/u/                                           | - M  | - M  |      |      |
"""

# An alias shares the counter of its operation (docs/api-contract.md, section 1.8).
ALIASES = {
    ("POST", "/customers/{}/meta-data/"): ("PUT", "/customers/{}/meta-data/"),
    ("POST", "/conversions/{}/meta-data/"): ("PUT", "/conversions/{}/meta-data/"),
    ("POST", "/affiliates/{}/meta-data/"): ("PUT", "/affiliates/{}/meta-data/"),
    ("POST", "/affiliates/{}/parent/"): ("PUT", "/affiliates/{}/parent/"),
    ("PUT", "/affiliates/{}/notes/{}/"): ("PATCH", "/affiliates/{}/notes/{}/"),
    **{
        (method, f"/{resource}/approval/"): (method, f"/{resource}/approved/")
        for resource in ("commissions/{}", "programs/{}/affiliates/{}")
        for method in ("PUT", "DELETE")
    },
}


@dataclass(frozen=True)
class Operation:
    """One method of one path."""

    method: str
    path: str
    bucket: str
    role: str
    feature: str | None = None

    @property
    def rate(self) -> tuple[int, int] | None:
        return BUCKETS[self.bucket]


def _parse_row(row: str):
    head, *cells = (cell.strip() for cell in row.split("|"))
    path, _, note = head.partition(" ")
    only, _, feature = note.strip("()").rpartition(": ")
    for method, cell in zip(METHODS, cells, strict=True):
        if cell:
            bucket, role = cell.split()
            required = feature if feature and only in ("", method) else None
            yield Operation(method, path, bucket, ROLES[role], required)


OPERATIONS = {
    (operation.method, operation.path): operation
    for row in TABLE.strip().splitlines()
    for operation in _parse_row(row)
}
PATHS = {path for _, path in OPERATIONS}


@dataclass(frozen=True)
class Route:
    """A pattern below `/1.6/` or `/1.7/`, in the notation of the table above."""

    path: str
    view: type
    actions: dict[str, str]  # method → action

    def build_path(self, value: str = "invented") -> str:
        """Return the path with this value for every parameter."""
        return self.path.replace("{}", value)


def list_routes() -> dict[str, Route]:
    """Return every route of the API by path; fail if a path occurs twice."""
    routes: dict[str, Route] = {}
    for pattern, callback in _iterate_patterns(get_resolver().url_patterns, ""):
        version, _, rest = pattern.partition("/")
        if version not in ("1.6", "1.7"):
            continue
        path = "/" + re.sub(r"<[^>]*>", "{}", rest)
        assert path not in routes, f"{path} occurs twice"
        actions = {
            method.upper(): action
            for method, action in callback.actions.items()
            if method != "head"
        }
        routes[path] = Route(path, callback.cls, actions)
    return routes


def _iterate_patterns(patterns, prefix):
    for pattern in patterns:
        text = prefix + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from _iterate_patterns(pattern.url_patterns, text)
        else:
            yield text, pattern.callback


def list_operations() -> dict[tuple[str, str], Route]:
    """Return the route of every method and path of the resolver."""
    return {
        (method, route.path): route for route in list_routes().values() for method in route.actions
    }


def format_operation(operation: tuple[str, str]) -> str:
    """Return a test id such as `GET /customers/{}/`."""
    return " ".join(operation)
