"""Contract 1.9: a POST with an Idempotency-Key happens once; then it is told again."""

import json
import re
from contextlib import contextmanager
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone

from accounts.models.keys import Role
from accounts.services.keys import issue
from accounts.services.usage import Rate
from affiliate_site.api.resources.payments import PaymentViewSet
from tests.architecture.appendix_a import OPERATIONS
from tests.architecture.test_urls import LINES
from tests.conftest import Api
from tests.factories.accounts import AccountFactory
from tests.proof import books_agree, everything, failing_at
from tests.shop import SOLD, Shop
from tests.world import World
from tracking.services import affiliates
from tracking.services.programs import archive

KEY = {"Idempotency-Key": "pay-march"}
REPLAYED = "Idempotent-Replayed"
ORDER = {"affiliate_id": "minakessler", "amount": 5, "currency": "EUR"}
REUSED = {
    "errors": [
        {
            "message": "This Idempotency-Key was used for another request.",
            "code": "idempotency_key_reused",
        }
    ]
}
IN_PROGRESS = {
    "errors": [
        {
            "message": "A request with this Idempotency-Key is still in progress.",
            "code": "idempotency_in_progress",
        }
    ]
}
ODD_KEY = {
    "errors": [
        {
            "message": "Idempotency-Key must be 1 to 255 printable ASCII characters",
            "message_raw": "Idempotency-Key must be 1 to 255 printable ASCII"
            " characters",
            "property_path": "Idempotency-Key",
        }
    ]
}
NO_JSON = {"errors": [{"message": "Request body was not valid JSON"}]}


@pytest.fixture
def shop(account):
    shop = Shop(account)
    yield shop
    books_agree(account)


class Keyed(Api):
    """Sends one Idempotency-Key with everything."""

    def ask(self, method, path, body=None, **headers):
        return super().ask(method, path, body, **KEY | headers)


@pytest.fixture
def keyed(api, shop):
    return Keyed(api.key)


def stored(account):
    """All that is stored, but when an API key was used last."""
    return {
        name: rows for name, rows in everything(account).items() if name != "ApiKey"
    }


def said(response):
    assert response.status_code == 200, response.content
    return response.json()


def is_replay(response):
    return response.status_code == 200 and response.headers.get(REPLAYED) == "true"


def happened(response):
    return response.status_code == 200 and REPLAYED not in response.headers


def lock(account):
    account.locked_at = timezone.now()
    account.save()


# Every POST there is.

POSTS = [line for line in LINES if line.method == "POST"]
OF_EACH_ANSWER = {"X-Trace-Id", "X-RateLimit-Remaining", "Content-Length", REPLAYED}


def test_walks_every_post_of_the_contract():
    assert {line.operation for line in POSTS} == {
        operation for operation in OPERATIONS if operation[0] == "POST"
    }


@pytest.mark.parametrize("line", POSTS, ids=str)
def test_tells_the_answer_again_and_does_nothing(account, api, line):
    world = World(api, account.slug, "harbor")
    ids = {name: getattr(world, name) for name in (*line.needs, *line.places)}
    first = line.ask(Keyed(api.key), ids)
    before = stored(account)

    second = line.ask(Keyed(api.key), ids)

    assert happened(first), first.content
    assert is_replay(second)
    secret = rb'"password":"[^"]*"'
    assert second.content == re.sub(secret, b'"password":null', first.content)
    same_headers = [
        {name: it[name] for name in it.headers if name not in OF_EACH_ANSWER}
        for it in (first, second)
    ]
    assert same_headers[0] == same_headers[1]
    assert stored(account) == before
    books_agree(account)


# Paying.


@pytest.mark.parametrize("body", [ORDER, [ORDER, ORDER]], ids=["one", "array"])
def test_pays_once(account, keyed, body):
    first, second, third = (keyed.post("/payments/", body) for _ in range(3))

    paid = said(first)
    assert paid[0] == {
        "id": paid[0]["id"],
        "created_at": paid[0]["created_at"],
        "affiliate": {"id": "minakessler", "firstname": "Mina", "lastname": "Kessler"},
        "amount": 5,
        "currency": "EUR",
    }
    assert first.content == second.content == third.content
    assert [happened(first), is_replay(second), is_replay(third)] == [True] * 3
    orders = len(body) if isinstance(body, list) else 1
    assert account.payments.count() == account.transfers.count() == orders


