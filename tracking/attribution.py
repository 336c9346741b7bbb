"""Attribution: a pure function from candidates to the one that wins.

`select_winner` reads no clock, no database and no setting. Its inputs are stored with
its outcome, so that any attribution can be explained, replayed and verified later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from tracking.claims import Trust
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

ENGINE = "2"  # "1" did not know claims; its records replay unchanged

CUSTOMER = "customer"
COUPON = "coupon"
REFERRAL_CODE = "referral_code"
CLICK_ID = "click_id"
ASSET_AND_SOURCE = "asset_id"  # the value is stored
TRACKING_ID = "tracking_id"
CLAIM = "claim"  # the affiliate of the claim that a fact confirms
STAFF = "staff"  # the affiliate that staff chose for a sale
IMPORT = "import"  # the affiliate that another system had decided on

CandidateOrder = tuple[str, ...]

# The precedence of docs/api-contract.md, section 2.2.4; a known customer comes first.
REST_CONVERSION_ORDER: CandidateOrder = (
    CUSTOMER,
    COUPON,
    REFERRAL_CODE,
    CLICK_ID,
    ASSET_AND_SOURCE,
    TRACKING_ID,
)
REST_CUSTOMER_ORDER: CandidateOrder = REST_CONVERSION_ORDER[1:]
# Postbacks identify the click, so the click id precedes the referral code
# (docs/api-contract.md, section 4).
POSTBACK_CONVERSION_ORDER: CandidateOrder = (
    CUSTOMER,
    COUPON,
    CLICK_ID,
    REFERRAL_CODE,
    ASSET_AND_SOURCE,
    TRACKING_ID,
)
POSTBACK_CUSTOMER_ORDER: CandidateOrder = POSTBACK_CONVERSION_ORDER[1:]
# The browser script sends a customer id, coupons and the cookie's tracking id.
BROWSER_CONVERSION_ORDER: CandidateOrder = (CUSTOMER, COUPON, TRACKING_ID)
BROWSER_CUSTOMER_ORDER: CandidateOrder = BROWSER_CONVERSION_ORDER[1:]

# The API's `tracking_source` of a parameter, where it is not the parameter's name.
TRACKING_SOURCE_NAMES = {
    CLICK_ID: "click",
    ASSET_AND_SOURCE: "asset_source",
    STAFF: "manual",
}

UNKNOWN_PARAMETER_ERRORS = {
    COUPON: UnknownCoupon,
    REFERRAL_CODE: UnknownReferralCode,
    CLICK_ID: InvalidClickId,
    ASSET_AND_SOURCE: InvalidAssetOrSource,
    TRACKING_ID: InvalidTrackingId,
}


@dataclass(frozen=True)
class TrackingParameters:
    """The tracking parameters of a request; None: not sent, "": sent but empty."""

    customer_id: str | None = None
    coupon: str | None = None
    referral_code: str | None = None
    click_id: str | None = None
    asset_id: str | None = None
    source_id: str | None = None
    tracking_id: str | None = None
    program_group: str | None = None


class EnrollmentStatus(StrEnum):
    """An affiliate's status in a program. The values are stored in records."""

    APPROVED = "approved"
    PENDING = "pending"
    DISAPPROVED = "disapproved"
    NOT_ENROLLED = "not_enrolled"
    DELETED = "deleted"


class RejectionReason(StrEnum):
    """Why a candidate does not win, or why there is no winner. Stored in records."""

    NO_PARAMETER = "no_parameter"
    UNKNOWN_CUSTOMER = "unknown_customer"
    BLANK = "blank"
    UNKNOWN = "unknown"
    AFFILIATE_DELETED = "affiliate_deleted"
    NOT_APPROVED = "not_approved"
    PROGRAM_ARCHIVED = "program_archived"
    COOKIE_EXPIRED = "cookie_expired"
    LOWER_PRECEDENCE = "lower_precedence"


