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
    refused = [RefusedReport("unknown_coupon")]
    assert decide_answer(sale, refused) is answer


def own(reason):
    return RefusedReport(reason, names_affiliate=True, is_own=True)


def of_other(reason):
    return RefusedReport(reason, names_affiliate=True)


@pytest.mark.parametrize(
    ("refused", "answer"),
    [
        ([], Answer.NOTHING),
        ([own("cookie_expired")], Answer.TOO_OLD),
        ([own("affiliate_not_approved")], Answer.NOT_APPROVED),
        ([own("program_archived")], Answer.PROGRAM_ARCHIVED),
        ([own("something_new")], Answer.REFUSED),
        ([of_other("cookie_expired")], Answer.NOTHING),
        ([of_other("something_new")], Answer.NOTHING),
        ([RefusedReport("cookie_expired")], Answer.NOTHING),
        ([RefusedReport("affiliate_deleted")], Answer.NOTHING),
        ([RefusedReport("missing_tracking_parameter")], Answer.NO_REFERRAL),
        ([RefusedReport("unknown_customer")], Answer.NO_REFERRAL),
        ([RefusedReport("blank_tracking_parameter")], Answer.NO_REFERRAL),
        ([RefusedReport("unknown_coupon")], Answer.UNKNOWN_REFERRAL),
        ([RefusedReport("invalid_tracking_id")], Answer.UNKNOWN_REFERRAL),
        ([RefusedReport("unknown_currency")], Answer.REFUSED),
        (
            [RefusedReport("unknown_currency"), own("cookie_expired")],
            Answer.TOO_OLD,
        ),
        (
            [of_other("cookie_expired"), RefusedReport("unknown_coupon")],
            Answer.UNKNOWN_REFERRAL,
        ),
    ],
)
def test_answers_by_the_refused_reports(refused, answer):
    assert decide_answer(None, refused) is answer