def test_pays_twice_without_a_key(account, api, shop):
    answers = [api.post("/payments/", ORDER) for _ in range(2)]

    assert all(happened(it) for it in answers)
    assert account.payments.count() == 2
    assert account.idempotency_keys.count() == 0


def test_pays_for_each_key(account, api, shop):
    keys = ["pay-march", "PAY-MARCH", "~", "k" * 255, '"{}" /?=;,', "pay march"]

    answers = [api.post("/payments/", ORDER, **{"Idempotency-Key": it}) for it in keys]

    assert all(happened(it) for it in answers)
    assert account.payments.count() == len(keys)


def test_counts_a_replay_in_the_rate_and_says_so(keyed):
    first, second = (keyed.post("/payments/", ORDER) for _ in range(2))

    assert is_replay(second)
    assert [it["X-RateLimit-Remaining"] for it in (first, second)] == ["299", "298"]
    assert second["X-RateLimit-Limit"] == "300"
    assert second["X-RateLimit-Reset"] == first["X-RateLimit-Reset"]


# The key, and the request it names.


@pytest.mark.parametrize(
    "key",
    ["", "k" * 256, "é", "a\tb", "a\x7f", "a\x00", "a\nb", "a\n"],
    ids=["empty", "long", "not-ascii", "tab", "DEL", "NUL", "line", "line-end"],
)
def test_refuses_an_odd_key(account, api, shop, key):
    before = stored(account)

    response = api.post("/payments/", ORDER, **{"Idempotency-Key": key})

    assert response.status_code == 400
    assert response.json() == ODD_KEY
    assert stored(account) == before


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
        pytest.param("/payments/", json.dumps(ORDER), id="another-resource"),
        pytest.param("/pb/cus/c/", '{"note": "Hello"}', id="postback"),
    ],
)
def test_refuses_the_key_of_another_request(account, shop, keyed, path, body):
    shop.join("Odette", "Varga")
    first = keyed.post(NOTES, '{"note": "Hello"}')
    before = stored(account)

    response = keyed.post(path, body)

    assert happened(first)
    assert response.status_code == 409
    assert response.json() == REUSED
    assert stored(account) == before


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        pytest.param("/payments/?a=1&b=2", {}, id="query-in-another-order"),
        pytest.param("/payments?b=2&a=1", {}, id="no-slash"),
        pytest.param("/payments/?b=2&a=1", {"content_type": ""}, id="no-type"),
        pytest.param("/payments/?b=2&a=1", {"Accept": "text/html"}, id="accept"),
    ],
)
def test_takes_it_for_the_same_request(account, keyed, path, headers):
    first = keyed.post("/payments/?b=2&a=1", ORDER)

    second = keyed.post(path, ORDER, **headers)

    assert is_replay(second)
    assert second.content == first.content
    assert account.payments.count() == 1


def test_shares_a_key_among_the_api_keys_of_an_account(account, keyed, key_for):
    first = keyed.post("/payments/", ORDER)

    second = Keyed(key_for(account)).post("/payments/", ORDER)

    assert is_replay(second)
    assert second.content == first.content


def test_knows_nothing_of_another_accounts_keys(keyed, other_account, other_api):
    Shop(other_account, mark="zz-marker-")
    theirs = {"affiliate_id": "zzmarkerminakessler", "amount": 7, "currency": "EUR"}
    theirs_paid = Keyed(other_api.key).post("/payments/", theirs)

    ours_paid = keyed.post("/payments/", ORDER)

    assert happened(theirs_paid), theirs_paid.content
    assert happened(ours_paid)
    assert is_replay(Keyed(other_api.key).post("/payments/", theirs))
    books_agree(other_account)


# What is kept, and how long.


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        pytest.param("/payments/", ORDER | {"amount": 0}, 400, id="field"),
        pytest.param("/payments/", ORDER | {"affiliate_id": "x"}, 400, id="reference"),
        pytest.param("/payments/", [ORDER, {}], 400, id="second-of-an-array"),
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
def test_keeps_no_error(account, keyed, path, body, status):
    closed = Shop(account, "closed", email="other@notes.example.org")
    archive(account, slug=closed.program.slug, at=SOLD)
    before = stored(account)

    refused, again = keyed.post(path, body), keyed.post(path, body)
    left = stored(account)
    other = keyed.post("/payments/", ORDER | {"amount": 1})

    assert refused.status_code == again.status_code == status
    assert refused.json() == again.json()
    assert REPLAYED not in again.headers
    assert left == before
    assert happened(other)