@dataclass(frozen=True)
class Candidate:
    """What one tracking parameter refers to, as of the time of the attribution."""

    parameter: str
    value: str
    affiliate: str | None = None  # or a prospect's id; None: unknown
    program: str | None = None
    enrollment_status: EnrollmentStatus | None = None
    is_program_archived: bool = False
    clicked_at: datetime | None = None  # set where the cookie time applies
    cookie_time_days: int | None = None
    blank_parameter: str | None = None  # the parameter that was sent without a value
    is_claim: bool = False  # an unconfirmed customer, or the claim to be confirmed

    @property
    def is_known(self) -> bool:
        return self.affiliate is not None


@dataclass(frozen=True)
class RejectedCandidate:
    """A candidate that did not win, and why; full hours by which a cookie expired."""

    parameter: str
    value: str
    affiliate: str | None
    reason: RejectionReason
    expired_by_hours: int | None = None


@dataclass(frozen=True)
class AttributionResult:
    """The winner, the reason why it is not eligible, and the other candidates."""

    winner: Candidate | None
    rejection_reason: RejectionReason | None
    rejected_candidates: tuple[RejectedCandidate, ...] = ()
    expired_by: timedelta | None = None

    def ensure_parameter_sent(self) -> None:
        if self.rejection_reason is RejectionReason.NO_PARAMETER:
            raise MissingTrackingParameter
        if self.rejection_reason is RejectionReason.BLANK and self.winner:
            raise BlankTrackingParameter(name=self.winner.blank_parameter)

    def ensure_affiliate_eligible(self, *, customer_id: str = "") -> None:
        """Raise if no affiliate may earn; the cookie age is checked separately.

        `customer_id` is repeated in the error message. The result does not contain it,
        because results are stored and a deleted customer's id must not be.
        """
        self.ensure_parameter_sent()
        if self.rejection_reason is RejectionReason.UNKNOWN_CUSTOMER:
            raise UnknownCustomer(customer_id=customer_id)
        if self.rejection_reason is RejectionReason.UNKNOWN and self.winner:
            raise UNKNOWN_PARAMETER_ERRORS[self.winner.parameter]
        if self.rejection_reason is RejectionReason.AFFILIATE_DELETED:
            raise AffiliateDeleted
        if self.rejection_reason is RejectionReason.NOT_APPROVED and self.winner:
            raise AffiliateNotApproved(
                affiliate=self.winner.affiliate,
                program=self.winner.program,
                parameter=self.winner.parameter,
            )
        if self.rejection_reason is RejectionReason.PROGRAM_ARCHIVED:
            raise ProgramArchived(affiliate=self._get_affiliate())

    def ensure_cookie_valid(self) -> None:
        """Raise if the winning click is older than the program's cookie time."""
        if self.rejection_reason is RejectionReason.COOKIE_EXPIRED:
            raise CookieExpired(affiliate=self._get_affiliate())

    def _get_affiliate(self) -> str | None:
        return self.winner.affiliate if self.winner else None


def select_winner(
    candidates: Sequence[Candidate],
    *,
    order: CandidateOrder,
    at: datetime,
    ignore_cookie_age: bool,
    trust: Trust = Trust.FACT,
) -> AttributionResult:
    """Select the first candidate in `order`, eligible or not. Never raises.

    Claims come after all others. A call that is a claim itself may rely on them if its
    first candidate is not eligible; a fact may not.
    """
    by_parameter = {candidate.parameter: candidate for candidate in candidates}
    ranked = [by_parameter[name] for name in order if name in by_parameter]
    # An unknown customer cannot win: the conversion creates it.
    contenders = [
        candidate for candidate in ranked if candidate.parameter != CUSTOMER or candidate.is_known
    ]
    if not contenders:
        return AttributionResult(
            winner=None,
            rejection_reason=RejectionReason.UNKNOWN_CUSTOMER
            if CUSTOMER in by_parameter
            else RejectionReason.NO_PARAMETER,
        )
    contenders.sort(key=lambda candidate: candidate.is_claim)
    winner = contenders[0]
    reason = find_rejection_reason(winner, at, ignore_cookie_age=ignore_cookie_age)
    if reason and trust is Trust.CLAIM and contenders[-1].is_claim:
        winner = contenders[-1]
        reason = find_rejection_reason(winner, at, ignore_cookie_age=ignore_cookie_age)
    others = [candidate for candidate in contenders if candidate is not winner]
    return AttributionResult(
        winner=winner,
        rejection_reason=reason,
        rejected_candidates=tuple(create_rejected_candidate(other, at) for other in others),
        expired_by=find_expired_by(winner, at),
    )


