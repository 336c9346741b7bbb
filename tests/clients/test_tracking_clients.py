"""Requests that track, as existing clients of the public 1.6 API send them."""

import json

import pytest

from tests.conftest import NOW
from tests.factories.tracking import (
    AffiliateFactory,
    CouponFactory,
    CustomerFactory,
    EnrolmentFactory,
)


@pytest.fixture
def odette(account, program):
    affiliate = AffiliateFactory(
        account=account, slug="odettevarga", firstname="Odette", lastname="Varga"
    )
    enrolment = EnrolmentFactory(
        account=account,
        program=program,
        affiliate=affiliate,
        code="qv7kd2p",
        approved=None,
    )
    CouponFactory(account=account, enrolment=enrolment, code="ODETTE10")
    enrolment.change(approved=True)
    return enrolment


@pytest.fixture
def call(client, api):
    """The habits of most: `Api-Key`, JSON as a form, no slash at the end."""

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


def said(response):
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


def test_serves_a_client_that_signs_up_and_splits_the_link(call, odette):
    person = {"firstname": "Mina", "lastname": "Kessler", "email": None}
    affiliate = said(call("POST", "affiliates", person))

    enrolment = said(
        call(
            "POST",
            "programs/harbor-lamp-partners/affiliates",
            {"affiliate": {"id": affiliate["id"]}, "approved": True},
        )
    )
    code = enrolment["referral_link"]["link"].split("ref=")[1]
    click = said(call("POST", "clicks", {"referral_code": code}))
    customer = said(
        call("POST", "customers", {"customer_id": 55120, "click_id": click["id"]})
    )

    assert customer["customer_id"] == "55120"
    assert customer["affiliate"] == {
        "id": "minakessler",
        "firstname": "Mina",
        "lastname": "Kessler",
    }


def test_serves_a_client_that_posts_null_for_every_clue_it_has_not(call, odette):
    body = NULLS | {"customer_id": "acct-55120", "referral_code": "qv7kd2p"}

    customer = said(call("POST", "customers", body))

    assert customer["status"] == "new"
    assert customer["click"] is None
    assert customer["meta_data"] == {}


def test_refuses_a_client_that_posts_nothing_but_nulls(call, odette):
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

    assert said(response)["customer_id"] == "acct-55120"


def test_serves_a_client_that_looks_a_customer_up_by_its_own_id(call, account, odette):
    said(call("POST", "customers", {"customer_id": "a b", "coupon": "ODETTE10"}))

    found = said(call("GET", "customers?customer_id=a%20b"))

    assert len(found) == 1
    assert said(call("GET", f"customers/{found[0]['id']}")) == found[0]


@pytest.mark.parametrize("body", ["", "[]", "{}", "null"])
def test_serves_a_client_that_cancels_and_restores_with_any_body(
    call, account, odette, body
):
    customer = CustomerFactory(account=account, enrolment=odette, status="lead")
    one = f"customers/{customer.public_id}"

    canceled = said(call("DELETE", f"{one}/status", body))
    restored = said(call("PUT", f"{one}/status", body))

    assert (canceled["status"], restored["status"]) == ("canceled", "lead")
    assert call("DELETE", one, body).status_code == 204


def test_serves_a_client_that_writes_meta_data_by_post(call, account, odette):
    customer = CustomerFactory(account=account, enrolment=odette)
    path = f"customers/{customer.public_id}/meta-data"

    assert said(call("POST", path, {"plan": "basic", "seats": 5})) == {
        "plan": "basic",
        "seats": "5",
    }
    assert said(call("PUT", f"{path}/plan", {"value": ""})) == {"value": ""}
    assert said(call("GET", path)) == {"plan": "", "seats": "5"}
    assert call("DELETE", f"{path}/plan", "[]").status_code == 204
    assert said(call("GET", f"{path}/seats")) == {"value": "5"}


def test_serves_a_client_that_approves_by_the_older_word(call, odette):
    path = "programs/harbor-lamp-partners/affiliates/odettevarga/approval"

    assert said(call("DELETE", path))["approved"] is False
    assert said(call("PUT", path, "{}"))["approved"] is True


def test_serves_a_client_that_sends_the_visitors_names(call, odette):
    click = said(call("POST", "clicks", {"referral_code": "qv7kd2p"}))
    body = {"customer_id": "acct-1", "click": {"id": click["id"]}, "visitor_id": None}

    assert said(call("POST", "customers", body))["click"] is not None


def test_serves_a_client_that_sends_a_country_as_a_word(call, account):
    address = {
        "address": "Pristaniška 4",
        "postal_code": "6000",
        "city": "Koper",
        "country": "SI",
    }
    body = {"firstname": "Mina", "lastname": "Kessler", "address": address}

    shown = said(call("POST", "affiliates", body | {"company": {}}))

    assert shown["address"]["country"] == {"code": "SI", "name": "Slovenia"}
    assert shown["company"] is None


def test_serves_a_client_that_asks_for_a_parent_in_camel_case(call, odette):
    assert said(call("GET", "affiliates?parentId=odettevarga")) == []
    assert len(said(call("GET", "affiliates?parentId="))) == 1


@pytest.mark.parametrize("value", ["1", "true", "TRUE"])
def test_serves_a_client_with_its_own_booleans(call, account, odette, value):
    click = account.clicks.create(
        enrolment=odette,
        program=odette.program,
        affiliate=odette.affiliate,
        created_at=NOW.replace(year=2020),
    )
    body = {"customer_id": "acct-1", "click_id": str(click)}

    refused = call("POST", "customers", body)
    taken = call("POST", f"customers?override_max_cookie_time={value}", body)

    assert "Cookie expired" in refused.text
    assert taken.status_code == 200