@pytest.mark.parametrize(
    ("age", "free"),
    [
        pytest.param(timedelta(hours=23, minutes=59), False, id="a-minute-before"),
        pytest.param(timedelta(hours=24), True, id="24-hours"),
    ],
)
def test_keeps_an_answer_for_24_hours(account, keyed, age, free):
    first = keyed.post("/payments/", ORDER)
    account.idempotency_keys.update(created_at=F("created_at") - age)

    second, third = (keyed.post("/payments/", ORDER) for _ in range(2))

    assert happened(second) is free
    assert is_replay(third)
    assert third.content == second.content
    assert (second.content != first.content) is free
    assert account.payments.count() == (2 if free else 1)
    assert account.idempotency_keys.count() == 1


def test_takes_another_request_under_a_key_that_is_free_again(account, keyed):
    keyed.post("/payments/", ORDER)
    account.idempotency_keys.update(created_at=F("created_at") - timedelta(days=1))

    response = keyed.post(NOTES, {"note": "Hello"})

    assert happened(response)
    assert keyed.post("/payments/", ORDER).json() == REUSED


def test_stores_nothing_whichever_statement_fails(account, api, keyed):
    calm = Keyed(api.key, Client(raise_request_exception=False))
    calm.get("/programs/")  # the key's last use is noted now, not later
    before = stored(account)
    number, statuses = 0, []

    while not statuses or statuses[-1] != 200:
        assert stored(account) == before, f"after statement {number}"
        with failing_at(number):
            statuses.append(calm.post("/payments/", ORDER).status_code)
        number += 1

    assert number > 10
    assert set(statuses[:-1]) == {503}
    assert account.payments.count() == account.idempotency_keys.count() == 1


# The order of the checks.

LONG = b" " * 1_048_576 + b"{}"
TURNED_AWAY = {
    "no-key": ("POST", "/payments/", ORDER, {"X-Api-Key": ""}, 401),
    "wrong-key": ("POST", "/payments/", ORDER, {"X-Api-Key": "wrong"}, 401),
    "no-path": ("POST", "/pavements/", ORDER, {}, 404),
    "no-method": ("POST", "/balances/", ORDER, {}, 405),
    "too-large": ("POST", "/payments/", LONG, {}, 413),
}


@pytest.mark.parametrize("key", ["pay-march", "é"], ids=["used", "odd"])
@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    TURNED_AWAY.values(),
    ids=list(TURNED_AWAY),
)
def test_asks_for_the_key_after_the_door(
    account, keyed, key, method, path, body, headers, status
):
    keyed.post("/payments/", ORDER)

    response = keyed.ask(
        method, path, body, **headers, Accept="application/json", **{
            "Idempotency-Key": key
        }
    )  # fmt: skip

    assert response.status_code == status
    assert REPLAYED not in response.headers
    assert response.json()["code"] == status


@pytest.mark.parametrize("key", ["pay-march", "é"], ids=["used", "odd"])
def test_asks_for_the_key_after_the_rate(keyed, monkeypatch, key):
    monkeypatch.setitem(PaymentViewSet.rates, "create", Rate(1, minutes=15))
    first = keyed.post("/payments/", ORDER)

    second = keyed.post("/payments/", ORDER, **{"Idempotency-Key": key})

    assert happened(first)
    assert (second.status_code, second.content) == (429, b"Too many requests")
    assert REPLAYED not in second.headers


@pytest.mark.parametrize("key", ["pay-march", "é"], ids=["used", "odd"])
@pytest.mark.parametrize("role", [Role.VIEWER, Role.MANAGER])
def test_asks_for_the_key_after_the_role(account, keyed, key_for, role, key):
    keyed.post("/payments/", ORDER)

    lesser = Keyed(key_for(account, role=role))
    response = lesser.post("/payments/", ORDER, **{"Idempotency-Key": key})

    assert response.status_code == 403
    assert response.json()["message"] == "Forbidden"