def find_rejection_reason(
    candidate: Candidate, at: datetime, *, ignore_cookie_age: bool
) -> RejectionReason | None:
    """The first reason why a candidate may not earn."""
    if candidate.blank_parameter:
        return RejectionReason.BLANK
    if not candidate.is_known:
        return RejectionReason.UNKNOWN
    if candidate.enrollment_status is EnrollmentStatus.DELETED:
        return RejectionReason.AFFILIATE_DELETED
    if candidate.enrollment_status is not EnrollmentStatus.APPROVED:
        return RejectionReason.NOT_APPROVED
    if candidate.is_program_archived:
        return RejectionReason.PROGRAM_ARCHIVED
    if not ignore_cookie_age and find_expired_by(candidate, at):
        return RejectionReason.COOKIE_EXPIRED
    return None


def find_expired_by(candidate: Candidate, at: datetime) -> timedelta | None:
    """By how much a click exceeds the cookie time; None: it does not."""
    if candidate.clicked_at is None or candidate.cookie_time_days is None:
        return None
    expired_by = at - candidate.clicked_at - timedelta(days=candidate.cookie_time_days)
    return expired_by if expired_by > timedelta(0) else None


def create_rejected_candidate(candidate: Candidate, at: datetime) -> RejectedCandidate:
    """Reject a candidate for its own reason, else because the winner comes first."""
    reason = find_rejection_reason(candidate, at, ignore_cookie_age=False)
    expired_by = find_expired_by(candidate, at)
    if expired_by and reason is RejectionReason.COOKIE_EXPIRED:
        expired_by_hours = expired_by // timedelta(hours=1)
    else:
        expired_by_hours = None
    return RejectedCandidate(
        candidate.parameter,
        candidate.value,
        candidate.affiliate,
        reason or RejectionReason.LOWER_PRECEDENCE,
        expired_by_hours,
    )


def serialize_inputs(
    candidates: Sequence[Candidate],
    *,
    order: CandidateOrder,
    at: datetime,
    ignore_cookie_age: bool,
    trust: Trust,
) -> dict[str, Any]:
    """The arguments of `select_winner` as JSON values."""
    return {
        "trust": str(trust),
        "order": list(order),
        "at": at.isoformat(),
        "ignore_cookie_age": ignore_cookie_age,
        "candidates": [
            vars(candidate)
            | {"clicked_at": candidate.clicked_at.isoformat() if candidate.clicked_at else None}
            for candidate in candidates
        ],
    }


def replay_attribution(inputs: dict[str, Any]) -> AttributionResult:
    """Select the winner again from stored inputs."""
    return select_winner(
        [_deserialize_candidate(stored) for stored in inputs["candidates"]],
        order=tuple(inputs["order"]),
        at=datetime.fromisoformat(inputs["at"]),
        ignore_cookie_age=inputs["ignore_cookie_age"],
        trust=Trust(inputs.get("trust", Trust.FACT)),
    )


def serialize_outcome(result: AttributionResult) -> dict[str, Any]:
    """The result of `select_winner` as JSON values."""
    winner = result.winner
    return {
        "parameter": winner.parameter if winner else None,
        "affiliate": winner.affiliate if winner else None,
        "program": winner.program if winner else None,
        "rejection_reason": str(result.rejection_reason) if result.rejection_reason else None,
        "expired_by": str(result.expired_by) if result.expired_by else None,
        "rejected_candidates": [vars(candidate) for candidate in result.rejected_candidates],
    }


def _deserialize_candidate(stored: dict[str, Any]) -> Candidate:
    clicked_at, status = stored["clicked_at"], stored["enrollment_status"]
    return Candidate(
        **stored
        | {
            "clicked_at": datetime.fromisoformat(clicked_at) if clicked_at else None,
            "enrollment_status": EnrollmentStatus(status) if status else None,
        }
    )
