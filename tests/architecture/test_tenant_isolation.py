"""Tenant isolation of every API operation: docs/architecture.md, docs/reliability.md.

Each operation has a case that says how to call it with objects of the own account. The
test then calls it with objects of another account and with IDs that do not exist: both
responses must be equal to the byte, nothing of the other account may change, and every
SQL statement must filter by account. An operation without a case fails the test.
"""

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, combinations

import pytest
from django.apps import apps
from django.db import connection, transaction
from rest_framework import serializers

from accounts.models.accounts import Account, TenantModel
from affiliate_site.api.schema import build_response_serializer
from tests.architecture.api_contract import METHODS, OPERATIONS, list_operations
from tests.ledger_checks import snapshot_account
from tests.sample_account import SampleAccount

MARKER = "zz-marker"
# The bodies are compared; their length may equal an ID, which would be replaced.
IGNORED_HEADERS = {
    *("X-Trace-Id", "Date", "X-RateLimit-Remaining", "X-RateLimit-Reset"),
    "Content-Length",
}
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
LITERAL = re.compile(r"<([a-z-]+)>")


@dataclass(frozen=True)
class RequestCase:
    """One request: `{click_id}` is an attribute of SampleAccount, `<tier>` a literal.

    `needs` names the objects that must exist for the request to succeed.
    """

    method: str
    path: str
    body: object = None
    query: str = ""
    status: int = 200  # with objects of the own account
    needs: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        body = f" {json.dumps(self.body)}" if self.body not in (None, {}) else ""
        return f"{self.method} {self.path}{self.query}{body}"

    @property
    def operation(self) -> tuple[str, str]:
        path = LITERAL.sub("{}", PLACEHOLDER.sub("{}", self.path))
        return self.method, path

    @property
    def resource(self) -> str:
        return self.path.split("/")[1]

    @property
    def text(self) -> str:
        return self.path + self.query + json.dumps(self.body)

    @property
    def placeholders(self) -> list[str]:
        """Return the placeholders in path, query and body without duplicates."""
        return list(dict.fromkeys(PLACEHOLDER.findall(self.text)))

    @property
    def is_list(self) -> bool:
        """Return whether it is a GET of the API; a GET of a postback is no list."""
        return self.method == "GET" and not self.path.startswith("/pb/")

    @property
    def has_object_parameter(self) -> bool:
        """Return whether it is a postback that updates the object in a parameter."""
        return self.path.startswith("/pb/") and self.path.endswith("/u/")

    @property
    def path_placeholders(self) -> set[str]:
        return set(PLACEHOLDER.findall(self.path))

    def send(self, api, ids: dict[str, str]):
        def fill(text):
            return PLACEHOLDER.sub(lambda match: ids[match[1]], text)

        path = LITERAL.sub(r"\1", fill(self.path)) + fill(self.query)
        body = None if self.body is None else fill(json.dumps(self.body))
        return api.request(self.method, path, body)


TRACKING_PARAMETERS = {
    "coupon": "{coupon}",
    "referral_code": "{referral_code}",
    "click_id": "{click_id}",
}
PAIR = {"asset_id": "{asset_id}", "source_id": "{source_id}"}
SALE = {"amount": 49.9}  # without an external_id, no failed attempt is recorded