def test_asks_for_the_key_after_the_plan(account, keyed):
    first = keyed.post("/affiliates/minakessler/parent/", {"via": "minakessler"})
    account.plan = AccountFactory(plan__name="pro").plan
    account.save()

    response = keyed.post("/affiliates/minakessler/parent/", {"via": "minakessler"})

    assert first.status_code == 400
    assert response.status_code == 403


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
    ("key", "status", "answer"),
    [("pay-march", 409, REUSED), ("é", 400, ODD_KEY)],
    ids=["used", "odd"],
)
def test_asks_for_the_key_before_everything_else(
    account, keyed, path, body, key, status, answer
):
    keyed.post("/payments/", ORDER)
    lock(account)

    response = keyed.post(path, body, **{"Idempotency-Key": key})

    assert response.status_code == status
    assert response.json() == answer
    assert account.conversion_attempts.count() == 0


def test_tells_the_answer_again_whatever_became_of_the_account(account, shop, keyed):
    click = {"referral_code": shop.mina.code}
    first = keyed.post("/clicks/", click)
    lock(account)
    archive(account, slug=shop.program.slug, at=SOLD)
    Api(keyed.key).delete("/affiliates/minakessler/")

    second = keyed.post("/clicks/", click)

    assert happened(first)
    assert is_replay(second)
    assert second.content == first.content
    assert account.clicks.count() == 1


# Sales: what stands beside the key.

DUPLICATE = "Duplicate conversion. There is already a conversion for External id '{}'"
HASTY = "To many concurrent attempts to create conversion with id '{}'"


def refusal(text, external_id="order-1"):
    return {"errors": [{"message": text.format(external_id)}]}


def attempts(account):
    return list(account.conversion_attempts.values())


@pytest.fixture
def sale(shop):
    return {"external_id": "order-1", "coupon": shop.mina.coupon, "amount": 200}


@pytest.mark.parametrize("path", ["/conversions/", "/pb/con/c/"])
def test_never_calls_a_replay_a_duplicate(account, api, keyed, sale, path):
    first = keyed.post(path, sale)

    second, without = keyed.post(path, sale), api.post(path, sale)

    assert is_replay(second)
    assert second.content == first.content
    assert without.status_code == 400
    assert without.json() == refusal(DUPLICATE)
    assert attempts(account) == []


@pytest.mark.parametrize("path", ["/conversions/", "/pb/con/c/"])
def test_never_makes_a_replay_wait_nor_a_retry_wait_longer(
    account, api, keyed, sale, path
):
    first = keyed.post(path, sale)
    api.delete(f"/conversions/{said(first)['id']}/")
    failed = api.post(path, sale | {"coupon": "unknown"})
    before = attempts(account)

    second, reused = keyed.post(path, sale), keyed.post(path, sale | {"amount": 1})

    assert failed.json() == refusal("Unknown coupon code")
    assert is_replay(second)
    assert second.content == first.content
    assert reused.json() == REUSED
    assert attempts(account) == before
    assert len(before) == 1


@pytest.mark.parametrize("path", ["/conversions/", "/pb/con/c/"])
def test_remembers_a_sale_that_failed_under_a_key(account, keyed, sale, path):
    failed = keyed.post(path, sale | {"coupon": "unknown"})
    retried = keyed.post(path, sale | {"coupon": "unknown"})

    assert failed.json() == refusal("Unknown coupon code")
    assert retried.json() == refusal(HASTY)
    assert [row["message"] for row in attempts(account)] == ["Unknown coupon code"]
    assert account.idempotency_keys.count() == 0


# Secrets.

PERSON = {"firstname": "Odette", "lastname": "Varga"}


@pytest.mark.parametrize(
    ("sent", "length"),
    [({}, 16), ({"password": "correct horse"}, 0)],
    ids=["made", "sent"],
)
def test_shows_a_password_once_and_stores_none(account, keyed, sent, length):
    first = keyed.post("/affiliates/", PERSON | sent)

    second = keyed.post("/affiliates/", PERSON | sent)

    password = said(first)["password"]
    assert len(password or "") == length
    assert said(second) == said(first) | {"password": None}
    assert list(said(second)) == list(said(first))
    kept = account.idempotency_keys.get()
    assert bytes(kept.body) == second.content
    assert account.affiliates.filter(firstname="Odette").count() == 1
    secrets = [word for word in (password, sent.get("password")) if word]
    assert not any(word in str(stored(account)) for word in secrets)


