"""Requests that track, as existing clients of the public 1.6 API send them."""

import json

import pytest

from tests.conftest import NOW
from tests.factories.tracking import (
    AffiliateFactory,
    CouponFactory,
    CustomerFactory,
    EnrollmentFactory,
)


@pytest.fixture
def odette(account, program):
    affiliate = AffiliateFactory(
        account=account, slug="odettevarga", firstname="Odette", lastname="Varga"
    )
    enrollment = EnrollmentFactory(
        account=account,
        program=program,
        affiliate=affiliate,
        code="qv7kd2p",
        approved=None,
    )
    CouponFactory(account=account, enrollment=enrollment, code="ODETTE10")
    enrollment.update_row(approved=True)
    return enrollment


@pytest.fixture
def call(client, api):
    """Send requests as most clients do: `Api-Key`, JSON as a form, no final slash."""

    def send(method, path, body="", **headers):
        return client.generic(
            method,
            f"/1.6/{path}",
            body if isinstance(body, str) else json.dumps(body),
            content_type=headers.pop(
                "content_type", "application/x-www-form-urlencoded"
            ),
            headers={"Api-Key": api.key, "User-Agent": "library/3.1"} | headers,
        )

    return send


def get_json(response):
    assert response.status_code == 200, response.content
    return response.json()


NULLS = {
    "coupon": None,
    "click_id": None,
    "tracking_id": None,
    "asset_id": None,
    "source_id": None,
    "status": None,
    "meta_data": None,
    "user_agent": None,
    "ip": None,
}


def test_serves_a_client_that_creates_an_affiliate_and_parses_the_link(call, odette):
    person = {"firstname": "Mina", "lastname": "Kessler", "email": None}
    affiliate = get_json(call("POST", "affiliates", person))

    enrollment = get_json(
        call(
            "POST",
            "programs/harbor-lamp-partners/affiliates",
            {"affiliate": {"id": affiliate["id"]}, "approved": True},
        )
    )
    code = enrollment["referral_link"]["link"].split("ref=")[1]
    click = get_json(call("POST", "clicks", {"referral_code": code}))
    customer = get_json(
        call("POST", "customers", {"customer_id": 55120, "click_id": click["id"]})
    )

    assert customer["customer_id"] == "55120"
    assert customer["affiliate"] == {
        "id": "minakessler",
        "firstname": "Mina",
        "lastname": "Kessler",
    }


def test_serves_a_client_that_posts_null_for_missing_parameters(call, odette):
    body = NULLS | {"customer_id": "acct-55120", "referral_code": "qv7kd2p"}

    customer = get_json(call("POST", "customers", body))

    assert customer["status"] == "new"
    assert customer["click"] is None
    assert customer["meta_data"] == {}


def test_rejects_a_client_that_posts_only_nulls(call, odette):
    body = NULLS | {"customer_id": "acct-55120", "referral_code": None}

    response = call("POST", "customers", body)

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": "Missing mandatory parameter(s)"}]
    }


@pytest.mark.parametrize(
    "content_type",
    ["application/x-www-form-urlencoded", "text/plain;charset=UTF-8", "", "text/html"],
)
def test_serves_a_client_that_posts_json_under_another_type(call, odette, content_type):
    body = '{"customer_id": "acct-55120", "coupon": "ODETTE10"}'

    response = call("POST", "customers", body, content_type=content_type)

    assert get_json(response)["customer_id"] == "acct-55120"


def test_serves_a_client_that_finds_a_customer_by_its_own_id(call, account, odette):
    get_json(call("POST", "customers", {"customer_id": "a b", "coupon": "ODETTE10"}))

    found = get_json(call("GET", "customers?customer_id=a%20b"))

    assert len(found) == 1
    assert get_json(call("GET", f"customers/{found[0]['id']}")) == found[0]


@pytest.mark.parametrize("body", ["", "[]", "{}", "null"])
def test_serves_a_client_that_cancels_and_restores_with_any_body(
    call, account, odette, body
):
    customer = CustomerFactory(account=account, enrollment=odette, status="lead")
    one = f"customers/{customer.public_id}"

    canceled = get_json(call("DELETE", f"{one}/status", body))
    restored = get_json(call("PUT", f"{one}/status", body))

    assert (canceled["status"], restored["status"]) == ("canceled", "lead")
    assert call("DELETE", one, body).status_code == 204


def test_serves_a_client_that_writes_meta_data_by_post(call, account, odette):
    customer = CustomerFactory(account=account, enrollment=odette)
    path = f"customers/{customer.public_id}/meta-data"

    assert get_json(call("POST", path, {"plan": "basic", "seats": 5})) == {
        "plan": "basic",
        "seats": "5",
    }
    assert get_json(call("PUT", f"{path}/plan", {"value": ""})) == {"value": ""}
    assert get_json(call("GET", path)) == {"plan": "", "seats": "5"}
    assert call("DELETE", f"{path}/plan", "[]").status_code == 204
    assert get_json(call("GET", f"{path}/seats")) == {"value": "5"}


def test_serves_a_client_that_approves_by_the_alias(call, odette):
    path = "programs/harbor-lamp-partners/affiliates/odettevarga/approval"

    assert get_json(call("DELETE", path))["approved"] is False
    assert get_json(call("PUT", path, "{}"))["approved"] is True


def test_serves_a_client_that_sends_visitor_id(call, odette):
    click = get_json(call("POST", "clicks", {"referral_code": "qv7kd2p"}))
    body = {"customer_id": "acct-1", "click": {"id": click["id"]}, "visitor_id": None}

    assert get_json(call("POST", "customers", body))["click"] is not None


def test_serves_a_client_that_sends_a_country_as_text(call, account):
    address = {
        "address": "Pristaniška 4",
        "postal_code": "6000",
        "city": "Koper",
        "country": "SI",
    }
    body = {"firstname": "Mina", "lastname": "Kessler", "address": address}

    shown = get_json(call("POST", "affiliates", body | {"company": {}}))

    assert shown["address"]["country"] == {"code": "SI", "name": "Slovenia"}
    assert shown["company"] is None


def test_serves_a_client_that_requests_the_parent_in_camel_case(call, odette):
    assert get_json(call("GET", "affiliates?parentId=odettevarga")) == []
    assert len(get_json(call("GET", "affiliates?parentId="))) == 1


@pytest.mark.parametrize("value", ["1", "true", "TRUE"])
def test_serves_a_client_with_other_spellings_of_booleans(call, account, odette, value):
    click = account.clicks.create(
        enrollment=odette,
        program=odette.program,
        affiliate=odette.affiliate,
        created_at=NOW.replace(year=2020),
    )
    body = {"customer_id": "acct-1", "click_id": str(click)}

    rejected = call("POST", "customers", body)
    taken = call("POST", f"customers?override_max_cookie_time={value}", body)

    assert "Cookie expired" in rejected.text
    assert taken.status_code == 200