CASES = [
    # Customers
    RequestCase("GET", "/customers/", needs=("customer_public_id",)),
    RequestCase("GET", "/customers/", query="?customer_id={customer_id}"),
    RequestCase(
        "GET",
        "/customers/",
        query="?program_id={program}",
        needs=("customer_public_id",),
    ),
    RequestCase(
        "GET",
        "/customers/",
        query="?affiliate_id={enrolled_affiliate}",
        needs=("customer_public_id",),
    ),
    *(
        RequestCase("POST", "/customers/", {"customer_id": "case-1", name: value})
        for name, value in TRACKING_PARAMETERS.items()
    ),
    RequestCase("POST", "/customers/", {"customer_id": "case-1", **PAIR}),
    RequestCase("GET", "/customers/{customer_public_id}/"),
    RequestCase("PATCH", "/customers/{customer_public_id}/", {"customer_id": "case-1"}),
    RequestCase("PATCH", "/customers/{customer_public_id}/", {"meta_data": {"a": "b"}}),
    RequestCase("DELETE", "/customers/{customer_public_id}/", status=204),
    RequestCase("PUT", "/customers/{customer_public_id}/status/"),
    RequestCase("DELETE", "/customers/{customer_public_id}/status/"),
    # Meta data
    *(
        case
        for path in (
            "/customers/{customer_public_id}/meta-data/",
            "/conversions/{conversion_id}/meta-data/",
            "/affiliates/{affiliate}/meta-data/",
        )
        for case in (
            RequestCase("GET", path),
            RequestCase("PUT", path, {"a": "b"}),
            RequestCase("POST", path, {"a": "b"}),
            RequestCase("GET", f"{path}<tier>/"),
            RequestCase("PUT", f"{path}<tier>/", {"value": "gold"}),
            RequestCase("DELETE", f"{path}<tier>/", status=204),
        )
    ),
    # Conversions
    RequestCase("GET", "/conversions/", needs=("conversion_id",)),
    RequestCase("GET", "/conversions/", query="?external_id={external_id}"),
    RequestCase("GET", "/conversions/", query="?customer_id={buyer_id}"),
    RequestCase(
        "GET", "/conversions/", query="?program_id={program}", needs=("conversion_id",)
    ),
    RequestCase(
        "GET",
        "/conversions/",
        query="?affiliate_id={enrolled_affiliate}",
        needs=("conversion_id",),
    ),
    *(
        RequestCase("POST", "/conversions/", {**SALE, name: value})
        for name, value in {
            **TRACKING_PARAMETERS,
            "customer_id": "{customer_id}",
        }.items()
    ),
    RequestCase("POST", "/conversions/", {**SALE, **PAIR}),
    RequestCase("GET", "/conversions/{conversion_id}/"),
    RequestCase("PATCH", "/conversions/{conversion_id}/", {"amount": 7}),
    RequestCase("DELETE", "/conversions/{conversion_id}/", status=204),
    RequestCase(
        "POST",
        "/conversions/{conversion_id}/commissions/",
        {"conversion_sub_amount": 7},
    ),
    # Commissions
    RequestCase("GET", "/commissions/", needs=("commission_id",)),
    RequestCase(
        "GET",
        "/commissions/",
        query="?affiliate_id={enrolled_affiliate}",
        needs=("commission_id",),
    ),
    RequestCase("GET", "/commissions/{commission_id}/"),
    RequestCase("PATCH", "/commissions/{commission_id}/", {"amount": 7}),
    *(
        RequestCase(method, f"/commissions/{{commission_id}}/{word}/")
        for word in ("approved", "approval")
        for method in ("PUT", "DELETE")
    ),
    # Affiliates
    RequestCase("GET", "/affiliates/", needs=("affiliate",)),
    RequestCase("GET", "/affiliates/", query="?click_id={click_id}"),
    RequestCase("GET", "/affiliates/", query="?source_id={source_id}"),
    RequestCase("GET", "/affiliates/", query="?email={email}"),
    RequestCase("GET", "/affiliates/", query="?referral_code={referral_code}"),
    RequestCase("POST", "/affiliates/", {"firstname": "Mina", "lastname": "Kessler"}),
    RequestCase("GET", "/affiliates/custom-fields/"),
    RequestCase("GET", "/affiliates/{affiliate}/"),
    RequestCase("PATCH", "/affiliates/{affiliate}/", {"lastname": "Kessler"}),
    RequestCase("DELETE", "/affiliates/{affiliate}/", status=204),
    RequestCase("PUT", "/affiliates/{affiliate}/group/", {"group_id": "{group_id}"}),
    RequestCase("DELETE", "/affiliates/{affiliate}/group/"),
    RequestCase(
        "POST",
        "/affiliates/{affiliate}/parent/",
        {"affiliate_id": "{second_affiliate}"},
    ),
    RequestCase(
        "PUT", "/affiliates/{affiliate}/parent/", {"affiliate_id": "{second_affiliate}"}
    ),
    RequestCase("DELETE", "/affiliates/{affiliate}/parent/"),
    RequestCase("GET", "/affiliates/{affiliate}/notes/"),
    RequestCase("POST", "/affiliates/{affiliate}/notes/", {"note": "changed"}),
    RequestCase("GET", "/affiliates/{affiliate}/notes/{note_id}/"),
    RequestCase("PUT", "/affiliates/{affiliate}/notes/{note_id}/", {"note": "changed"}),
    RequestCase(
        "PATCH", "/affiliates/{affiliate}/notes/{note_id}/", {"note": "changed"}
    ),
    RequestCase("DELETE", "/affiliates/{affiliate}/notes/{note_id}/", status=204),
    RequestCase("GET", "/affiliates/{affiliate}/payout-methods/"),
    RequestCase(
        "GET",
        "/affiliates/{affiliate}/payout-methods/<paypal>/",
        needs=("payout_method",),
    ),
    RequestCase(
        "PUT", "/affiliates/{affiliate}/payout-methods/<bank>/", {"iban": "changed"}
    ),
    RequestCase(
        "GET", "/affiliates/{enrolled_affiliate}/balances/", needs=("approved_amount",)
    ),
    RequestCase(
        "GET", "/affiliates/{enrolled_affiliate}/payments/", needs=("payment_id",)
    ),
    RequestCase("GET", "/affiliates/{enrolled_affiliate}/programs/"),
    # Groups and prospects
    RequestCase("GET", "/affiliate-groups/", needs=("group_id",)),
    RequestCase("POST", "/affiliate-groups/", {"title": "changed"}),
    RequestCase("GET", "/affiliate-groups/{group_id}/"),
    RequestCase("PATCH", "/affiliate-groups/{group_id}/", {"title": "changed"}),
    RequestCase("GET", "/affiliate-prospects/", needs=("prospect_id",)),
    RequestCase(
        "POST",
        "/affiliate-prospects/",
        {"firstname": "Mina", "lastname": "Kessler", "program_id": "{program}"},
    ),
    RequestCase("GET", "/affiliate-prospects/{prospect_id}/"),
    RequestCase("DELETE", "/affiliate-prospects/{prospect_id}/", status=204),
    # Programs
    RequestCase("GET", "/programs/", needs=("program",)),
    RequestCase("GET", "/programs/", query="?asset_id={asset_id}"),
    RequestCase("GET", "/programs/{program}/"),
    RequestCase(
        "GET", "/programs/{program}/affiliates/", needs=("enrolled_affiliate",)
    ),
    RequestCase(
        "GET",
        "/programs/{program}/affiliates/",
        query="?email={enrolled_affiliate_email}",
    ),
    RequestCase(
        "GET", "/programs/{program}/affiliates/", query="?source_id={source_id}"
    ),
    RequestCase(
        "POST",
        "/programs/{program}/affiliates/",
        {"affiliate": {"id": "{affiliate}"}, "coupon": "CASE10"},
    ),
    RequestCase(
        "POST", "/programs/{program}/affiliates/", {"affiliate": {"email": "{email}"}}
    ),
    RequestCase("GET", "/programs/{program}/affiliates/{enrolled_affiliate}/"),
    RequestCase(
        "PATCH",
        "/programs/{program}/affiliates/{enrolled_affiliate}/",
        {"coupon": "CASE10"},
    ),
    *(
        RequestCase(
            method, f"/programs/{{program}}/affiliates/{{enrolled_affiliate}}/{word}/"
        )
        for word in ("approved", "approval")
        for method in ("PUT", "DELETE")
    ),
    RequestCase("GET", "/programs/{program}/commission-types/"),
    RequestCase("GET", "/programs/{program}/levels/"),
    RequestCase("GET", "/programs/{program}/bonuses/"),
    # Clicks
    RequestCase("GET", "/clicks/", needs=("click_id",)),
    RequestCase("GET", "/clicks/", query="?program_id={program}", needs=("click_id",)),
    RequestCase(
        "GET",
        "/clicks/",
        query="?affiliate_id={enrolled_affiliate}",
        needs=("click_id",),
    ),
    RequestCase("POST", "/clicks/", {"referral_code": "{referral_code}"}),
    RequestCase("POST", "/clicks/", PAIR),
    RequestCase("GET", "/clicks/{click_id}/"),
    # Balances and payments
    RequestCase("GET", "/balances/", needs=("approved_amount",)),
    RequestCase("GET", "/payments/", needs=("payment_id",)),
    RequestCase(
        "GET",
        "/payments/",
        query="?affiliate_id={enrolled_affiliate}",
        needs=("payment_id",),
    ),
    RequestCase(
        "POST",
        "/payments/",
        {"affiliate_id": "{enrolled_affiliate}", "amount": 5, "currency": "EUR"},
    ),
    RequestCase("GET", "/payments/{payment_id}/"),
    RequestCase("DELETE", "/payments/{payment_id}/", status=204),
    # Postbacks
    *(
        RequestCase(
            "GET", "/pb/con/c/", query=f"?external_id=case-1&amount=49.9&{parameter}"
        )
        for parameter in (
            "coupon={coupon}",
            "ref={referral_code}",
            "click_id={click_id}",
        )
    ),
    RequestCase("POST", "/pb/con/c/", {"external_id": "case-1", "coupon": "{coupon}"}),
    RequestCase("GET", "/pb/con/u/", query="?external_id={external_id}&amount=7"),
    RequestCase("POST", "/pb/con/u/", {"external_id": "{external_id}", "amount": 7}),
    RequestCase("GET", "/pb/cus/c/", query="?customer_id=case-1&coupon={coupon}"),
    RequestCase("POST", "/pb/cus/c/", {"customer_id": "case-1", "coupon": "{coupon}"}),
    RequestCase(
        "GET", "/pb/cus/u/", query="?customer_id={customer_id}&status=canceled"
    ),
    RequestCase(
        "POST", "/pb/cus/u/", {"customer_id": "{customer_id}", "status": "canceled"}
    ),
]

