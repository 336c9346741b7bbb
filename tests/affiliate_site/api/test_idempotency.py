"""Idempotency-Key (docs/api-contract.md, section 1.9): one effect, then replays."""

import json
import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from accounts.services.idempotency import store_response
from accounts.services.rate_limits import RateLimit
from affiliate_site.api import idempotency
from affiliate_site.api.resources.payments import PaymentViewSet
from tests.affiliate_site.responses import (
    build_field_error,
    get_json,
    snapshot_account_data,
)
from tests.architecture.api_contract import OPERATIONS
from tests.architecture.test_tenant_isolation import CASES
from tests.conftest import ApiClient
from tests.database_locks import lock_elsewhere, set_lock_timeout
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import (
    assert_ledger_consistent,
    assert_unchanged,
    fail_at_statement,
)
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tests.sample_account import SampleAccount
from tracking.services import affiliates
from tracking.services.programs import archive_program

KEY = {"Idempotency-Key": "pay-march"}
REPLAYED = "Idempotent-Replayed"
PAYMENT = {"affiliate_id": "minakessler", "amount": 5, "currency": "EUR"}
REUSED, IN_PROGRESS = (
    {"errors": [{"message": message, "code": code}]}
    for message, code in (
        (
            "This Idempotency-Key was used for another request.",
            "idempotency_key_reused",
        ),
        (
            "A request with this Idempotency-Key is still in progress.",
            "idempotency_in_progress",
        ),
    )
)
INVALID_KEY = {
    "errors": [
        build_field_error(
            "Idempotency-Key",
            "Idempotency-Key must be 1 to 255 printable ASCII characters",
        )
    ]
}


@pytest.fixture
def scenario(account):
    shop = ProgramScenario(account)
    yield shop
    assert_ledger_consistent(account)


class IdempotentClient(ApiClient):
    """Sends the same Idempotency-Key with every request."""

    def request(self, method, path, body=None, **headers):
        return super().request(method, path, body, **KEY | headers)


@pytest.fixture
def idempotent_client(api, scenario):
    return IdempotentClient(api.key)


def is_replay(response):
    return response.status_code == 200 and response.headers.get(REPLAYED) == "true"


def is_processed(response):
    return response.status_code == 200 and REPLAYED not in response.headers


def lock_account(account):
    account.locked_at = timezone.now()
    account.save()


# Every POST operation.

POSTS = [case for case in CASES if case.method == "POST"]
VARYING_HEADERS = {"X-Trace-Id", "X-RateLimit-Remaining", "Content-Length", REPLAYED}


def test_covers_every_post_operation():
    assert {case.operation for case in POSTS} == {
        operation for operation in OPERATIONS if operation[0] == "POST"
    }


@pytest.mark.parametrize("case", POSTS, ids=str)
def test_replays_the_response_without_effect(account, api, case):
    sample = SampleAccount(api, account.slug, "harbor")
    ids = {name: getattr(sample, name) for name in (*case.needs, *case.placeholders)}
    first = case.send(IdempotentClient(api.key), ids)
    before = snapshot_account_data(account)

    second = case.send(IdempotentClient(api.key), ids)

    assert is_processed(first), first.content
    assert is_replay(second)
    secret = rb'"password":"[^"]*"'
    assert second.content == re.sub(secret, b'"password":null', first.content)
    first_headers, second_headers = (
        {name: value for name, value in response.items() if name not in VARYING_HEADERS}
        for response in (first, second)
    )
    assert first_headers == second_headers
    assert snapshot_account_data(account) == before
    assert_ledger_consistent(account)


# Payments.


def test_creates_a_payment_for_each_key(account, api, scenario):
    keys = ["pay-march", "PAY-MARCH", "~", "k" * 255, '"{}" /?=;,', "pay march"]

    responses = [api.post("/payments/", PAYMENT, **{"Idempotency-Key": key}) for key in keys]

    assert all(is_processed(response) for response in responses)
    assert account.payments.count() == len(keys)


def test_replays_count_in_the_rate_limit(idempotent_client):
    first, second = (idempotent_client.post("/payments/", PAYMENT) for _ in range(2))

    assert is_replay(second)
    assert [first["X-RateLimit-Remaining"], second["X-RateLimit-Remaining"]] == [
        "299",
        "298",
    ]
    assert second["X-RateLimit-Limit"] == "300"
    assert second["X-RateLimit-Reset"] == first["X-RateLimit-Reset"]


# The key and its request.


