"""Contract 4 and 1: the door of the postbacks."""

from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts.services.accounts import lock
from accounts.services.keys import revoke
from tests.conftest import Api
from tests.shop import SOLD, Shop

PATHS = ["con/c/", "con/u/", "cus/c/", "cus/u/"]
JSON = {"Accept": "application/json"}
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Cache-Control": "no-store",
}

every_path = pytest.mark.parametrize("path", PATHS)


def refused(response, status, message):
    """Shape 2, with what stands on every answer."""
    assert response.status_code == status
    assert response["Content-Type"] == "application/json"
    traced = {} if status == 401 else {"traceId": response["X-Trace-Id"]}
    assert response.json() == {"message": message, "code": status} | traced
    assert {name: response.headers.get(name) for name in CORS} == CORS
    assert not [name for name in response.headers if "RateLimit" in name]
    return True


@pytest.fixture
def shop(account):
    """A sale and a customer to follow up."""
    shop = Shop(account)
    shop.sell("200", external_id="order-1", customer_id="acct-1")
    return shop


@pytest.fixture
def told(shop):
    """What each path takes."""
    clue = {"coupon": shop.mina.coupon}
    return {
        "con/c/": {"external_id": "order-2", "amount": 10} | clue,
        "con/u/": {"external_id": "order-1", "amount": 10},
        "cus/c/": {"customer_id": "acct-2"} | clue,
        "cus/u/": {"customer_id": "acct-1", "status": "canceled"},
    }


def untouched(account):
    """Nothing was done."""
    return (
        account.conversions.get().amount == 200
        and account.customers.get().status == "paying"
        and not account.conversion_attempts.exists()
    )


@every_path
def test_answers_with_the_headers_of_the_api(tell, told, path):
    response = tell(path, told[path])

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert {name: response.headers.get(name) for name in CORS} == CORS
    assert len(response["X-Trace-Id"]) == 32
    assert not [name for name in response.headers if "RateLimit" in name]
    assert "Access-Control-Allow-Credentials" not in response


@every_path
def test_takes_a_path_without_its_slash(api, told, path):
    by_get = api.get(f"/pb/{path[:-1]}?{urlencode(told[path])}")

    assert by_get.status_code == 200


@pytest.mark.parametrize("method", ["HEAD", "PUT", "PATCH", "DELETE", "TRACE"])
@every_path
def test_has_no_other_method_and_says_so_before_the_key(db, path, method):
    asked = Client().generic(
        method, f"/1.7/pb/{path}", headers=JSON | {"Purpose": "prefetch"}
    )

    assert asked.status_code == 405
    assert asked["Allow"] == "GET, POST, OPTIONS"
    assert method == "HEAD" or refused(asked, 405, "Method Not Allowed")