# The DELETE after which the same ID must look like one that never existed.
DELETIONS = {
    name: RequestCase("DELETE", path, status=204)
    for name, path in {
        "customer_public_id": "/customers/{customer_public_id}/",
        "conversion_id": "/conversions/{conversion_id}/",
        "affiliate": "/affiliates/{affiliate}/",
        "note_id": "/affiliates/{affiliate}/notes/{note_id}/",
        "prospect_id": "/affiliate-prospects/{prospect_id}/",
        "payment_id": "/payments/{payment_id}/",
    }.items()
}

# Statements that cannot filter by account, each with its reason.
UNSCOPED = {
    r'FROM "accounts_apikey".* WHERE .*"digest" = ': "finds the API key by its digest",
}

IMPLEMENTED = list_operations()
IMPLEMENTED_CASES = [case for case in CASES if case.operation in IMPLEMENTED]


@pytest.fixture
def own_data(account, api):
    return SampleAccount(api, account.slug, "harbor")


@pytest.fixture
def foreign_data(other_account, other_api):
    return SampleAccount(other_api, other_account.slug, MARKER)


def list_foreign_combinations(case):
    """Return each non-empty combination of placeholders to fill with foreign IDs."""
    names = case.placeholders
    return chain.from_iterable(
        combinations(names, count) for count in range(1, len(names) + 1)
    )