def test_hashes_a_password_before_its_transaction_and_for_no_replay(keyed, monkeypatch):
    depths = []

    def hashed(password):
        depths.append(len(connection.atomic_blocks))
        return "!"

    monkeypatch.setattr(affiliates, "make_password", hashed)
    outside = len(connection.atomic_blocks)

    answers = [keyed.post("/affiliates/", PERSON) for _ in range(2)]

    assert is_replay(answers[1])
    assert depths == [outside]


# Every other method.


@pytest.mark.parametrize("key", ["pay-march", "é"], ids=["used", "odd"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", "/payments/", None, id="GET"),
        pytest.param("HEAD", "/payments/", None, id="HEAD"),
        pytest.param(
            "PATCH", "/affiliates/minakessler/", {"lastname": "K"}, id="PATCH"
        ),
        pytest.param("PUT", "/affiliates/minakessler/meta-data/", {"a": "b"}, id="PUT"),
        pytest.param("DELETE", "/affiliates/minakessler/group/", None, id="DELETE"),
        pytest.param("GET", "/pb/cus/u/?customer_id=c-1", None, id="GET-postback"),
    ],
)
def test_ignores_the_key_of_every_other_method(
    account, shop, keyed, method, path, body, key
):
    shop.customer("c-1")
    keyed.post("/payments/", ORDER)

    response = keyed.ask(method, path, body, **{"Idempotency-Key": key})

    assert happened(response), response.content
    assert account.idempotency_keys.count() == 1


def test_makes_a_sale_by_each_get_of_a_postback(account, shop, keyed):
    shop.customer("c-1")

    paths = [f"/pb/con/c/?external_id=order-{n}&customer_id=c-1" for n in (1, 2, 1)]
    answers = [keyed.get(path) for path in paths]

    assert [happened(it) for it in answers] == [True, True, False]
    assert answers[2].json() == refusal(DUPLICATE)
    assert account.idempotency_keys.count() == 0


# While the first request is still running.


@contextmanager
def patience(*, milliseconds):
    """How long this connection waits for a lock."""
    sentences = {
        "sqlite": ("PRAGMA busy_timeout={}", 20_000),
        "postgresql": ("SET lock_timeout={}", 3_000),
    }
    sentence, usual = sentences[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(sentence.format(milliseconds))
        try:
            yield
        finally:
            cursor.execute(sentence.format(usual))


@contextmanager
def held_elsewhere(account, key):
    """Another connection holds the key, then rolls back."""
    holder = connection.copy()
    with holder.cursor() as cursor:
        cursor.execute("BEGIN IMMEDIATE" if holder.vendor == "sqlite" else "BEGIN")
        cursor.execute(
            "INSERT INTO accounts_idempotencykey"
            " (account_id, key, fingerprint, created_at) VALUES (%s, %s, %s, %s)",
            [account.pk, key, "a" * 64, timezone.now()],
        )
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")
    holder.close()


@pytest.mark.parametrize("path", ["/clicks/", "/conversions/", "/pb/con/c/"])
def test_says_in_progress_when_the_first_does_not_end_in_time(committed, path):
    account = AccountFactory(slug=f"race-{uuid4().hex[:12]}", plan__name="enterprise")
    shop = Shop(account)
    keyed = Keyed(issue(account, name="race", role=Role.OWNER, at=SOLD)[1])
    keyed.get("/programs/")  # the key's last use is noted now, not later
    body = {"referral_code": shop.mina.code, "external_id": "order-1"}

    with held_elsewhere(account, "pay-march"), patience(milliseconds=50):
        waited = keyed.post(path, body)
        without_attempt = attempts(account)
    first, second = keyed.post(path, body), keyed.post(path, body)

    assert waited.status_code == 409
    assert waited.json() == IN_PROGRESS
    assert without_attempt == []
    assert happened(first), first.content
    assert is_replay(second)
    assert second.content == first.content
    books_agree(account)
