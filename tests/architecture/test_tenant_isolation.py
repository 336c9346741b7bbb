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
from payouts.report_columns import COLUMNS
from payouts.services.report_fields import FIELDS
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


def case(request, body=None, *, needs="", status=200):
    """Return a case: `case("GET /clicks/?program_id={program}", needs="click_id")`."""
    method, address = request.split(" ", 1)
    path, mark, query = address.partition("?")
    return RequestCase(method, path, body, mark + query, status, tuple(needs.split()))


TRACKING_PARAMETERS = {
    "coupon": "{coupon}",
    "referral_code": "{referral_code}",
    "click_id": "{click_id}",
}
PAIR = {"asset_id": "{asset_id}", "source_id": "{source_id}"}
REPORT_DAYS = "date_from=2025-01-01&date_to=2028-12-31"
SALE = {"amount": 49.9}  # without an external_id, no failed attempt is recorded

CASES = [
    # Customers
    case("GET /customers/", needs="customer_public_id"),
    case("GET /customers/?customer_id={customer_id}"),
    case("GET /customers/?program_id={program}", needs="customer_public_id"),
    case("GET /customers/?affiliate_id={enrolled_affiliate}", needs="customer_public_id"),
    *(
        case("POST /customers/", {"customer_id": "case-1", name: value})
        for name, value in TRACKING_PARAMETERS.items()
    ),
    case("POST /customers/", {"customer_id": "case-1", **PAIR}),
    case("GET /customers/{customer_public_id}/"),
    case("PATCH /customers/{customer_public_id}/", {"customer_id": "case-1"}),
    case("PATCH /customers/{customer_public_id}/", {"meta_data": {"a": "b"}}),
    case("DELETE /customers/{customer_public_id}/", status=204),
    case("PUT /customers/{customer_public_id}/status/"),
    case("DELETE /customers/{customer_public_id}/status/"),
    # Meta data
    *(
        each
        for path in (
            "/customers/{customer_public_id}/meta-data/",
            "/conversions/{conversion_id}/meta-data/",
            "/affiliates/{affiliate}/meta-data/",
        )
        for each in (
            case(f"GET {path}"),
            case(f"PUT {path}", {"a": "b"}),
            case(f"POST {path}", {"a": "b"}),
            case(f"GET {path}<tier>/"),
            case(f"PUT {path}<tier>/", {"value": "gold"}),
            case(f"DELETE {path}<tier>/", status=204),
        )
    ),
    # Conversions
    case("GET /conversions/", needs="conversion_id"),
    case("GET /conversions/?external_id={external_id}"),
    case("GET /conversions/?customer_id={buyer_id}"),
    case("GET /conversions/?program_id={program}", needs="conversion_id"),
    case("GET /conversions/?affiliate_id={enrolled_affiliate}", needs="conversion_id"),
    *(
        case("POST /conversions/", {**SALE, name: value})
        for name, value in {
            **TRACKING_PARAMETERS,
            "customer_id": "{customer_id}",
        }.items()
    ),
    case("POST /conversions/", {**SALE, **PAIR}),
    case("GET /conversions/{conversion_id}/"),
    case("PATCH /conversions/{conversion_id}/", {"amount": 7}),
    case("DELETE /conversions/{conversion_id}/", status=204),
    case("POST /conversions/{conversion_id}/commissions/", {"conversion_sub_amount": 7}),
    # Commissions
    case("GET /commissions/", needs="commission_id"),
    case("GET /commissions/?affiliate_id={enrolled_affiliate}", needs="commission_id"),
    case("GET /commissions/{commission_id}/"),
    case("PATCH /commissions/{commission_id}/", {"amount": 7}),
    *(
        case(f"{method} /commissions/{{commission_id}}/{word}/")
        for word in ("approved", "approval")
        for method in ("PUT", "DELETE")
    ),
    # Affiliates
    case("GET /affiliates/", needs="affiliate"),
    case("GET /affiliates/?click_id={click_id}"),
    case("GET /affiliates/?source_id={source_id}"),
    case("GET /affiliates/?email={email}"),
    case("GET /affiliates/?referral_code={referral_code}"),
    case("POST /affiliates/", {"firstname": "Mina", "lastname": "Kessler"}),
    case("GET /affiliates/custom-fields/"),
    case("GET /affiliates/{affiliate}/"),
    case("PATCH /affiliates/{affiliate}/", {"lastname": "Kessler"}),
    case("DELETE /affiliates/{affiliate}/", status=204),
    case("PUT /affiliates/{affiliate}/group/", {"group_id": "{group_id}"}),
    case("DELETE /affiliates/{affiliate}/group/"),
    case("POST /affiliates/{affiliate}/parent/", {"affiliate_id": "{second_affiliate}"}),
    case("PUT /affiliates/{affiliate}/parent/", {"affiliate_id": "{second_affiliate}"}),
    case("DELETE /affiliates/{affiliate}/parent/"),
    case("GET /affiliates/{affiliate}/notes/"),
    case("POST /affiliates/{affiliate}/notes/", {"note": "changed"}),
    case("GET /affiliates/{affiliate}/notes/{note_id}/"),
    case("PUT /affiliates/{affiliate}/notes/{note_id}/", {"note": "changed"}),
    case("PATCH /affiliates/{affiliate}/notes/{note_id}/", {"note": "changed"}),
    case("DELETE /affiliates/{affiliate}/notes/{note_id}/", status=204),
    case("GET /affiliates/{affiliate}/payout-methods/"),
    case("GET /affiliates/{affiliate}/payout-methods/<paypal>/", needs="payout_method"),
    case("PUT /affiliates/{affiliate}/payout-methods/<bank>/", {"iban": "changed"}),
    case("GET /affiliates/{enrolled_affiliate}/balances/", needs="approved_amount"),
    case("GET /affiliates/{enrolled_affiliate}/payments/", needs="payment_id"),
    case("GET /affiliates/{enrolled_affiliate}/programs/"),
    # Groups and prospects
    case("GET /affiliate-groups/", needs="group_id"),
    case("POST /affiliate-groups/", {"title": "changed"}),
    case("GET /affiliate-groups/{group_id}/"),
    case("PATCH /affiliate-groups/{group_id}/", {"title": "changed"}),
    case("GET /affiliate-prospects/", needs="prospect_id"),
    case(
        "POST /affiliate-prospects/",
        {"firstname": "Mina", "lastname": "Kessler", "program_id": "{program}"},
    ),
    case("GET /affiliate-prospects/{prospect_id}/"),
    case("DELETE /affiliate-prospects/{prospect_id}/", status=204),
    # Programs
    case("GET /programs/", needs="program"),
    case("GET /programs/?asset_id={asset_id}"),
    case("GET /programs/{program}/"),
    case("GET /programs/{program}/affiliates/", needs="enrolled_affiliate"),
    case("GET /programs/{program}/affiliates/?email={enrolled_affiliate_email}"),
    case("GET /programs/{program}/affiliates/?source_id={source_id}"),
    case(
        "POST /programs/{program}/affiliates/",
        {"affiliate": {"id": "{affiliate}"}, "coupon": "CASE10"},
    ),
    case("POST /programs/{program}/affiliates/", {"affiliate": {"email": "{email}"}}),
    case("GET /programs/{program}/affiliates/{enrolled_affiliate}/"),
    case(
        "PATCH /programs/{program}/affiliates/{enrolled_affiliate}/",
        {"coupon": "CASE10"},
    ),
    *(
        case(f"{method} /programs/{{program}}/affiliates/{{enrolled_affiliate}}/{word}/")
        for word in ("approved", "approval")
        for method in ("PUT", "DELETE")
    ),
    case("GET /programs/{program}/commission-types/"),
    case("GET /programs/{program}/levels/"),
    case("GET /programs/{program}/bonuses/"),
    # Clicks
    case("GET /clicks/", needs="click_id"),
    case("GET /clicks/?program_id={program}", needs="click_id"),
    case("GET /clicks/?affiliate_id={enrolled_affiliate}", needs="click_id"),
    case("POST /clicks/", {"referral_code": "{referral_code}"}),
    case("POST /clicks/", PAIR),
    case("GET /clicks/{click_id}/"),
    # Balances and payments
    case("GET /balances/", needs="approved_amount"),
    case("GET /payments/", needs="payment_id"),
    case("GET /payments/?affiliate_id={enrolled_affiliate}", needs="payment_id"),
    case(
        "POST /payments/",
        {"affiliate_id": "{enrolled_affiliate}", "amount": 5, "currency": "EUR"},
    ),
    case("GET /payments/{payment_id}/"),
    case("DELETE /payments/{payment_id}/", status=204),
    # Reports
    *(
        case(f"GET /reports/?rows={rows}&columns={','.join(COLUMNS)}&{REPORT_DAYS}")
        for rows in FIELDS
    ),
    # Postbacks
    *(
        case(f"GET /pb/con/c/?external_id=case-1&amount=49.9&{parameter}")
        for parameter in (
            "coupon={coupon}",
            "ref={referral_code}",
            "click_id={click_id}",
        )
    ),
    case("POST /pb/con/c/", {"external_id": "case-1", "coupon": "{coupon}"}),
    case("GET /pb/con/u/?external_id={external_id}&amount=7"),
    case("POST /pb/con/u/", {"external_id": "{external_id}", "amount": 7}),
    case("GET /pb/cus/c/?customer_id=case-1&coupon={coupon}"),
    case("POST /pb/cus/c/", {"customer_id": "case-1", "coupon": "{coupon}"}),
    case("GET /pb/cus/u/?customer_id={customer_id}&status=canceled"),
    case("POST /pb/cus/u/", {"customer_id": "{customer_id}", "status": "canceled"}),
]

