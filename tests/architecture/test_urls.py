"""architecture.md, 11, and reliability.md, 8: the walk over every URL.

For every method of every route a line says how to call it with an object of one's
own. The walk then calls it with the other account's object, and with one that never
was: the answers are the same to the byte, nothing of the other account changes, and
every statement is bound to the account. A route without a line fails.
"""

import hashlib
import json
import re
from dataclasses import dataclass, field
from itertools import chain, combinations

import pytest
from django.apps import apps
from django.db import connection
from rest_framework import serializers

from accounts.models.accounts import Account, Owned
from tests.architecture.appendix_a import METHODS, OPERATIONS, built
from tests.world import World

MARK = "zz-marker"
UNLIKE = {"X-Trace-Id", "Date", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
PLACE = re.compile(r"\{([a-z_]+)\}")
LITERAL = re.compile(r"<([a-z-]+)>")


@dataclass(frozen=True)
class Line:
    """One call: `{click}` is an id of `World`, `<tier>` a captured word as it is.

    `needs` names what has to be there before an own call can succeed.
    """

    method: str
    path: str
    body: object = None
    query: str = ""
    status: int = 200  # of the call with objects of one's own
    needs: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        said = f" {json.dumps(self.body)}" if self.body not in (None, {}) else ""
        return f"{self.method} {self.path}{self.query}{said}"

    @property
    def operation(self) -> tuple[str, str]:
        path = LITERAL.sub("{}", PLACE.sub("{}", self.path))
        return self.method, path

    @property
    def text(self) -> str:
        return self.path + self.query + json.dumps(self.body)

    @property
    def places(self) -> list[str]:
        """The ids in path, query and body, each once."""
        return list(dict.fromkeys(PLACE.findall(self.text)))

    @property
    def is_list(self) -> bool:
        """A GET that reads many: a postback is no read, whatever its method."""
        return self.method == "GET" and not self.path.startswith("/pb/")

    @property
    def names_its_object(self) -> bool:
        """Postbacks that change a thing name it by a parameter."""
        return self.path.startswith("/pb/") and self.path.endswith("/u/")

    @property
    def path_places(self) -> set[str]:
        return set(PLACE.findall(self.path))

    def ask(self, api, ids: dict[str, str]):
        def put(text):
            return PLACE.sub(lambda match: ids[match[1]], text)

        path = LITERAL.sub(r"\1", put(self.path)) + put(self.query)
        body = None if self.body is None else put(json.dumps(self.body))
        return api.ask(self.method, path, body)


CLUES = {
    "coupon": "{coupon}",
    "referral_code": "{code}",
    "click_id": "{click}",
}
PAIR = {"asset_id": "{asset}", "source_id": "{source}"}
SALE = {"amount": 49.9}  # without an external_id: no attempt is remembered

LINES = [
    # Customers
    Line("GET", "/customers/", needs=("customer",)),
    Line("GET", "/customers/", query="?customer_id={customer_id}"),
    Line("GET", "/customers/", query="?program_id={program}", needs=("customer",)),
    Line("GET", "/customers/", query="?affiliate_id={member}", needs=("customer",)),
    *(
        Line("POST", "/customers/", {"customer_id": "walk-1", name: value})
        for name, value in CLUES.items()
    ),
    Line("POST", "/customers/", {"customer_id": "walk-1", **PAIR}),
    Line("GET", "/customers/{customer}/"),
    Line("PATCH", "/customers/{customer}/", {"customer_id": "walk-1"}),
    Line("PATCH", "/customers/{customer}/", {"meta_data": {"a": "b"}}),
    Line("DELETE", "/customers/{customer}/", status=204),
    Line("PUT", "/customers/{customer}/status/"),
    Line("DELETE", "/customers/{customer}/status/"),
    # Meta data
    *(
        line
        for thing in ("customer", "conversion", "affiliate")
        for path in (f"/{thing}s/{{{thing}}}/meta-data/",)
        for line in (
            Line("GET", path),
            Line("PUT", path, {"a": "b"}),
            Line("POST", path, {"a": "b"}),
            Line("GET", f"{path}<tier>/"),
            Line("PUT", f"{path}<tier>/", {"value": "gold"}),
            Line("DELETE", f"{path}<tier>/", status=204),
        )
    ),
    # Conversions
    Line("GET", "/conversions/", needs=("conversion",)),
    Line("GET", "/conversions/", query="?external_id={external_id}"),
    Line("GET", "/conversions/", query="?customer_id={buyer_id}"),
    Line("GET", "/conversions/", query="?program_id={program}", needs=("conversion",)),
    Line("GET", "/conversions/", query="?affiliate_id={member}", needs=("conversion",)),
    *(
        Line("POST", "/conversions/", {**SALE, name: value})
        for name, value in {**CLUES, "customer_id": "{customer_id}"}.items()
    ),
    Line("POST", "/conversions/", {**SALE, **PAIR}),
    Line("GET", "/conversions/{conversion}/"),
    Line("PATCH", "/conversions/{conversion}/", {"amount": 7}),
    Line("DELETE", "/conversions/{conversion}/", status=204),
    Line(
        "POST", "/conversions/{conversion}/commissions/", {"conversion_sub_amount": 7}
    ),
    # Commissions
    Line("GET", "/commissions/", needs=("commission",)),
    Line("GET", "/commissions/", query="?affiliate_id={member}", needs=("commission",)),
    Line("GET", "/commissions/{commission}/"),
    Line("PATCH", "/commissions/{commission}/", {"amount": 7}),
    *(
        Line(method, f"/commissions/{{commission}}/{word}/")
        for word in ("approved", "approval")
        for method in ("PUT", "DELETE")
    ),
    # Affiliates
    Line("GET", "/affiliates/", needs=("affiliate",)),
    Line("GET", "/affiliates/", query="?click_id={click}"),
    Line("GET", "/affiliates/", query="?source_id={source}"),
    Line("GET", "/affiliates/", query="?email={email}"),
    Line("GET", "/affiliates/", query="?referral_code={code}"),
    Line("POST", "/affiliates/", {"firstname": "Mina", "lastname": "Kessler"}),
    Line("GET", "/affiliates/custom-fields/"),
    Line("GET", "/affiliates/{affiliate}/"),
    Line("PATCH", "/affiliates/{affiliate}/", {"lastname": "Kessler"}),
    Line("DELETE", "/affiliates/{affiliate}/", status=204),
    Line("PUT", "/affiliates/{affiliate}/group/", {"group_id": "{group}"}),
    Line("DELETE", "/affiliates/{affiliate}/group/"),
    Line("POST", "/affiliates/{affiliate}/parent/", {"affiliate_id": "{rival}"}),
    Line("PUT", "/affiliates/{affiliate}/parent/", {"affiliate_id": "{rival}"}),
    Line("DELETE", "/affiliates/{affiliate}/parent/"),
    Line("GET", "/affiliates/{affiliate}/notes/"),
    Line("POST", "/affiliates/{affiliate}/notes/", {"note": "walked"}),
    Line("GET", "/affiliates/{affiliate}/notes/{note}/"),
    Line("PUT", "/affiliates/{affiliate}/notes/{note}/", {"note": "walked"}),
    Line("PATCH", "/affiliates/{affiliate}/notes/{note}/", {"note": "walked"}),
    Line("DELETE", "/affiliates/{affiliate}/notes/{note}/", status=204),
    Line("GET", "/affiliates/{affiliate}/payout-methods/"),
    Line(
        "GET",
        "/affiliates/{affiliate}/payout-methods/<paypal>/",
        needs=("payout_details",),
    ),
    Line("PUT", "/affiliates/{affiliate}/payout-methods/<bank>/", {"iban": "walked"}),
    Line("GET", "/affiliates/{member}/balances/", needs=("balance",)),
    Line("GET", "/affiliates/{member}/payments/", needs=("payment",)),
    Line("GET", "/affiliates/{member}/programs/"),
    # Groups and prospects
    Line("GET", "/affiliate-groups/", needs=("group",)),
    Line("POST", "/affiliate-groups/", {"title": "walked"}),
    Line("GET", "/affiliate-groups/{group}/"),
    Line("PATCH", "/affiliate-groups/{group}/", {"title": "walked"}),
    Line("GET", "/affiliate-prospects/", needs=("prospect",)),
    Line(
        "POST",
        "/affiliate-prospects/",
        {"firstname": "Mina", "lastname": "Kessler", "program_id": "{program}"},
    ),
    Line("GET", "/affiliate-prospects/{prospect}/"),
    Line("DELETE", "/affiliate-prospects/{prospect}/", status=204),
    # Programs
    Line("GET", "/programs/", needs=("program",)),
    Line("GET", "/programs/", query="?asset_id={asset}"),
    Line("GET", "/programs/{program}/"),
    Line("GET", "/programs/{program}/affiliates/", needs=("member",)),
    Line(
        "GET",
        "/programs/{program}/affiliates/",
        query="?email={member_email}",
    ),
    Line("GET", "/programs/{program}/affiliates/", query="?source_id={source}"),
    Line(
        "POST",
        "/programs/{program}/affiliates/",
        {"affiliate": {"id": "{affiliate}"}, "coupon": "WALK10"},
    ),
    Line(
        "POST", "/programs/{program}/affiliates/", {"affiliate": {"email": "{email}"}}
    ),
    Line("GET", "/programs/{program}/affiliates/{member}/"),
    Line("PATCH", "/programs/{program}/affiliates/{member}/", {"coupon": "WALK10"}),
    *(
        Line(method, f"/programs/{{program}}/affiliates/{{member}}/{word}/")
        for word in ("approved", "approval")
        for method in ("PUT", "DELETE")
    ),
    Line("GET", "/programs/{program}/commission-types/"),
    Line("GET", "/programs/{program}/levels/"),
    Line("GET", "/programs/{program}/bonuses/"),
    # Clicks
    Line("GET", "/clicks/", needs=("click",)),
    Line("GET", "/clicks/", query="?program_id={program}", needs=("click",)),
    Line("GET", "/clicks/", query="?affiliate_id={member}", needs=("click",)),
    Line("POST", "/clicks/", {"referral_code": "{code}"}),
    Line("POST", "/clicks/", PAIR),
    Line("GET", "/clicks/{click}/"),
    # Balances and payments
    Line("GET", "/balances/", needs=("balance",)),
    Line("GET", "/payments/", needs=("payment",)),
    Line("GET", "/payments/", query="?affiliate_id={member}", needs=("payment",)),
    Line(
        "POST",
        "/payments/",
        {"affiliate_id": "{member}", "amount": 5, "currency": "EUR"},
    ),
    Line("GET", "/payments/{payment}/"),
    Line("DELETE", "/payments/{payment}/", status=204),
    # Postbacks
    *(
        Line("GET", "/pb/con/c/", query=f"?external_id=walk-1&amount=49.9&{clue}")
        for clue in ("coupon={coupon}", "ref={code}", "click_id={click}")
    ),
    Line("POST", "/pb/con/c/", {"external_id": "walk-1", "coupon": "{coupon}"}),
    Line("GET", "/pb/con/u/", query="?external_id={external_id}&amount=7"),
    Line("POST", "/pb/con/u/", {"external_id": "{external_id}", "amount": 7}),
    Line("GET", "/pb/cus/c/", query="?customer_id=walk-1&coupon={coupon}"),
    Line("POST", "/pb/cus/c/", {"customer_id": "walk-1", "coupon": "{coupon}"}),
    Line("GET", "/pb/cus/u/", query="?customer_id={customer_id}&status=canceled"),
    Line("POST", "/pb/cus/u/", {"customer_id": "{customer_id}", "status": "canceled"}),
]

# The DELETE after which an id is asked for as if it had never been.
REMOVALS = {
    name: Line("DELETE", path, status=204)
    for name, path in {
        "customer": "/customers/{customer}/",
        "conversion": "/conversions/{conversion}/",
        "affiliate": "/affiliates/{affiliate}/",
        "note": "/affiliates/{affiliate}/notes/{note}/",
        "prospect": "/affiliate-prospects/{prospect}/",
        "payment": "/payments/{payment}/",
    }.items()
}

# Statements that cannot name the account, each with its reason.
UNBOUND = {
    r'FROM "accounts_apikey".* WHERE .*"digest" = ': "a key is asked who it is",
}

BUILT = built()
WALKED = [line for line in LINES if line.operation in BUILT]
REFUSABLE = [line for line in WALKED if line.places]
REMOVABLE = [
    pytest.param(line, name, id=f"{line} after its {name}")
    for line in WALKED
    for name in sorted(line.path_places & set(REMOVALS))
    if REMOVALS[name].operation in BUILT and line.status != 204
]
LISTS = [line for line in WALKED if line.is_list and not line.path_places]


@pytest.fixture
def mine(account, api):
    return World(api, account.slug, "harbor")


@pytest.fixture
def theirs(other_account, other_api):
    return World(other_api, other_account.slug, MARK)


def others_than_own(line):
    """Every choice of ids that are not one's own: at least one of them."""
    names = line.places
    return chain.from_iterable(
        combinations(names, count) for count in range(1, len(names) + 1)
    )


def invented(value: str) -> str:
    """An id of the same form and length that nobody has."""
    if value.isdigit():
        return str(int(value) + 7_000_000)
    last = {"z": "y", "9": "8", "f": "e", "Z": "Y", "e": "d"}.get(value[-1])
    return value[:-1] + (last or chr(ord(value[-1]) + 1))


def digest_of(account, *, but: tuple[str, ...] = ()) -> str:
    """A fingerprint of everything that the account has."""
    rows = [Account.objects.filter(pk=account.pk).values().get()]
    for model in apps.get_models():
        if issubclass(model, Owned) and model.__name__ not in but:
            rows += model._base_manager.filter(account=account).order_by("pk").values()
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def seen(response, ids: list[str], instead: list[str]):
    """Status, headers and body, with one set of ids written as the other."""

    def same(text):
        for found, put in zip(ids, instead, strict=True):
            whole = rf"(?<![0-9A-Za-z]){re.escape(found)}(?![0-9A-Za-z])"
            text = re.sub(whole, put, text)
        return text

    headers = {
        name: same(value)
        for name, value in response.headers.items()
        if name not in UNLIKE
    }
    return response.status_code, headers, same(response.content.decode())


def expected_status(line, foreign):
    if line.path_places & set(foreign) or line.names_its_object:
        return 404
    return 200 if line.is_list else 400


def asked_anew(account, line, api, ids):
    """As if nothing had been asked before: a refused sale waits ten seconds."""
    account.conversion_attempts.all().delete()
    return line.ask(api, ids)


def test_has_a_line_for_every_method_of_every_route():
    assert set(BUILT) - {line.operation for line in LINES} == set()


def test_has_no_line_for_what_the_contract_does_not_know():
    assert {line.operation for line in LINES} - set(OPERATIONS) == set()
    assert {line.method for line in LINES} <= set(METHODS)


@pytest.mark.parametrize("line", WALKED, ids=str)
def test_succeeds_with_objects_of_ones_own(mine, theirs, line):
    """Else a 404 would prove nothing; and what it answers is one's own alone."""
    for name in (*line.needs, *line.places):
        getattr(theirs, name)
    ids = {name: getattr(mine, name) for name in (*line.needs, *line.places)}

    response = line.ask(mine.api, ids)

    assert response.status_code == line.status, response.content
    assert MARK not in response.content.decode().lower()


KINDS = {
    serializers.BooleanField: bool,
    serializers.IntegerField: int,
    serializers.DecimalField: (int, float),
    serializers.CharField: str,
    serializers.DictField: dict,
}
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")


def assert_shaped(declared, data, where="answer"):
    """Every key that is declared is there, in its order, and of its kind."""
    if data is None:
        assert declared.allow_null, f"{where} is null"
    elif isinstance(declared, serializers.ListSerializer):
        for number, item in enumerate(data):
            assert_shaped(declared.child, item, f"{where}[{number}]")
    elif isinstance(declared, serializers.Serializer):
        assert list(data) == list(declared.fields), where
        for name, inner in declared.fields.items():
            assert_shaped(inner, data[name], f"{where}.{name}")
    elif isinstance(declared, serializers.DateTimeField):
        assert MOMENT.fullmatch(data), where
    else:
        kinds = [KINDS[kind] for kind in KINDS if isinstance(declared, kind)]
        assert all(isinstance(data, kind) for kind in kinds), where


@pytest.mark.parametrize("line", WALKED, ids=str)
def test_answers_in_the_shape_that_is_declared(mine, line):
    ids = {name: getattr(mine, name) for name in (*line.needs, *line.places)}
    route = BUILT[line.operation]
    declared = route.view.answers[route.actions[line.method]]

    response = line.ask(mine.api, ids)

    if declared is None:
        assert (response.status_code, response.content) == (204, b"")
    elif not isinstance(declared, dict):  # a dict is a map of any keys
        declared = declared() if isinstance(declared, type) else declared
        assert_shaped(declared, response.json())


@pytest.mark.parametrize("line", REFUSABLE, ids=str)
def test_answers_for_a_foreign_object_as_for_one_that_never_was(
    mine, theirs, account, other_account, line
):
    own = {name: getattr(mine, name) for name in (*line.needs, *line.places)}
    foreign = {name: getattr(theirs, name) for name in (*line.needs, *line.places)}
    never = {name: invented(value) for name, value in foreign.items()}
    theirs_before = digest_of(other_account)
    mine_before = digest_of(account, but=("ApiKey", "ConversionAttempt"))

    for names in others_than_own(line):
        found = line.ask(mine.api, own | {name: foreign[name] for name in names})
        other = asked_anew(
            account, line, mine.api, own | {name: never[name] for name in names}
        )

        assert found.status_code == expected_status(line, names), (names, found.content)
        ids = [foreign[name] for name in names], [never[name] for name in names]
        assert seen(found, *ids) == seen(other, ids[1], ids[1]), names
        if found.status_code == 200:
            assert found.json() == []

    assert digest_of(other_account) == theirs_before
    assert digest_of(account, but=("ApiKey", "ConversionAttempt")) == mine_before


@pytest.mark.parametrize(("line", "name"), REMOVABLE)
def test_answers_for_a_removed_object_as_for_one_that_never_was(mine, line, name):
    ids = {it: getattr(mine, it) for it in (*line.needs, *line.places)}
    removal = REMOVALS[name]
    removal.ask(mine.api, {it: getattr(mine, it) for it in removal.places})
    never = ids | {name: invented(ids[name])}

    removed, other = line.ask(mine.api, ids), line.ask(mine.api, never)

    assert removed.status_code == 404
    assert seen(removed, [ids[name]], [never[name]]) == seen(other, [], [])


@pytest.mark.parametrize("line", LISTS, ids=str)
def test_lists_nothing_of_another_account(mine, theirs, line):
    for name in (*line.needs, *line.places):
        getattr(theirs, name)
    ids = {name: invented(getattr(theirs, name)) for name in line.places}

    response = line.ask(mine.api, ids)

    assert response.status_code == 200
    assert response.json() == []


def statement_of(sql: str) -> tuple[str, str]:
    """The main table of a statement, and the part that has to name the account."""
    flat = " ".join(sql.split())
    if insert := re.match(r'INSERT INTO "?(\w+)"?(?: AS \w+)? \(([^)]*)\)', flat):
        return insert[1], insert[2]
    main = re.search(r'(?:\bFROM|^UPDATE) "?(\w+)"?', flat)
    if main is None:
        return "", ""
    return main[1], flat[main.end() :].partition(" WHERE ")[2]


def is_bound(sql: str) -> bool:
    """Does the statement name the account of its main table?"""
    tables = {it._meta.db_table for it in apps.get_models() if issubclass(it, Owned)}
    table, part = statement_of(sql)
    if table not in tables or any(re.search(why, sql, re.DOTALL) for why in UNBOUND):
        return True
    if sql.lstrip().upper().startswith("INSERT"):
        return bool(re.search(r'"?\baccount_id\b"?', part))
    return bool(re.search(rf'("{table}"\.)?"account_id" (=|IN) ', part))


@pytest.mark.parametrize("line", WALKED, ids=str)
def test_binds_every_statement_to_the_account(mine, statements, line):
    own = {name: getattr(mine, name) for name in (*line.needs, *line.places)}
    never = {name: invented(value) for name, value in own.items()}

    with statements() as asked:
        for ids in (never, own):
            line.ask(mine.api, ids)

    unbound = {query["sql"] for query in asked if not is_bound(query["sql"])}
    assert len(asked) > 0
    assert unbound == set()


@pytest.mark.parametrize(
    ("sql", "bound"),
    [
        ('SELECT "a"."account_id" FROM "tracking_program" WHERE "slug" = 1', False),
        (
            'SELECT 1 FROM "tracking_click" WHERE "tracking_click"."account_id" = 1',
            True,
        ),
        (
            'SELECT COUNT(*) FROM (SELECT 1 FROM "tracking_program" WHERE "id" = 1) s',
            False,
        ),
        ('UPDATE "tracking_program" SET "account_id" = 1 WHERE "id" = 1', False),
        ('UPDATE "tracking_program" SET "title" = 1 WHERE "account_id" = 1', True),
        ('DELETE FROM "tracking_program" WHERE "id" = 1', False),
        ('INSERT INTO "tracking_program" ("slug") VALUES (1)', False),
        ('INSERT INTO tracking_program ("account_id", "slug") VALUES (1, 2)', True),
        ('SELECT 1 FROM "accounts_account" WHERE "id" = 1', True),
        ('SELECT 1 FROM "accounts_apikey" WHERE "accounts_apikey"."digest" = 1', True),
        ('SELECT 1 FROM "accounts_apikey" WHERE "accounts_apikey"."prefix" = 1', False),
        ("SAVEPOINT s1", True),
    ],
    ids=range(12),
)
def test_tells_a_bound_statement_from_one_that_is_not(sql, bound):
    assert is_bound(sql) == bound


def test_reads_the_statements_of_this_database(account, statements):
    with statements() as asked:
        list(account.programs.all())
        list(type(account.programs.model()).objects.all())

    assert [is_bound(query["sql"]) for query in asked] == [True, False]
    assert connection.vendor in ("sqlite", "postgresql")
