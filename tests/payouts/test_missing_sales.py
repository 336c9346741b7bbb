"""The decision why an affiliate does not see a sale, from facts alone."""

from datetime import UTC, datetime

import pytest

from payouts.missing_sales import (
    Answer,
    Participation,
    RefusedReport,
    ReportedSale,
    decide_answer,
)

EARLIER = datetime(2026, 3, 1, tzinfo=UTC)
LATER = datetime(2026, 3, 2, tzinfo=UTC)


def lost(winner, reason="lower_precedence", **facts):
    return ReportedSale(
        is_own=False,
        winner=winner,
        participations=[Participation(reason, EARLIER)],
        **facts,
    )


@pytest.mark.parametrize(
    ("sale", "answer"),
    [
        (ReportedSale(is_own=True), Answer.OWN),
        (ReportedSale(is_own=True, is_contested=True), Answer.CONTESTED),
        (ReportedSale(is_own=True, is_removed=True), Answer.REMOVED),
        (
            ReportedSale(is_own=True, is_removed=True, is_refunded=True),
            Answer.REFUNDED,
        ),
        (ReportedSale(is_own=False, winner="coupon"), Answer.NOTHING),
        (ReportedSale(is_own=False, is_contested=True), Answer.NOTHING),
        (lost("coupon", is_removed=True), Answer.NOTHING),
        (lost("coupon"), Answer.COUPON_FIRST),
        (lost("customer"), Answer.CUSTOMER_FIRST),
        (lost("claim"), Answer.OTHER_CONFIRMED),
        (lost("staff"), Answer.CREDITED_TO_OTHER),
        (lost("click_id"), Answer.OTHER_FIRST),
        (lost("click_id", winner_clicked_at=LATER), Answer.LATER_CLICK),
        (lost("click_id", winner_clicked_at=EARLIER), Answer.OTHER_FIRST),
        (lost("coupon", "cookie_expired"), Answer.TOO_OLD),
        (lost("coupon", "not_approved"), Answer.NOT_APPROVED),
        (lost("coupon", "affiliate_deleted"), Answer.NOT_APPROVED),
        (lost("coupon", "program_archived"), Answer.PROGRAM_ARCHIVED),
        (
            ReportedSale(is_own=False, was_own=True, is_contested=True),
            Answer.CONTESTED,
        ),
        (
            ReportedSale(is_own=False, was_own=True, winner="coupon"),
            Answer.OTHER_CONFIRMED,
        ),
        (
            ReportedSale(is_own=False, was_own=True, winner="staff"),
            Answer.CREDITED_TO_OTHER,
        ),
    ],
)
def test_answers_by_the_stored_sale(sale, answer):
    refused = [RefusedReport("Unknown coupon code")]
    assert decide_answer(sale, refused) is answer


def own(message):
    return RefusedReport(message, names_affiliate=True, is_own=True)


def of_other(message):
    return RefusedReport(message, names_affiliate=True)


@pytest.mark.parametrize(
    ("refused", "answer"),
    [
        ([], Answer.NOTHING),
        ([own("Cookie expired")], Answer.TOO_OLD),
        ([own("Affiliate is not approved for this program")], Answer.NOT_APPROVED),
        ([own("Program is archived")], Answer.PROGRAM_ARCHIVED),
        ([own("Something new")], Answer.REFUSED),
        ([of_other("Cookie expired")], Answer.NOTHING),
        ([of_other("Something new")], Answer.NOTHING),
        ([RefusedReport("Cookie expired")], Answer.NOTHING),
        ([RefusedReport("Affiliate is deleted")], Answer.NOTHING),
        ([RefusedReport("Missing mandatory parameter(s)")], Answer.NO_REFERRAL),
        (
            [
                RefusedReport(
                    "Missing tracking parameter value and no customer found for customer id: cu-1"
                )
            ],
            Answer.NO_REFERRAL,
        ),
        (
            [
                RefusedReport(
                    "Parameter 'coupon' takes precedence for tracking, but no value was passed"
                )
            ],
            Answer.NO_REFERRAL,
        ),
        ([RefusedReport("Unknown coupon code")], Answer.UNKNOWN_REFERRAL),
        ([RefusedReport("Invalid tracking id")], Answer.UNKNOWN_REFERRAL),
        ([RefusedReport("Invalid currency")], Answer.REFUSED),
        (
            [RefusedReport("Invalid currency"), own("Cookie expired")],
            Answer.TOO_OLD,
        ),
        (
            [of_other("Cookie expired"), RefusedReport("Unknown coupon code")],
            Answer.UNKNOWN_REFERRAL,
        ),
    ],
)
def test_answers_by_the_refused_reports(refused, answer):
    assert decide_answer(None, refused) is answer
