"""Attribution with the database (docs/api-contract.md, section 2.2.4)."""

import json
from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import (
    AffiliateFactory,
    ClickFactory,
    CouponFactory,
    CustomerFactory,
    EnrollmentFactory,
)
from tracking.attribution import (
    ENGINE,
    REST_CONVERSION_ORDER,
    REST_CUSTOMER_ORDER,
    RejectionReason,
    TrackingParameters,
)
from tracking.services.attribution import (
    attribute,
    create_attribution_record,
    serialize_canonical_json,
    verify_attribution_record,
)


@pytest.fixture
def odette(account, program):
    affiliate = AffiliateFactory(account=account, slug="odettevarga")
    enrollment = EnrollmentFactory(
        account=account, program=program, affiliate=affiliate, code="qv7kd2p"
    )
    CouponFactory(account=account, enrollment=enrollment, code="ODETTE10")
    return enrollment


@pytest.fixture
def click(account, odette):
    return ClickFactory(account=account, enrollment=odette, created_at=NOW - timedelta(days=3))


@pytest.fixture
def rival_click(account):
    rival = AffiliateFactory(account=account, slug="rival")
    enrollment = EnrollmentFactory(account=account, affiliate=rival)
    return ClickFactory(account=account, enrollment=enrollment, created_at=NOW)


def run_attribution(account, order=REST_CONVERSION_ORDER, ignore_cookie_age=False, **parameters):
    return attribute(
        account,
        parameters=TrackingParameters(**parameters),
        order=order,
        at=NOW,
        ignore_cookie_age=ignore_cookie_age,
    )


def test_has_no_program_or_affiliate_without_an_eligible_winner(account):
    attribution = run_attribution(account, coupon="unknown")

    assert attribution.result.rejection_reason is RejectionReason.UNKNOWN
    for name in ("program", "affiliate"):
        with pytest.raises(LookupError):
            getattr(attribution, name)


def test_uses_the_current_cookie_time_for_old_clicks(account, program, click):
    program.update_row(cookie_time=2)

    expired = run_attribution(account, click_id=str(click))
    ignored = run_attribution(account, click_id=str(click), ignore_cookie_age=True)

    assert expired.result.rejection_reason is RejectionReason.COOKIE_EXPIRED
    assert expired.result.expired_by == timedelta(days=1)
    assert ignored.result.rejection_reason is None


# The click of a conversion: the winner's, else the click id's, else the customer's


CLICKS = {  # parameters, and the click; that of the customer `acct-1` is `click`
    "of-the-winner": ({"click_id": "{click}"}, "click"),
    "of-the-click-id": ({"coupon": "ODETTE10", "click_id": "{rival}"}, "rival"),
    "of-the-customer": ({"customer_id": "acct-1"}, "click"),
    "click-id-first": ({"customer_id": "acct-1", "click_id": "{rival}"}, "rival"),
    "unknown-click-id": ({"customer_id": "acct-1", "click_id": "unknown"}, "click"),
    "customer-without": ({"customer_id": "acct-2"}, None),
    "no-click": ({"referral_code": "qv7kd2p"}, None),
    **{
        f"coupon-and-{value!r}": ({"coupon": "ODETTE10", "click_id": value}, None)
        for value in ("unknown", "", " ")
    },
}


@pytest.mark.parametrize(("parameters", "expected"), CLICKS.values(), ids=CLICKS)
def test_finds_the_click(account, odette, click, rival_click, parameters, expected):
    clicks = {"click": click, "rival": rival_click, None: None}
    for customer_id, of_customer in (("acct-1", click), ("acct-2", None)):
        CustomerFactory(
            account=account,
            enrollment=odette,
            customer_id=customer_id,
            click=of_customer,
        )
    sent = {
        name: value.format(click=click, rival=rival_click) for name, value in parameters.items()
    }

    attribution = run_attribution(account, **sent)

    assert attribution.result.rejection_reason is None
    assert attribution.click == clicks[expected]
    is_winner = attribution.winning_parameter == "click_id"
    assert attribution.winning_click == (click if is_winner else None)


# Attribution records


@pytest.fixture
def attribution_record(account, odette, click, rival_click):
    attribution = run_attribution(
        account,
        order=REST_CUSTOMER_ORDER,
        coupon="ODETTE10",
        referral_code="unknown",
        click_id=str(rival_click),
    )
    customer = CustomerFactory(account=account, enrollment=odette)
    return create_attribution_record(account, attribution, subject=customer)


def test_stores_the_attribution_of_a_customer(account, attribution_record, rival_click):
    record = account.attribution_records.get()

    assert record.customer == account.customers.get()
    assert record.conversion is None
    assert record.engine == ENGINE
    assert json.loads(record.outcome) == {
        "parameter": "coupon",
        "affiliate": "odettevarga",
        "program": "harbor-lamp-partners",
        "rejection_reason": None,
        "expired_by": None,
        "rejected_candidates": [
            {
                "parameter": "referral_code",
                "value": "unknown",
                "affiliate": None,
                "reason": "unknown",
                "expired_by_hours": None,
            },
            {
                "parameter": "click_id",
                "value": str(rival_click),
                "affiliate": "rival",
                "reason": "lower_precedence",
                "expired_by_hours": None,
            },
        ],
    }


def test_verifies_a_record_even_after_its_objects_changed(account, attribution_record, odette):
    assert verify_attribution_record(account.attribution_records.get()) is True
    odette.update_row(approved=False)
    odette.affiliate.update_row(deleted_at=NOW)
    odette.program.update_row(archived_at=NOW, cookie_time=1)

    assert verify_attribution_record(account.attribution_records.get()) is True


@pytest.mark.parametrize(
    ("field", "old", "new"),
    [
        ("outcome", '"affiliate":"odettevarga"', '"affiliate":"rival"'),
        ("outcome", '"parameter":"coupon"', '"parameter":"click_id"'),
        ("outcome", '"rejection_reason":null', '"rejection_reason": null'),
        ("outcome", "lower_precedence", "not_approved"),
        ("inputs", '"affiliate":"odettevarga"', '"affiliate":"rival"'),
        (
            "inputs",
            '"is_program_archived":false',
            '"is_program_archived":true',
        ),
        ("inputs", '"enrollment_status":"approved"', '"enrollment_status":"pending"'),
        ("inputs", '["coupon","referral_code"', '["referral_code","coupon"'),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() else "",
)
def test_detects_a_manipulated_record(account, attribution_record, field, old, new):
    record = account.attribution_records.get()
    before = getattr(record, field)
    setattr(record, field, before.replace(old, new))

    assert getattr(record, field) != before
    assert verify_attribution_record(record) is False


def test_serializes_canonical_json():
    assert serialize_canonical_json({"b": 1, "a": ["ž", None]}) == '{"a":["ž",null],"b":1}'
