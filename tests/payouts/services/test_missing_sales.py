"""Why an affiliate does not see a sale, asked after real histories."""

from datetime import timedelta

import pytest

from accounts.errors import DomainError
from payouts.missing_sales import Answer
from payouts.services.conversion_updates import update_conversion
from payouts.services.corrections import confirm_claim, reattribute_conversion
from payouts.services.missing_sales import ANSWER_TEXTS, explain_missing_sale
from payouts.services.refunds import refund_conversion
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.attribution import TrackingParameters
from tracking.claims import Trust
from tracking.services.attempts import Attempt
from tracking.services.clicks import Visit, record_click
from tracking.services.visitors import record_visit

NOW = CONVERSION_CREATED_AT


@pytest.fixture
def nils(scenario):
    return scenario.create_enrolled_affiliate("Nils", "Berg")


@pytest.fixture
def answer(scenario):
    """The answer to an affiliate, by default Mina, about an order."""

    def find(affiliate=None, order_id="order-1"):
        affiliate = (affiliate or scenario.mina).affiliate
        return explain_missing_sale(affiliate, order_id).answer

    return find


def report(scenario, order_id="order-1", **parameters):
    """Report a sale, and store a failure as the API does."""
    attempt = Attempt(scenario.account, origin="api", external_id=order_id)
    try:
        return scenario.create_conversion(
            parameters=TrackingParameters(**parameters), external_id=order_id
        )
    except DomainError as error:
        attempt.fail(error)


def click(scenario, affiliate=None, at=NOW - timedelta(days=1)):
    """The public ID of a click on the affiliate's link."""
    affiliate = affiliate or scenario.mina
    visit = Visit(parameters=TrackingParameters(referral_code=affiliate.code))
    return str(record_click(scenario.account, visit=visit, at=at).public_id)


def test_each_answer_has_a_text():
    assert set(ANSWER_TEXTS) == set(Answer)


def test_says_nothing_about_an_order_that_nobody_reported(answer):
    assert answer() is Answer.NOTHING


def test_finds_an_own_sale(account, scenario, answer):
    sale = report(scenario, coupon=scenario.mina.coupon)
    found = explain_missing_sale(scenario.mina.affiliate, "order-1")
    assert (found.answer, found.conversion, found.is_own) == (Answer.OWN, sale, True)


def test_finds_a_sale_by_a_former_id(account, scenario, answer):
    sale = report(scenario, coupon=scenario.mina.coupon)
    update_conversion(
        account,
        conversion_id=sale.pk,
        changes={"external_id": "order-2"},
        should_recalculate=False,
        at=NOW,
    )
    assert answer() is answer(order_id="order-2") is Answer.OWN


def test_a_sale_that_took_over_the_id_comes_first(account, scenario, nils, answer):
    sale = report(scenario, coupon=scenario.mina.coupon)
    scenario.delete(sale)
    assert answer() is Answer.REMOVED
    report(scenario, coupon=nils.coupon)
    assert answer() is Answer.NOTHING
    assert answer(nils) is Answer.OWN


def test_tells_that_a_sale_was_refunded_in_full(account, scenario, answer):
    sale = report(scenario, coupon=scenario.mina.coupon)
    refund_conversion(account, conversion_id=sale.pk, reason="x", at=NOW)
    assert answer() is Answer.REFUNDED


def test_a_coupon_counts_before_a_link(scenario, nils, answer):
    report(scenario, coupon=nils.coupon, click_id=click(scenario))
    assert answer() is Answer.COUPON_FIRST


def test_the_customer_was_won_earlier(scenario, nils, answer):
    scenario.create_customer("cu-1", affiliate=nils)
    report(scenario, customer_id="cu-1", coupon=scenario.mina.coupon)
    assert answer() is Answer.CUSTOMER_FIRST