@pytest.mark.parametrize(
    "key", ["", "k" * 256, "é", "a\tb", "a\x7f", "a\x00", "a\nb", "a\n"], ids=ascii
)
def test_rejects_an_invalid_key(account, api, scenario, key):
    with assert_unchanged(account, snapshot_account_data):
        response = api.post("/payments/", PAYMENT, **{"Idempotency-Key": key})

    assert response.status_code == 400
    assert response.json() == INVALID_KEY


NOTES = "/affiliates/minakessler/notes/"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param(NOTES, '{"note": "hello"}', id="body"),
        pytest.param(NOTES, '{"note":"Hello"}', id="white-space"),
        pytest.param(NOTES, "", id="no-body"),
        pytest.param(f"{NOTES}?page=1", '{"note": "Hello"}', id="query"),
        pytest.param("/affiliates/odettevarga/notes/", '{"note": "Hello"}', id="path"),
        pytest.param("/affiliates/nobody/notes/", '{"note": "Hello"}', id="no-object"),
        pytest.param("/payments/", json.dumps(PAYMENT), id="another-resource"),
        pytest.param("/pb/cus/c/", '{"note": "Hello"}', id="postback"),
    ],
)
def test_rejects_the_key_of_another_request(account, scenario, idempotent_client, path, body):
    scenario.create_enrolled_affiliate("Odette", "Varga")
    first = idempotent_client.post(NOTES, '{"note": "Hello"}')

    with assert_unchanged(account, snapshot_account_data):
        response = idempotent_client.post(path, body)

    assert is_processed(first)
    assert response.status_code == 409
    assert response.json() == REUSED


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        pytest.param("/payments/?a=1&b=2", {}, id="query-in-another-order"),
        pytest.param("/payments?b=2&a=1", {}, id="no-slash"),
        pytest.param("/payments/?b=2&a=1", {"content_type": ""}, id="no-type"),
        pytest.param("/payments/?b=2&a=1", {"Accept": "text/html"}, id="accept"),
    ],
)
def test_replays_an_equivalent_request(account, idempotent_client, path, headers):
    first = idempotent_client.post("/payments/?b=2&a=1", PAYMENT)

    second = idempotent_client.post(path, PAYMENT, **headers)

    assert is_replay(second)
    assert second.content == first.content
    assert account.payments.count() == 1


def test_api_keys_of_an_account_share_idempotency_keys(account, idempotent_client, make_key):
    first = idempotent_client.post("/payments/", PAYMENT)

    second = IdempotentClient(make_key(account)).post("/payments/", PAYMENT)

    assert is_replay(second)
    assert second.content == first.content


def test_accounts_have_separate_idempotency_keys(idempotent_client, other_account, other_api):
    ProgramScenario(other_account, prefix="zz-marker-")
    other_payment = {
        "affiliate_id": "zzmarkerminakessler",
        "amount": 7,
        "currency": "EUR",
    }
    other_client = IdempotentClient(other_api.key)
    other_response = other_client.post("/payments/", other_payment)

    response = idempotent_client.post("/payments/", PAYMENT)

    assert is_processed(other_response), other_response.content
    assert is_processed(response)
    assert is_replay(other_client.post("/payments/", other_payment))
    assert_ledger_consistent(other_account)


# Stored responses and their retention.


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        pytest.param("/payments/", PAYMENT | {"amount": 0}, 400, id="field"),
        pytest.param("/payments/", PAYMENT | {"affiliate_id": "x"}, 400, id="reference"),
        pytest.param("/payments/", [PAYMENT, {}], 400, id="second-of-an-array"),
        pytest.param("/payments/", "{", 400, id="no-JSON"),
        pytest.param("/affiliates/", {"firstname": "Mina"}, 400, id="before-claiming"),
        pytest.param("/affiliates/nobody/notes/", {"note": "x"}, 404, id="no-object"),
        pytest.param("/conversions/", {"coupon": "x"}, 400, id="tracking"),
        pytest.param("/pb/con/u/", {"external_id": "x"}, 404, id="postback"),
        pytest.param(
            "/programs/closed/affiliates/",
            {"affiliate": {"id": "minakessler"}},
            409,
            id="conflict",
        ),
    ],
)
def test_stores_no_error_response(account, idempotent_client, path, body, status):
    closed = ProgramScenario(account, "closed", email="other@notes.example.org")
    archive_program(account, slug=closed.program.slug, at=CONVERSION_CREATED_AT)
    before = snapshot_account_data(account)

    first, second = (idempotent_client.post(path, body) for _ in range(2))
    after = snapshot_account_data(account)
    other = idempotent_client.post("/payments/", PAYMENT | {"amount": 1})

    assert first.status_code == second.status_code == status
    assert first.json() == second.json()
    assert REPLAYED not in second.headers
    assert after == before
    assert is_processed(other)


