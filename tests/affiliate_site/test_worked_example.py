"""The worked example of docs/api-contract.md, section 8, end to end."""

import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
import time_machine

from payouts.models.commission_types import RateKind
from payouts.services.programs import ProgramSettings, create_program
from tests.affiliate_site.api.resources.expected import (
    expected_affiliate,
    expected_nested_commission,
)
from tests.affiliate_site.responses import get_json
from tests.ledger_checks import assert_ledger_consistent


@pytest.fixture
def harbor(account):
    at = datetime(2026, 3, 1, tzinfo=UTC)
    rules = ProgramSettings(
        title="Harbor Lamp Partners",
        currency="EUR",
        landing_page="https://shop.example.net/",
    )
    program = create_program(account, slug="harbor-lamp-partners", settings=rules, at=at)
    account.commission_types.create(
        program=program,
        identifier="accessories",
        title="Accessories",
        kind=RateKind.PERCENTAGE,
        value=Decimal("7.5"),
    )
    return program


def test_reproduces_the_example_of_the_contract(api, account, harbor):
    with time_machine.travel(datetime(2026, 3, 2, 8, 0, tzinfo=UTC), tick=False):
        affiliate = get_json(
            api.post(
                "/affiliates/",
                '{"firstname": "Mina", "lastname": "Kessler", "email": "mina@notes.example.org"}',
                content_type="application/x-www-form-urlencoded",
            )
        )
    password = affiliate.pop("password")
    mina = expected_affiliate()
    assert re.fullmatch(r"[A-Za-z0-9]{16}", password)
    assert affiliate == mina

    with time_machine.travel(datetime(2026, 3, 2, 8, 1, tzinfo=UTC), tick=False):
        enrollment = get_json(
            api.post(
                "/programs/harbor-lamp-partners/affiliates/",
                {
                    "affiliate": {"id": "minakessler"},
                    "approved": True,
                    "coupon": "MINA10",
                },
            )
        )
    link = enrollment["referral_link"]
    code = link["link"].rpartition("ref=")[2]
    assert re.fullmatch(r"[a-z0-9]{7}", code)
    assert re.fullmatch(r"[0-9]+-[0-9a-f]{6}", link["asset_id"])
    assert re.fullmatch(r"[0-9]+-[0-9a-f]{6}", link["source_id"])
    assert enrollment == mina | {
        "referral_link": {
            "link": f"https://shop.example.net/?ref={code}",
            "asset_id": link["asset_id"],
            "source_id": link["source_id"],
        },
        "coupon": "MINA10",
        "approved": True,
        "applied_at": "2026-03-02T08:01:00+00:00",
    }

    clicked_at = datetime(2026, 3, 3, 19, 3, 44, tzinfo=UTC)
    with time_machine.travel(clicked_at, tick=False):
        click = get_json(
            api.post(
                "/clicks/",
                {
                    "referral_code": code,
                    "referrer": "https://notes.example.org/lamps",
                    "landing_page": f"https://shop.example.net/?ref={code}",
                    "meta_data": {"subid1": "newsletter-12"},
                },
            )
        )
    assert list(click) == ["id"]
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", click["id"])

    order = (
        f'{{"external_id": "order-10417", "click_id": "{click["id"]}",'
        ' "customer_id": "acct-55120",'
        ' "commissions": [{"sub_amount": 200},'
        ' {"sub_amount": "49.90", "commission_type": "accessories"}],'
        ' "meta_data": {"channel": "web"}}'
    )
    with time_machine.travel(datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC), tick=False):
        response = api.post("/conversions/", order)
    sale = get_json(response)
    first, second = (commission["id"] for commission in sale["commissions"])
    standard = expected_nested_commission(first)
    affiliate_reference = standard["affiliate"]
    accessories = expected_nested_commission(
        second,
        conversion_sub_amount=49.9,
        amount=3.74,
        commission_type="accessories",
        commission_name="Accessories",
    )
    assert first < second
    assert sale == {
        "id": sale["id"],
        "external_id": "order-10417",
        "amount": 249.9,
        "click": {
            "created_at": "2026-03-03T19:03:44+00:00",
            "referrer": "https://notes.example.org/lamps",
            "landing_page": f"https://shop.example.net/?ref={code}",
        },
        "commissions": [standard, accessories],
        "program": {
            "id": "harbor-lamp-partners",
            "title": "Harbor Lamp Partners",
            "currency": "EUR",
        },
        "affiliate": affiliate_reference,
        "customer": {
            "id": sale["customer"]["id"],
            "customer_id": "acct-55120",
            "status": "paying",
        },
        "meta_data": {"channel": "web"},
        "created_at": "2026-03-04T09:15:27+00:00",
        "warnings": None,
        "affiliate_meta_data": {"subid1": "newsletter-12"},
        "tracking_source": "click",
    }
    assert re.fullmatch(r"cu_[A-Za-z0-9]{16}", sale["customer"]["id"])
    # Compare bytes, because a float would hide rounding errors.
    assert b'"amount":249.9,' in response.content
    assert b'"conversion_sub_amount":200,"amount":20,' in response.content
    assert b'"conversion_sub_amount":49.9,"amount":3.74,' in response.content

    for later in (timedelta(seconds=1), timedelta(days=400)):
        retry_at = datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC) + later
        with time_machine.travel(retry_at, tick=False):
            again = api.post("/conversions/", order)
        assert again.status_code == 400
        assert again.json() == {
            "errors": [
                {
                    "message": "Duplicate conversion. There is already a conversion"
                    " for External id 'order-10417'"
                }
            ]
        }

    approved = get_json(api.put(f"/commissions/{first}/approved/"))
    get_json(api.put(f"/commissions/{second}/approved/"))
    resource_fields = {
        "approved": True,
        "status": "approved",
        "conversion": {"id": sale["id"]},
        "finalization_date": None,
    }
    assert approved == standard | resource_fields
    assert_balances(api, b'{"EUR":23.74}')
    assert_ledger_consistent(account)

    order = '{"affiliate_id": "minakessler", "amount": 23.74, "currency": "EUR"}'
    keyed = {"Idempotency-Key": "payout-2026-03-minakessler"}
    paid_at = datetime(2026, 4, 1, 12, 0, tzinfo=UTC)
    with time_machine.travel(paid_at, tick=False):
        paying = api.post("/payments/", order, **keyed)
    (payment,) = get_json(paying)
    assert re.fullmatch(r"pa_[A-Za-z0-9]{16}", payment["id"])
    assert payment == {
        "id": payment["id"],
        "created_at": "2026-04-01T12:00:00+00:00",
        "affiliate": affiliate_reference,
        "amount": 23.74,
        "currency": "EUR",
    }
    covered = resource_fields | {"payout": {"id": payment["id"]}}
    assert get_json(api.get(f"/commissions/{first}/")) == standard | covered
    assert get_json(api.get(f"/commissions/{second}/")) == accessories | covered
    assert_balances(api, b"{}")
    assert_ledger_consistent(account)

    canceled = api.delete(f"/payments/{payment['id']}/")
    assert (canceled.status_code, canceled.content) == (204, b"")
    assert_balances(api, b'{"EUR":23.74}')
    assert get_json(api.get(f"/commissions/{first}/")) == standard | resource_fields
    assert get_json(api.get(f"/commissions/{second}/")) == accessories | resource_fields

    again = api.delete(f"/payments/{payment['id']}/")
    assert again.status_code == 404
    assert again.json() == {"errors": [{"message": "Payment not found"}]}
    within_a_day = paid_at + timedelta(hours=23, minutes=59)
    with time_machine.travel(within_a_day, tick=False):
        replayed = api.post("/payments/", order, **keyed)
    assert (replayed.status_code, replayed.content) == (200, paying.content)
    assert replayed["Idempotent-Replayed"] == "true"
    assert get_json(api.get("/payments/")) == []
    assert_balances(api, b'{"EUR":23.74}')

    second_payment = api.post("/payments/", order, **{"Idempotency-Key": "payout-2026-03-second"})
    assert get_json(second_payment)[0]["id"] != payment["id"]
    assert_balances(api, b"{}")
    assert_ledger_consistent(account)


def assert_balances(api, balances):
    """Assert the balances of Mina and the list of all balances."""
    response = api.get("/affiliates/minakessler/balances/")
    assert response.content == balances
    balance = json.loads(balances)
    all_balances = [{"affiliate_id": "minakessler", "balances": balance}] if balance else []
    assert get_json(api.get("/balances/")) == all_balances