def test_a_later_click_counts(scenario, nils, answer):
    record = {"asset_id": scenario.mina.asset_id, "source_id": scenario.mina.source_id}
    report(scenario, click_id=click(scenario, nils), **record)
    assert answer() is Answer.OTHER_FIRST
    first = record_visit(
        scenario.account,
        visit=Visit(TrackingParameters(referral_code=scenario.mina.code)),
        previous_tracking_id=None,
        at=NOW - timedelta(days=2),
    )
    later = click(scenario, nils)
    report(scenario, "order-2", click_id=later, tracking_id=first.tracking_id)
    assert answer(order_id="order-2") is Answer.LATER_CLICK


def test_the_click_was_too_old(scenario, nils, answer):
    scenario.program.update_row(cookie_time=1)
    old = click(scenario, at=NOW - timedelta(days=3))
    report(scenario, click_id=old)
    assert answer() is Answer.TOO_OLD
    assert answer(nils) is Answer.NOTHING
    report(scenario, "order-2", coupon=nils.coupon, click_id=old)
    assert answer(order_id="order-2") is Answer.TOO_OLD
    assert answer(nils, "order-2") is Answer.OWN


def test_the_affiliate_was_not_approved(scenario, nils, answer):
    scenario.set_approval(scenario.mina, approved=False)
    report(scenario, coupon=scenario.mina.coupon)
    assert answer() is Answer.NOT_APPROVED
    assert answer(nils) is Answer.NOTHING


def test_the_program_has_ended(scenario, nils, answer):
    scenario.archive()
    report(scenario, coupon=scenario.mina.coupon)
    assert answer() is Answer.PROGRAM_ARCHIVED
    assert answer(nils) is Answer.NOTHING


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({}, Answer.NO_REFERRAL),
        ({"customer_id": "cu-unknown"}, Answer.NO_REFERRAL),
        ({"coupon": ""}, Answer.NO_REFERRAL),
        ({"coupon": "UNKNOWN"}, Answer.UNKNOWN_REFERRAL),
        ({"tracking_id": "unknown"}, Answer.UNKNOWN_REFERRAL),
    ],
)
def test_nobody_referred_the_sale(scenario, nils, answer, parameters, told):
    report(scenario, **parameters)
    assert answer() is answer(nils) is told


def test_forgets_a_refusal_after_the_sale_was_stored(scenario, nils, answer):
    report(scenario, coupon="UNKNOWN")
    report(scenario, coupon=nils.coupon)
    assert answer() is Answer.NOTHING


def test_staff_credited_the_sale_to_another(account, scenario, nils, answer):
    sale = report(scenario, coupon=scenario.mina.coupon)
    reattribute_conversion(
        account, conversion_id=sale.pk, affiliate_id=nils.slug, reason="x", at=NOW
    )
    assert answer() is Answer.CREDITED_TO_OTHER
    assert answer(nils) is Answer.OWN


def claim(scenario, affiliate):
    return scenario.create_conversion(
        parameters=TrackingParameters(coupon=affiliate.coupon),
        external_id="order-1",
        trust=Trust.CLAIM,
        is_browser_sale=True,
    )


def test_two_visitors_claim_the_sale_until_one_is_confirmed(account, scenario, nils, answer):
    eve = scenario.create_enrolled_affiliate("Eve", "Dahl")
    for affiliate in (scenario.mina, nils):
        claim(scenario, affiliate)
    assert answer() is answer(nils) is Answer.CONTESTED
    assert answer(eve) is Answer.NOTHING
    row = account.conversion_claims.get(affiliate=nils.affiliate)
    confirm_claim(account, claim_id=row.pk, at=NOW)
    assert answer(nils) is Answer.OWN
    assert answer() is Answer.OTHER_CONFIRMED
    assert answer(eve) is Answer.NOTHING


def test_another_account_has_no_part_in_it(scenario, answer, other_account):
    foreign = ProgramScenario(other_account, prefix="far-")
    report(foreign, coupon=foreign.mina.coupon)
    report(foreign, "order-2", coupon="UNKNOWN")
    assert answer() is answer(order_id="order-2") is Answer.NOTHING