@every_path
def test_answers_options_without_a_key(db, path):
    asked = Client().options(f"/1.7/pb/{path}", headers={"Sec-Purpose": "prefetch"})

    assert (asked.status_code, asked.content) == (204, b"")
    assert asked["Allow"] == "GET, POST, OPTIONS"
    assert asked["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize(
    "path", ["/1.7/pb/", "/1.7/pb/cli/c/", "/1.7/con/c/", "/1.6/pb/con/c/", "/1.7/"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
def test_serves_no_other_path(db, method, path):
    asked = Client().generic(method, path, headers=JSON | {"Purpose": "prefetch"})

    assert asked.status_code == 404


@pytest.mark.parametrize("header", ["Sec-Purpose", "Purpose", "X-Moz"])
@every_path
def test_does_nothing_for_who_only_looks_ahead(account, told, path, header):
    address = f"/1.7/pb/{path}?{urlencode(told[path])}"

    for key in ({}, {"X-Api-Key": "aff_live_wrong"}):
        response = Client().get(address, headers={header: "Prefetch"} | key)

        assert refused(response, 400, "Bad Request")
    assert untouched(account)


@every_path
def test_refuses_a_prefetch_with_a_key_too(api, account, told, path):
    response = api.get(
        f"/pb/{path}?{urlencode(told[path])}", Purpose="prefetch", Accept="text/html"
    )

    assert refused(response, 400, "Bad Request")
    assert untouched(account)


def test_takes_a_post_that_says_prefetch(api, told):
    response = api.post("/pb/con/c/", told["con/c/"], Purpose="prefetch")

    assert response.status_code == 200


# The key.


@pytest.mark.parametrize("name", ["api_key", "X-Api-Key", "Api-Key", "key"])
@every_path
def test_takes_the_key_in_the_header_alone(api, account, told, path, name):
    query = urlencode(told[path] | {name: api.key})

    response = Client().get(f"/1.7/pb/{path}?{query}", headers=JSON)

    assert refused(response, 401, "Authentication Failed.")
    assert untouched(account)


def test_takes_the_other_spelling_of_the_header(api, told):
    query = urlencode(told["con/c/"])

    response = Client().get(f"/1.7/pb/con/c/?{query}", headers={"Api-Key": api.key})

    assert response.status_code == 200


def test_refuses_a_revoked_key(api, account, told, tell):
    revoke(account, prefix=account.api_keys.get().prefix, at=SOLD)

    assert refused(tell("con/c/", told["con/c/"]), 401, "Authentication Failed.")
    assert untouched(account)


# Role and plan.


@pytest.mark.parametrize(
    ("role", "plan", "status"),
    [
        ("viewer", "enterprise", 403),
        ("manager", "pro", 200),
        ("owner", "pro", 200),
        ("owner", "basic", 403),
    ],
)
@every_path
def test_asks_for_a_manager_and_a_plan_with_the_api(
    account, key_for, set_plan, told, tell, path, role, plan, status
):
    set_plan(account, plan)

    response = tell(path, told[path], by=Api(key_for(account, role)))

    assert response.status_code == status
    assert status == 200 or refused(response, 403, "Forbidden")
    assert status == 200 or untouched(account)


@every_path
def test_asks_for_rights_before_it_reads(account, key_for, told, path):
    lock(account, at=SOLD)
    viewer = Api(key_for(account, "viewer"))

    assert viewer.post(f"/pb/{path}", "no JSON").status_code == 403
    assert viewer.get(f"/pb/{path}?external_id=%00").status_code == 403


@every_path
def test_refuses_a_large_body(api, shop, path):
    response = api.post(f"/pb/{path}", " " * (1024 * 1024 + 1))

    assert refused(response, 413, "Request Entity Too Large")


@every_path
def test_knows_no_limit(api, told, path, monkeypatch):
    answers = [api.get(f"/pb/{path}") for _ in range(20)]

    assert {it.status_code for it in answers} == {400}
    assert not [it for it in answers if "X-RateLimit-Limit" in it]


# Idempotency-Key.


def test_answers_a_repeated_post_again(api, account, told):
    first, again = [
        api.post("/pb/con/c/", told["con/c/"], **{"Idempotency-Key": "k-1"})
        for _ in range(2)
    ]

    assert again.content == first.content
    assert again["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    assert account.conversions.count() == 2


def test_refuses_another_body_under_the_same_key(api, told):
    for path in ("con/c/", "cus/c/"):
        response = api.post(f"/pb/{path}", told[path], **{"Idempotency-Key": "k-1"})

    assert response.status_code == 409
    assert response.json() == {
        "errors": [
            {
                "message": "This Idempotency-Key was used for another request.",
                "code": "idempotency_key_reused",
            }
        ]
    }


def test_keeps_no_answer_that_failed(api, account, told):
    wrong = told["con/c/"] | {"coupon": "NOBODY"}

    api.post("/pb/con/c/", wrong, **{"Idempotency-Key": "k-1"})

    assert not account.idempotency_keys.exists()
    assert account.conversion_attempts.get().source == "postback"


@pytest.mark.parametrize("key", ["k-1", "x" * 256, "ä"])
def test_does_not_read_the_key_of_a_get(api, account, told, key):
    address = f"/pb/con/c/?{urlencode(told['con/c/'])}"

    first = api.get(address, **{"Idempotency-Key": key})
    again = api.get(address, **{"Idempotency-Key": key})

    assert (first.status_code, again.status_code) == (200, 400)
    assert again.json()["errors"][0]["message"].startswith("Duplicate conversion.")
    assert not account.idempotency_keys.exists()