def invent_id(value: str) -> str:
    """Return an unused ID of the same format and length."""
    if value.isdigit():
        return str(int(value) + 7_000_000)
    last = {"z": "y", "9": "8", "f": "e", "Z": "Y", "e": "d"}.get(value[-1])
    return value[:-1] + (last or chr(ord(value[-1]) + 1))


def snapshot_both(account, other_account) -> list[dict]:
    """Return all rows of two accounts, without what requests of the first change."""
    own, foreign = map(snapshot, (account, other_account))
    return [
        {name: own[name] for name in own.keys() - {"ApiKey", "ConversionAttempt"}},
        foreign,
    ]


def snapshot(account) -> dict:
    """Return the account's own row and all rows that belong to it."""
    account_row = Account.objects.filter(pk=account.pk).values().get()
    return snapshot_account(account) | {"Account": account_row}


def normalize_response(response, ids: list[str], replacements: list[str]):
    """Return status, headers and body, with `ids` replaced by `replacements`."""

    def replace(text):
        for old, new in zip(ids, replacements, strict=True):
            whole = rf"(?<![0-9A-Za-z]){re.escape(old)}(?![0-9A-Za-z])"
            text = re.sub(whole, new, text)
        return text

    headers = {
        name: replace(value)
        for name, value in response.headers.items()
        if name not in IGNORED_HEADERS
    }
    return response.status_code, headers, replace(response.content.decode())


