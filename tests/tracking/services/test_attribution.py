"""Contract 2.2.4: a verdict over an account's rows, and the reasons kept."""

import json
from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import (
    AffiliateFactory,
    ClickFactory,
    CouponFactory,
    CustomerFactory,
    EnrolmentFactory,
)
from tracking.attribution import ENGINE, REGISTERING, REST, Clues, Fault
from tracking.services.attribution import canonical, keep_decision, verify, weigh


@pytest.fixture
def odette(account, program):
    affiliate = AffiliateFactory(account=account, slug="odettevarga")
    enrolment = EnrolmentFactory(
        account=account, program=program, affiliate=affiliate, code="qv7kd2p"
    )
    CouponFactory(account=account, enrolment=enrolment, code="ODETTE10")
    return enrolment


@pytest.fixture
def click(account, odette):
    return ClickFactory(
        account=account, enrolment=odette, created_at=NOW - timedelta(days=3)
    )


@pytest.fixture
def rival_click(account):
    rival = AffiliateFactory(account=account, slug="rival")
    enrolment = EnrolmentFactory(account=account, affiliate=rival)
    return ClickFactory(account=account, enrolment=enrolment, created_at=NOW)


def weighed(account, order=REST, ignoring=False, **clues):
    return weigh(
        account,
        clues=Clues(**clues),
        order=order,
        at=NOW,
        ignore_cookie_age=ignoring,
    )


def test_prefers_the_coupon_over_the_click(account, odette, rival_click):
    finding = weighed(account, coupon="ODETTE10", click_id=str(rival_click))

    assert finding.deciding_clue == "coupon"
    assert finding.program == odette.program
    assert finding.affiliate == odette.affiliate
    assert finding.enrolment == odette
    assert [it.affiliate for it in finding.verdict.losers] == ["rival"]


def test_lets_a_known_customer_keep_its_affiliate(account, odette, rival_click):
    customer = CustomerFactory(account=account, enrolment=odette, customer_id="acct-1")

    finding = weighed(account, customer_id="acct-1", click_id=str(rival_click))

    assert finding.deciding_clue == "customer"
    assert finding.customer == customer
    assert finding.affiliate == odette.affiliate


def test_raises_nothing_for_a_clue_at_fault(account):
    finding = weighed(account, coupon="unknown")

    assert finding.verdict.fault is Fault.UNKNOWN


@pytest.mark.parametrize("name", ["program", "affiliate"])
def test_has_no_row_to_give_when_nobody_earns(account, name):
    finding = weighed(account, coupon="unknown")

    with pytest.raises(LookupError):
        getattr(finding, name)


def test_counts_the_present_cookie_time_for_old_clicks(account, program, click):
    program.change(cookie_time=2)

    late = weighed(account, click_id=str(click))
    ignored = weighed(account, click_id=str(click), ignoring=True)

    assert late.verdict.fault is Fault.EXPIRED
    assert late.verdict.late_by == timedelta(days=1)
    assert ignored.verdict.fault is None


# The click of a sale: the deciding one, else one beside it, else the customer's.


def test_takes_the_deciding_click(account, click):
    finding = weighed(account, click_id=str(click))

    assert finding.click == finding.deciding_click == click


def test_takes_the_click_named_beside_a_higher_clue(account, odette, rival_click):
    finding = weighed(account, coupon="ODETTE10", click_id=str(rival_click))

    assert finding.click == rival_click
    assert finding.deciding_click is None


@pytest.mark.parametrize("click_id", ["unknown", "", " "], ids=repr)
def test_takes_no_click_when_the_one_beside_is_unknown(account, odette, click_id):
    finding = weighed(account, coupon="ODETTE10", click_id=click_id)

    assert finding.verdict.fault is None
    assert finding.click is None


def test_takes_the_customers_own_click_last(account, odette, click, rival_click):
    CustomerFactory(
        account=account, enrolment=odette, customer_id="acct-1", click=click
    )

    alone = weighed(account, customer_id="acct-1")
    beside = weighed(account, customer_id="acct-1", click_id=str(rival_click))
    unknown = weighed(account, customer_id="acct-1", click_id="unknown")

    assert alone.click == click
    assert beside.click == rival_click
    assert unknown.click == click


def test_takes_no_click_where_there_is_none(account, odette):
    CustomerFactory(account=account, enrolment=odette, customer_id="acct-1")

    assert weighed(account, customer_id="acct-1").click is None
    assert weighed(account, referral_code="qv7kd2p").click is None


# Decisions


@pytest.fixture
def decision(account, odette, click, rival_click):
    finding = weighed(
        account,
        order=REGISTERING,
        coupon="ODETTE10",
        referral_code="unknown",
        click_id=str(rival_click),
    )
    customer = CustomerFactory(account=account, enrolment=odette)
    return keep_decision(account, finding, about=customer)


def test_keeps_why_a_customer_is_whose_it_is(account, decision, rival_click):
    kept = account.decisions.get()

    assert kept.customer == account.customers.get()
    assert kept.conversion is None
    assert kept.engine == ENGINE
    assert json.loads(kept.outcome) == {
        "clue": "coupon",
        "affiliate": "odettevarga",
        "program": "harbor-lamp-partners",
        "fault": None,
        "late_by": None,
        "losers": [
            {
                "clue": "referral_code",
                "value": "unknown",
                "affiliate": None,
                "reason": "points at nobody",
            },
            {
                "clue": "click_id",
                "value": str(rival_click),
                "affiliate": "rival",
                "reason": "coupon comes first",
            },
        ],
    }


def test_verifies_a_decision_that_was_read_back(account, decision):
    assert verify(account.decisions.get()) is True


def test_verifies_a_decision_after_the_world_has_changed(account, decision, odette):
    odette.change(approved=False)
    odette.affiliate.change(removed_at=NOW)
    odette.program.change(archived_at=NOW, cookie_time=1)

    assert verify(account.decisions.get()) is True


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("outcome", '"affiliate":"odettevarga"', '"affiliate":"rival"'),
        ("outcome", '"clue":"coupon"', '"clue":"click_id"'),
        ("outcome", '"fault":null', '"fault": null'),
        ("outcome", "coupon comes first", "not approved in the program"),
        ("inputs", '"affiliate":"odettevarga"', '"affiliate":"rival"'),
        ("inputs", '"archived":false', '"archived":true'),
        ("inputs", '"standing":"approved"', '"standing":"waiting"'),
        ("inputs", '["coupon","referral_code"', '["referral_code","coupon"'),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() else "",
)
def test_does_not_verify_a_decision_that_was_tampered_with(
    account, decision, part, old, new
):
    kept = account.decisions.get()
    before = getattr(kept, part)
    setattr(kept, part, before.replace(old, new))

    assert getattr(kept, part) != before
    assert verify(kept) is False


def test_spells_json_in_one_way():
    assert canonical({"b": 1, "a": ["ž", None]}) == '{"a":["ž",null],"b":1}'