# The DELETE after which the same ID must look like one that never existed.
DELETIONS = {
    name: case(f"DELETE {path}", status=204)
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
UNSCOPED = {r'FROM "accounts_apikey".* WHERE .*"digest" = ': "finds the API key by its digest"}

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
    return chain.from_iterable(combinations(names, count) for count in range(1, len(names) + 1))


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
            {name: getattr(data, name) for name in names} for data in (own_data, foreign_data)
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


def test_an_account_without_rows_lists_no_rows_of_another_one(api, foreign_data, rollback_check):
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
    found = response.json()
    assert (found["rows"] + found["totals"] if case.resource == "reports" else found) == []


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

    unbound = {query["sql"] for query in executed if not is_scoped_to_account(query["sql"])}
    assert len(executed) > 0
    assert unbound == set()


def assert_hides(case, api, own, foreign, names, account):
    """Assert equal responses for foreign and unused IDs."""
    unused = {name: invent_id(value) for name, value in foreign.items()}

    found = case.send(api, own | {name: foreign[name] for name in names})
    other = reset_attempts(account, case, api, own | {name: unused[name] for name in names})

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
    assert normalize_response(removed, [own[name]], [unused[name]]) == normalize_response(
        other, [], []
    )


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
    tables = {model._meta.db_table for model in apps.get_models() if issubclass(model, TenantModel)}
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