def expected_status(case, foreign):
    if case.path_placeholders & set(foreign) or case.has_object_parameter:
        return 404
    return 200 if case.is_list else 400


def reset_attempts(account, case, api, ids):
    """Send the request again without the delay after a failed attempt."""
    account.conversion_attempts.all().delete()
    return case.send(api, ids)


def test_has_a_case_for_every_operation():
    assert set(IMPLEMENTED) - {case.operation for case in CASES} == set()


def test_has_no_case_outside_the_contract():
    assert {case.operation for case in CASES} - set(OPERATIONS) == set()
    assert {case.method for case in CASES} <= set(METHODS)


@pytest.fixture
def rollback_check(subtests):
    """Run a named check as a subtest and roll back its changes."""

    @contextmanager
    def check(name, **details):
        with subtests.test(name, **details), transaction.atomic():
            yield
            transaction.set_rollback(True)

    return check


@pytest.fixture
def check_case(own_data, foreign_data, account, other_account, rollback_check):
    """Run the checks of a case with objects that the cases of a test share."""

    def check(case, capture_queries):
        names = (*case.needs, *case.placeholders)
        own, foreign = (
            {name: getattr(data, name) for name in names}
            for data in (own_data, foreign_data)
        )
        with rollback_check("it succeeds with objects of the account", case=case):
            assert_succeeds(case, own_data.api, own)
        with rollback_check("every statement filters by account", case=case):
            assert_scopes_every_statement(case, own_data.api, own, capture_queries)
        before = snapshot_both(account, other_account)
        for chosen in list_foreign_combinations(case):
            with rollback_check(
                "a foreign object looks like one that never existed",
                case=case,
                names=chosen,
            ):
                assert_hides(case, own_data.api, own, foreign, chosen, account)
                assert snapshot_both(account, other_account) == before
        for name in sorted(case.path_placeholders & set(DELETIONS)):
            if case.status != 204:
                with rollback_check(
                    "a deleted object looks like one that never existed",
                    case=case,
                    removed=name,
                ):
                    assert_hides_removed(case, own_data.api, own, name)

    return check


@pytest.mark.parametrize("resource", sorted({case.resource for case in CASES}))
def test_isolates_tenants(check_case, capture_queries, resource):
    for case in IMPLEMENTED_CASES:
        if case.resource == resource:
            check_case(case, capture_queries)


def test_an_account_without_rows_lists_no_rows_of_another_one(
    api, foreign_data, rollback_check
):
    for case in IMPLEMENTED_CASES:
        if case.is_list and not case.path_placeholders:
            names = (*case.needs, *case.placeholders)
            foreign = {name: getattr(foreign_data, name) for name in names}
            with rollback_check("lists nothing", case=case):
                assert_lists_nothing(case, api, foreign)


def assert_lists_nothing(case, api, foreign):
    ids = {name: invent_id(foreign[name]) for name in case.placeholders}

    response = case.send(api, ids)

    assert response.status_code == 200
    assert response.json() == []


def assert_succeeds(case, api, own):
    """Assert a successful response with the declared schema and only own data.

    Without this, a 404 would prove nothing.
    """
    route = IMPLEMENTED[case.operation]
    declared = route.view(action=route.actions[case.method]).get_representation()

    response = case.send(api, own)

    assert response.status_code == case.status, response.content
    assert MARKER not in response.content.decode().lower()
    if declared is None:
        assert (response.status_code, response.content) == (204, b"")
    elif not isinstance(declared, dict):  # a dict is a map with any keys
        serializer = build_response_serializer(declared)
        serializer = serializer() if isinstance(serializer, type) else serializer
        assert_matches_schema(serializer, response.json())