@pytest.mark.parametrize(
    ("age", "is_expired"),
    [
        pytest.param(timedelta(hours=23, minutes=59), False, id="a-minute-before"),
        pytest.param(timedelta(hours=24), True, id="24-hours"),
    ],
)
def test_stores_a_response_for_24_hours(account, idempotent_client, age, is_expired):
    first = idempotent_client.post("/payments/", PAYMENT)
    account.idempotency_keys.update(created_at=F("created_at") - age)

    second, third = (idempotent_client.post("/payments/", PAYMENT) for _ in range(2))

    assert is_processed(second) is is_expired
    assert is_replay(third)
    assert third.content == second.content
    assert (second.content != first.content) is is_expired
    assert account.payments.count() == (2 if is_expired else 1)
    assert account.idempotency_keys.count() == 1


def test_accepts_another_request_with_an_expired_key(account, idempotent_client):
    idempotent_client.post("/payments/", PAYMENT)
    account.idempotency_keys.update(created_at=F("created_at") - timedelta(days=1))

    response = idempotent_client.post(NOTES, {"note": "Hello"})

    assert is_processed(response)
    assert idempotent_client.post("/payments/", PAYMENT).json() == REUSED


def test_stores_nothing_if_any_statement_fails(account, api, idempotent_client):
    non_raising_client = IdempotentClient(api.key, Client(raise_request_exception=False))
    non_raising_client.get("/programs/")  # records the last use of the key now
    before = snapshot_account_data(account)
    statement, statuses = 0, []

    while not statuses or statuses[-1] != 200:
        assert snapshot_account_data(account) == before, f"after statement {statement}"
        with fail_at_statement(statement):
            statuses.append(non_raising_client.post("/payments/", PAYMENT).status_code)
        statement += 1

    assert statement > 10
    assert set(statuses[:-1]) == {503}
    assert account.payments.count() == account.idempotency_keys.count() == 1


# The order of checks.

TOO_LARGE_BODY = b" " * 1_048_576 + b"{}"
REJECTED_REQUESTS = {
    "no-key": ("POST", "/payments/", PAYMENT, {"X-Api-Key": ""}, 401),
    "wrong-key": ("POST", "/payments/", PAYMENT, {"X-Api-Key": "wrong"}, 401),
    "no-path": ("POST", "/pavements/", PAYMENT, {}, 404),
    "no-method": ("POST", "/balances/", PAYMENT, {}, 405),
    "too-large": ("POST", "/payments/", TOO_LARGE_BODY, {}, 413),
}


@pytest.mark.parametrize("key", ["pay-march", "é"], ids=["used", "invalid"])
@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    REJECTED_REQUESTS.values(),
    ids=list(REJECTED_REQUESTS),
)
def test_checks_the_key_after_the_request(
    account, idempotent_client, key, method, path, body, headers, status
):
    idempotent_client.post("/payments/", PAYMENT)

    response = idempotent_client.request(
        method, path, body, **headers, Accept="application/json", **{
            "Idempotency-Key": key
        }
    )  # fmt: skip

    assert response.status_code == status
    assert REPLAYED not in response.headers
    assert response.json()["code"] == status


@pytest.mark.parametrize("key", ["pay-march", "é"], ids=["used", "invalid"])
def test_checks_the_key_after_the_rate_limit(idempotent_client, monkeypatch, key):
    monkeypatch.setitem(PaymentViewSet.throttle_rate, "create", RateLimit(1, minutes=15))
    first = idempotent_client.post("/payments/", PAYMENT)

    second = idempotent_client.post("/payments/", PAYMENT, **{"Idempotency-Key": key})

    assert is_processed(first)
    assert (second.status_code, second.content) == (429, b"Too many requests")
    assert REPLAYED not in second.headers


@pytest.mark.parametrize("key", ["pay-march", "é"], ids=["used", "invalid"])
@pytest.mark.parametrize("role", [Role.VIEWER, Role.MANAGER])
def test_checks_the_key_after_the_role(account, idempotent_client, make_key, role, key):
    idempotent_client.post("/payments/", PAYMENT)

    client = IdempotentClient(make_key(account, role=role))
    response = client.post("/payments/", PAYMENT, **{"Idempotency-Key": key})

    assert response.status_code == 403
    assert response.json()["message"] == "Forbidden"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/conversions/", b"\xff", id="no-JSON"),
        pytest.param("/conversions/", {"coupon": "unknown"}, id="locked"),
        pytest.param("/pb/con/c/", {"external_id": "order-1"}, id="locked-postback"),
        pytest.param("/affiliates/nobody/notes/", {"note": "x"}, id="no-object"),
        pytest.param("/payments/", {}, id="fields"),
    ],
)
@pytest.mark.parametrize(
    ("key", "status", "error"),
    [("pay-march", 409, REUSED), ("é", 400, INVALID_KEY)],
    ids=["used", "invalid"],
)
def test_checks_the_key_before_the_body_and_its_objects(
    account, idempotent_client, path, body, key, status, error
):
    idempotent_client.post("/payments/", PAYMENT)
    lock_account(account)

    response = idempotent_client.post(path, body, **{"Idempotency-Key": key})

    assert response.status_code == status
    assert response.json() == error
    assert account.conversion_attempts.count() == 0


