"""Requests that track, as existing clients of the public 1.6 API send them."""

import json

import pytest

from tests.affiliate_site.responses import get_json
from tests.factories.tracking import AffiliateFactory, CouponFactory, EnrollmentFactory


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
            content_type=headers.pop("content_type", "application/x-www-form-urlencoded"),
            headers={"Api-Key": api.key, "User-Agent": "library/3.1"} | headers,
        )

    return send


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
    customer = get_json(call("POST", "customers", {"customer_id": 55120, "click_id": click["id"]}))

    assert customer["customer_id"] == "55120"
    assert customer["affiliate"] == {
        "id": "minakessler",
        "firstname": "Mina",
        "lastname": "Kessler",
    }


def test_serves_a_client_that_finds_a_customer_by_its_own_id(call, account, odette):
    get_json(call("POST", "customers", {"customer_id": "a b", "coupon": "ODETTE10"}))

    found = get_json(call("GET", "customers?customer_id=a%20b"))

    assert len(found) == 1
    assert get_json(call("GET", f"customers/{found[0]['id']}")) == found[0]