def assert_scopes_every_statement(case, api, own, statements):
    unused = {name: invent_id(value) for name, value in own.items()}

    with statements() as executed:
        for ids in (unused, own):
            case.send(api, ids)

    unbound = {
        query["sql"] for query in executed if not is_scoped_to_account(query["sql"])
    }
    assert len(executed) > 0
    assert unbound == set()


def assert_hides(case, api, own, foreign, names, account):
    """Assert equal responses for foreign and unused IDs."""
    unused = {name: invent_id(value) for name, value in foreign.items()}

    found = case.send(api, own | {name: foreign[name] for name in names})
    other = reset_attempts(
        account, case, api, own | {name: unused[name] for name in names}
    )

    assert found.status_code == expected_status(case, names), found.content
    ids = [foreign[name] for name in names], [unused[name] for name in names]
    assert normalize_response(found, *ids) == normalize_response(other, ids[1], ids[1])
    if found.status_code == 200:
        assert found.json() == []


def assert_hides_removed(case, api, own, name):
    deletion = DELETIONS[name]
    first_deletion = deletion.send(api, own)
    unused = own | {name: invent_id(own[name])}

    removed, other = case.send(api, own), case.send(api, unused)

    assert first_deletion.status_code == deletion.status
    assert removed.status_code == 404
    assert normalize_response(
        removed, [own[name]], [unused[name]]
    ) == normalize_response(other, [], [])


JSON_TYPES = {
    serializers.BooleanField: bool,
    serializers.IntegerField: int,
    serializers.DecimalField: (int, float),
    serializers.CharField: str,
    serializers.DictField: dict,
}
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")


def assert_matches_schema(declared, data, where="answer"):
    """Assert that all declared keys are present, in order, and of the declared type."""
    if data is None:
        assert declared.allow_null, f"{where} is null"
    elif isinstance(declared, serializers.ListSerializer):
        for number, item in enumerate(data):
            assert_matches_schema(declared.child, item, f"{where}[{number}]")
    elif isinstance(declared, serializers.Serializer):
        assert list(data) == list(declared.fields), where
        for name, inner in declared.fields.items():
            assert_matches_schema(inner, data[name], f"{where}.{name}")
    elif isinstance(declared, serializers.DateTimeField):
        assert TIMESTAMP.fullmatch(data), where
    else:
        kinds = [JSON_TYPES[kind] for kind in JSON_TYPES if isinstance(declared, kind)]
        assert all(isinstance(data, kind) for kind in kinds), where


def parse_statement(sql: str) -> tuple[str, str]:
    """Return the main table and the part that must name the account."""
    flat = " ".join(sql.split())
    if insert := re.match(r'INSERT INTO "?(\w+)"?(?: AS \w+)? \(([^)]*)\)', flat):
        return insert[1], insert[2]
    main = re.search(r'(?:\bFROM|^UPDATE) "?(\w+)"?', flat)
    if main is None:
        return "", ""
    return main[1], flat[main.end() :].partition(" WHERE ")[2]


def is_scoped_to_account(sql: str) -> bool:
    """Return whether the statement filters by the account of its main table."""
    tables = {
        model._meta.db_table
        for model in apps.get_models()
        if issubclass(model, TenantModel)
    }
    table, part = parse_statement(sql)
    if table not in tables or any(re.search(why, sql, re.DOTALL) for why in UNSCOPED):
        return True
    if sql.lstrip().upper().startswith("INSERT"):
        return bool(re.search(r'"?\baccount_id\b"?', part))
    return bool(re.search(rf'("{table}"\.)?"account_id" (=|IN) ', part))


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
def test_recognizes_statements_scoped_to_an_account(sql, bound):
    assert is_scoped_to_account(sql) == bound


def test_parses_the_statements_of_this_database(account, capture_queries):
    with capture_queries() as captured:
        list(account.programs.all())
        list(type(account.programs.model()).objects.all())

    assert [is_scoped_to_account(query["sql"]) for query in captured] == [True, False]
    assert connection.vendor in ("sqlite", "postgresql")