def test_replays_the_response_after_changes_of_the_account(account, scenario, idempotent_client):
    click = {"referral_code": scenario.mina.code}
    first = idempotent_client.post("/clicks/", click)
    lock_account(account)
    scenario.archive()
    ApiClient(idempotent_client.key).delete("/affiliates/minakessler/")

    second = idempotent_client.post("/clicks/", click)

    assert is_processed(first)
    assert is_replay(second)
    assert second.content == first.content
    assert account.clicks.count() == 1


# Conversions, which have checks for duplicates of their own.

DUPLICATE = "Duplicate conversion. There is already a conversion for External id '{}'"
TOO_MANY_ATTEMPTS = "To many concurrent attempts to create conversion with id '{}'"


def build_error_body(text, external_id="order-1"):
    return {"errors": [{"message": text.format(external_id)}]}


def list_attempts(account):
    return list(account.conversion_attempts.values())


@pytest.fixture
def conversion(scenario):
    return {"external_id": "order-1", "coupon": scenario.mina.coupon, "amount": 200}


@pytest.mark.parametrize("path", ["/conversions/", "/pb/con/c/"])
def test_a_replay_is_no_duplicate(account, api, idempotent_client, conversion, path):
    first = idempotent_client.post(path, conversion)

    second = idempotent_client.post(path, conversion)
    without_key = api.post(path, conversion)

    assert is_replay(second)
    assert second.content == first.content
    assert without_key.status_code == 400
    assert without_key.json() == build_error_body(DUPLICATE)
    assert list_attempts(account) == []


@pytest.mark.parametrize("path", ["/conversions/", "/pb/con/c/"])
def test_replays_ignore_the_retry_interval(account, api, idempotent_client, conversion, path):
    first = idempotent_client.post(path, conversion)
    api.delete(f"/conversions/{get_json(first)['id']}/")
    failed = api.post(path, conversion | {"coupon": "unknown"})
    before = list_attempts(account)

    second = idempotent_client.post(path, conversion)
    reused = idempotent_client.post(path, conversion | {"amount": 1})

    assert failed.json() == build_error_body("Unknown coupon code")
    assert is_replay(second)
    assert second.content == first.content
    assert reused.json() == REUSED
    assert list_attempts(account) == before
    assert len(before) == 1


@pytest.mark.parametrize("path", ["/conversions/", "/pb/con/c/"])
def test_records_a_failed_conversion_with_a_key(account, idempotent_client, conversion, path):
    failed = idempotent_client.post(path, conversion | {"coupon": "unknown"})
    retried = idempotent_client.post(path, conversion | {"coupon": "unknown"})

    assert failed.json() == build_error_body("Unknown coupon code")
    assert retried.json() == build_error_body(TOO_MANY_ATTEMPTS)
    assert [row["reason"] for row in list_attempts(account)] == ["unknown_coupon"]
    assert account.idempotency_keys.count() == 0


# Secrets.

PERSON = {"firstname": "Odette", "lastname": "Varga"}


@pytest.mark.parametrize(
    ("sent", "length"),
    [({}, 16), ({"password": "correct horse"}, 0)],
    ids=["generated", "sent"],
)
def test_returns_a_password_once_and_stores_none(account, idempotent_client, sent, length):
    first = idempotent_client.post("/affiliates/", PERSON | sent)

    second = idempotent_client.post("/affiliates/", PERSON | sent)

    password = get_json(first)["password"]
    assert len(password or "") == length
    assert get_json(second) == get_json(first) | {"password": None}
    assert list(get_json(second)) == list(get_json(first))
    stored = account.idempotency_keys.get()
    assert bytes(stored.body) == second.content
    assert account.affiliates.filter(firstname="Odette").count() == 1
    secrets = [secret for secret in (password, sent.get("password")) if secret]
    assert not any(secret in str(snapshot_account_data(account)) for secret in secrets)


