"""Why an affiliate does not see a sale: a pure decision from facts that were read.

An affiliate gets details of own sales, of sales in whose attribution they took part,
and of refused reports that name nobody. All else has one answer, `NOTHING`: the sale
of somebody else must not differ from one that the shop never reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from accounts.errors import name_error
from tracking.attribution import (
    CLAIM,
    COUPON,
    CUSTOMER,
    STAFF,
    RejectionReason,
)
from tracking.errors import (
    AffiliateDeleted,
    AffiliateNotApproved,
    BlankTrackingParameter,
    CookieExpired,
    InvalidAssetOrSource,
    InvalidClickId,
    InvalidTrackingId,
    MissingTrackingParameter,
    ProgramArchived,
    UnknownCoupon,
    UnknownCustomer,
    UnknownReferralCode,
)


class Answer(StrEnum):
    """The answer that the affiliate gets. The values are stored with questions."""

    NOTHING = "nothing"
    OWN = "own"
    DISAPPROVED = "disapproved"
    REFUNDED = "refunded"
    REMOVED = "removed"
    CONTESTED = "contested"
    COUPON_FIRST = "coupon_first"
    CUSTOMER_FIRST = "customer_first"
    LATER_CLICK = "later_click"
    OTHER_FIRST = "other_first"
    OTHER_CONFIRMED = "other_confirmed"
    CREDITED_TO_OTHER = "credited_to_other"
    TOO_OLD = "too_old"
    NOT_APPROVED = "not_approved"
    PROGRAM_ARCHIVED = "program_archived"
    NO_REFERRAL = "no_referral"
    UNKNOWN_REFERRAL = "unknown_referral"
    REFUSED = "refused"


@dataclass(frozen=True)
class Participation:
    """A candidate of the affiliate: why it did not win, and when its click was."""

    reason: str  # of `RejectionReason`
    clicked_at: datetime | None = None


@dataclass(frozen=True)
class ReportedSale:
    """A stored sale, as far as the affiliate may be concerned."""

    is_own: bool
    is_removed: bool = False
    is_refunded: bool = False
    is_contested: bool = False
    is_disapproved: bool = False
    was_own: bool = False  # or the affiliate has one of the contested claims
    participations: Sequence[Participation] = ()
    winner: str | None = None  # the parameter that won
    winner_clicked_at: datetime | None = None


@dataclass(frozen=True)
class RefusedReport:
    """A report that failed: the code of its error, and whose it was, if that was known."""

    reason: str
    names_affiliate: bool = False
    is_own: bool = False


# Refusals that depend on whose link or coupon it was.
OWN_REFUSALS = {
    name_error(CookieExpired): Answer.TOO_OLD,
    name_error(AffiliateNotApproved): Answer.NOT_APPROVED,
    name_error(AffiliateDeleted): Answer.NOT_APPROVED,
    name_error(ProgramArchived): Answer.PROGRAM_ARCHIVED,
}
NO_REFERRAL = (MissingTrackingParameter, BlankTrackingParameter, UnknownCustomer)
UNKNOWN_REFERRAL = (
    UnknownCoupon,
    UnknownReferralCode,
    InvalidClickId,
    InvalidAssetOrSource,
    InvalidTrackingId,
)
REFUSALS = {
    **dict.fromkeys(map(name_error, NO_REFERRAL), Answer.NO_REFERRAL),
    **dict.fromkeys(map(name_error, UNKNOWN_REFERRAL), Answer.UNKNOWN_REFERRAL),
}
REJECTIONS = {
    RejectionReason.COOKIE_EXPIRED: Answer.TOO_OLD,
    RejectionReason.NOT_APPROVED: Answer.NOT_APPROVED,
    RejectionReason.AFFILIATE_DELETED: Answer.NOT_APPROVED,
    RejectionReason.PROGRAM_ARCHIVED: Answer.PROGRAM_ARCHIVED,
}
WINNERS = {
    COUPON: Answer.COUPON_FIRST,
    CUSTOMER: Answer.CUSTOMER_FIRST,
    CLAIM: Answer.OTHER_CONFIRMED,
    STAFF: Answer.CREDITED_TO_OTHER,
}


def decide_answer(sale: ReportedSale | None, refused: Sequence[RefusedReport] = ()) -> Answer:
    """Decide by the stored sale, else by the refused reports, the latest first."""
    if sale is None:
        return decide_by_refusals(refused)
    if sale.is_own and sale.is_removed:
        return Answer.REFUNDED if sale.is_refunded else Answer.REMOVED
    if sale.is_own and sale.is_contested:
        return Answer.CONTESTED
    if sale.is_own:
        return Answer.DISAPPROVED if sale.is_disapproved else Answer.OWN
    if sale.is_removed or not (sale.was_own or sale.participations):
        return Answer.NOTHING
    if sale.is_contested:
        return Answer.CONTESTED
    return decide_by_attribution(sale)


def decide_by_attribution(sale: ReportedSale) -> Answer:
    """Why another referral won."""
    if sale.was_own:
        is_by_staff = sale.winner == STAFF
        return Answer.CREDITED_TO_OTHER if is_by_staff else Answer.OTHER_CONFIRMED
    for each in sale.participations:
        if each.reason in REJECTIONS:
            return REJECTIONS[RejectionReason(each.reason)]
    if sale.winner in WINNERS:
        return WINNERS[sale.winner]
    clicks = [each.clicked_at for each in sale.participations if each.clicked_at]
    if sale.winner_clicked_at and clicks and max(clicks) < sale.winner_clicked_at:
        return Answer.LATER_CLICK
    return Answer.OTHER_FIRST


def decide_by_refusals(refused: Sequence[RefusedReport]) -> Answer:
    """Why the shop's report was refused."""
    for report in sorted(refused, key=lambda each: not each.is_own):
        if report.names_affiliate or report.reason in OWN_REFUSALS:
            if report.is_own:
                return OWN_REFUSALS.get(report.reason, Answer.REFUSED)
            continue
        return REFUSALS.get(report.reason, Answer.REFUSED)
    return Answer.NOTHING