def test_hashes_a_password_outside_the_transaction_and_not_for_a_replay(
    idempotent_client, monkeypatch
):
    depths = []

    def hash_password(password):
        depths.append(len(connection.atomic_blocks))
        return "!"

    monkeypatch.setattr(affiliates, "make_password", hash_password)
    outside = len(connection.atomic_blocks)

    responses = [idempotent_client.post("/affiliates/", PERSON) for _ in range(2)]

    assert is_replay(responses[1])
    assert depths == [outside]


# Other methods.


@pytest.mark.parametrize("key", ["pay-march", "é"], ids=["used", "invalid"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", "/payments/", None, id="GET"),
        pytest.param("HEAD", "/payments/", None, id="HEAD"),
        pytest.param("PATCH", "/affiliates/minakessler/", {"lastname": "K"}, id="PATCH"),
        pytest.param("PUT", "/affiliates/minakessler/meta-data/", {"a": "b"}, id="PUT"),
        pytest.param("DELETE", "/affiliates/minakessler/group/", None, id="DELETE"),
        pytest.param("GET", "/pb/cus/u/?customer_id=c-1", None, id="GET-postback"),
    ],
)
def test_ignores_the_key_of_other_methods(
    account, scenario, idempotent_client, method, path, body, key
):
    scenario.create_customer("c-1")
    idempotent_client.post("/payments/", PAYMENT)

    response = idempotent_client.request(method, path, body, **{"Idempotency-Key": key})

    assert is_processed(response), response.content
    assert account.idempotency_keys.count() == 1


def test_ignores_the_key_of_a_postback_by_get(account, scenario, idempotent_client):
    scenario.create_customer("c-1")

    paths = [f"/pb/con/c/?external_id=order-{n}&customer_id=c-1" for n in (1, 2, 1)]
    responses = [idempotent_client.get(path) for path in paths]

    assert [is_processed(response) for response in responses] == [True, True, False]
    assert responses[2].json() == build_error_body(DUPLICATE)
    assert account.idempotency_keys.count() == 0


# While the first request is still running.


def lock_key_elsewhere(account, key):
    """Claim the key on another connection, then roll back."""
    return lock_elsewhere(
        "INSERT INTO accounts_idempotencykey"
        " (account_id, key, fingerprint, created_at) VALUES (%s, %s, %s, %s)",
        [account.pk, key, "a" * 64, timezone.now()],
    )


@pytest.mark.parametrize("path", ["/clicks/", "/conversions/", "/pb/con/c/"])
def test_returns_in_progress_if_the_first_request_takes_too_long(committed_db, path):
    account = AccountFactory(slug=f"race-{uuid4().hex[:12]}", plan__name="enterprise")
    shop = ProgramScenario(account)
    _, key = create_api_key(account, name="race", role=Role.OWNER, at=CONVERSION_CREATED_AT)
    client = IdempotentClient(key)
    client.get("/programs/")  # records the last use of the key now
    body = {"referral_code": shop.mina.code, "external_id": "order-1"}

    with lock_key_elsewhere(account, "pay-march"), set_lock_timeout(milliseconds=50):
        timed_out = client.post(path, body)
        stored_attempts = list_attempts(account)
    first, second = client.post(path, body), client.post(path, body)

    assert timed_out.status_code == 409
    assert timed_out.json() == IN_PROGRESS
    assert stored_attempts == []
    assert is_processed(first), first.content
    assert is_replay(second)
    assert second.content == first.content
    assert_ledger_consistent(account)


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time")
def test_a_click_that_is_removed_before_the_commit_delays_no_retry(committed_db, monkeypatch):
    account = AccountFactory(slug=f"race-{uuid4().hex[:12]}", plan__name="enterprise")
    shop = ProgramScenario(account)
    _, key = create_api_key(account, name="race", role=Role.OWNER, at=CONVERSION_CREATED_AT)
    client = IdempotentClient(key, Client(raise_request_exception=False))
    click = shop.create_click(at=timezone.now())
    body = {"click_id": str(click.public_id), "external_id": "order-1"}

    def remove_click_before(row, **values):
        other = connection.copy()
        other.cursor().execute("DELETE FROM tracking_click WHERE id = %s", [click.pk])
        other.close()
        store_response(row, **values)

    with monkeypatch.context() as patched:
        patched.setattr(idempotency, "store_response", remove_click_before)
        response = client.post("/conversions/", body)

    assert response.status_code == 503
    assert list_attempts(account) == []
    again = client.post("/conversions/", body | {"referral_code": shop.mina.code})
    assert is_processed(again), again.content
