"""Who earned this: a pure function over what the clues pointed at.

`decide` reads no clock, no database and no setting. What it was given is kept beside
what it said, so that any decision can be told again, and proved.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from tracking.errors import (
    AffiliateDeleted,
    AffiliateNotApproved,
    BlankClue,
    CookieExpired,
    InvalidAssetOrSource,
    InvalidClickId,
    InvalidTrackingId,
    NoClue,
    ProgramArchived,
    UnknownCoupon,
    UnknownCustomer,
    UnknownReferralCode,
)

ENGINE = "1"

CUSTOMER = "customer"
COUPON = "coupon"
REFERRAL_CODE = "referral_code"
CLICK_ID = "click_id"
ASSET_ID = "asset_id"
TRACKING_ID = "tracking_id"

Order = tuple[str, ...]

# The spec's order; whoever brought a customer keeps the customer.
REST: Order = (CUSTOMER, COUPON, REFERRAL_CODE, CLICK_ID, ASSET_ID, TRACKING_ID)
REGISTERING: Order = REST[1:]
# A postback is called by a click's id: the click comes before the code.
POSTBACK: Order = (CUSTOMER, COUPON, CLICK_ID, REFERRAL_CODE, ASSET_ID, TRACKING_ID)
REGISTERING_POSTBACK: Order = POSTBACK[1:]
# A page knows its customer, what was typed in, and the visitor's cookie.
BROWSER: Order = (CUSTOMER, COUPON, TRACKING_ID)
REGISTERING_BROWSER: Order = BROWSER[1:]

# What the API calls the clue that decided; the others as they are.
SOURCE_NAMES = {CLICK_ID: "click", ASSET_ID: "asset_source"}

UNKNOWN = {
    COUPON: UnknownCoupon,
    REFERRAL_CODE: UnknownReferralCode,
    CLICK_ID: InvalidClickId,
    ASSET_ID: InvalidAssetOrSource,
    TRACKING_ID: InvalidTrackingId,
}


@dataclass(frozen=True)
class Clues:
    """What a caller sent to say who earned; None: not sent, "": sent but empty."""

    customer_id: str | None = None
    coupon: str | None = None
    referral_code: str | None = None
    click_id: str | None = None
    asset_id: str | None = None
    source_id: str | None = None
    tracking_id: str | None = None
    program_group: str | None = None


class Standing(StrEnum):
    """How an affiliate stands in a program."""

    APPROVED = "approved"
    WAITING = "waiting"
    DISAPPROVED = "disapproved"
    STRANGER = "stranger"  # not in the program at all
    REMOVED = "removed"


class Fault(StrEnum):
    """Why a clue cannot decide, or nothing could."""

    NO_CLUE = "no clue was sent"
    UNKNOWN_CUSTOMER = "nothing but an unknown customer was sent"
    BLANK = "sent without a value"
    UNKNOWN = "points at nobody"
    REMOVED = "the affiliate is deleted"
    NOT_APPROVED = "not approved in the program"
    ARCHIVED = "the program is archived"
    EXPIRED = "the cookie expired"


@dataclass(frozen=True)
class Pointer:
    """What one clue points at, as it stood at that moment."""

    clue: str
    value: str
    affiliate: str | None = None  # or a prospect's id; None: it points at nobody
    program: str | None = None
    standing: Standing | None = None
    archived: bool = False
    clicked_at: datetime | None = None  # set where the cookie's age counts
    cookie_days: int | None = None
    blank: str | None = None  # the parameter that was sent without a value

    @property
    def known(self) -> bool:
        return self.affiliate is not None


@dataclass(frozen=True)
class Loser:
    """A clue that did not decide, and why not."""

    clue: str
    value: str
    affiliate: str | None
    reason: str


@dataclass(frozen=True)
class Verdict:
    """Who earns, by which clue, and why not by the others."""

    deciding: Pointer | None
    fault: Fault | None
    losers: tuple[Loser, ...] = ()
    late_by: timedelta | None = None

    def require_clue(self) -> None:
        """Refuse when no clue was sent, or the deciding one is blank."""
        if self.fault is Fault.NO_CLUE:
            raise NoClue
        if self.fault is Fault.BLANK and self.deciding:
            raise BlankClue(name=self.deciding.blank)

    def require_earner(self, *, customer_id: str = "") -> None:
        """Refuse when nobody may earn; the age of a click is asked for apart.

        A refusal repeats `customer_id`; a verdict does not hold it, because it is kept
        and the customer may want to be forgotten.
        """
        self.require_clue()
        if self.fault is Fault.UNKNOWN_CUSTOMER:
            raise UnknownCustomer(customer_id=customer_id)
        if self.fault is Fault.UNKNOWN and self.deciding:
            raise UNKNOWN[self.deciding.clue]
        if self.fault is Fault.REMOVED:
            raise AffiliateDeleted
        if self.fault is Fault.NOT_APPROVED:
            raise AffiliateNotApproved
        if self.fault is Fault.ARCHIVED:
            raise ProgramArchived

    def require_fresh_click(self) -> None:
        """Refuse when the deciding click is older than the program's cookie time."""
        if self.fault is Fault.EXPIRED:
            raise CookieExpired


def decide(
    pointers: Sequence[Pointer],
    *,
    order: Order,
    at: datetime,
    ignore_cookie_age: bool,
) -> Verdict:
    """Say who earns, by which clue, and why not by the others. Never raises."""
    by_clue = {pointer.clue: pointer for pointer in pointers}
    ranked = [by_clue[clue] for clue in order if clue in by_clue]
    # An unknown customer decides nothing: the sale will make one.
    deciders = [it for it in ranked if it.clue != CUSTOMER or it.known]
    if not deciders:
        unknown = by_clue.get(CUSTOMER)
        return Verdict(
            deciding=None,
            fault=Fault.UNKNOWN_CUSTOMER if unknown else Fault.NO_CLUE,
        )
    deciding, others = deciders[0], deciders[1:]
    late_by = lateness(deciding, at)
    fault = fault_of(deciding)
    if fault is None and late_by and not ignore_cookie_age:
        fault = Fault.EXPIRED
    return Verdict(
        deciding=deciding,
        fault=fault,
        losers=tuple(loser(other, deciding, at) for other in others),
        late_by=late_by,
    )


def fault_of(pointer: Pointer) -> Fault | None:
    """What keeps a clue from deciding, its age apart; in the contract's order."""
    if pointer.blank:
        return Fault.BLANK
    if not pointer.known:
        return Fault.UNKNOWN
    if pointer.standing is Standing.REMOVED:
        return Fault.REMOVED
    if pointer.standing is not Standing.APPROVED:
        return Fault.NOT_APPROVED
    if pointer.archived:
        return Fault.ARCHIVED
    return None


def lateness(pointer: Pointer, at: datetime) -> timedelta | None:
    """By how much a click is older than the cookie time; None: it is not."""
    if pointer.clicked_at is None or pointer.cookie_days is None:
        return None
    late_by = at - pointer.clicked_at - timedelta(days=pointer.cookie_days)
    return late_by if late_by > timedelta(0) else None


def loser(pointer: Pointer, deciding: Pointer, at: datetime) -> Loser:
    """A clue that came second, with its own fault where it has one."""
    fault, late_by = fault_of(pointer), lateness(pointer, at)
    if fault:
        reason = str(fault)
    elif late_by:
        hours = late_by // timedelta(hours=1)
        reason = f"expired by {hours // 24} d {hours % 24} h"
    else:
        reason = f"{deciding.clue} comes first"
    return Loser(pointer.clue, pointer.value, pointer.affiliate, reason)


def frozen_inputs(
    pointers: Sequence[Pointer], *, order: Order, at: datetime, ignore_cookie_age: bool
) -> dict[str, Any]:
    """What `decide` was given, as plain text and numbers."""
    return {
        "order": list(order),
        "at": at.isoformat(),
        "ignore_cookie_age": ignore_cookie_age,
        "pointers": [
            asdict(pointer)
            | {
                "clicked_at": pointer.clicked_at.isoformat()
                if pointer.clicked_at
                else None
            }
            for pointer in pointers
        ],
    }


def thawed(inputs: dict[str, Any]) -> Verdict:
    """Decide again from kept inputs."""
    return decide(
        [_thawed_pointer(kept) for kept in inputs["pointers"]],
        order=tuple(inputs["order"]),
        at=datetime.fromisoformat(inputs["at"]),
        ignore_cookie_age=inputs["ignore_cookie_age"],
    )


def frozen_outcome(verdict: Verdict) -> dict[str, Any]:
    """What `decide` said, as plain text."""
    deciding = verdict.deciding
    return {
        "clue": deciding.clue if deciding else None,
        "affiliate": deciding.affiliate if deciding else None,
        "program": deciding.program if deciding else None,
        "fault": str(verdict.fault) if verdict.fault else None,
        "late_by": str(verdict.late_by) if verdict.late_by else None,
        "losers": [asdict(it) for it in verdict.losers],
    }


def _thawed_pointer(kept: dict[str, Any]) -> Pointer:
    clicked_at, standing = kept["clicked_at"], kept["standing"]
    return Pointer(
        **kept
        | {
            "clicked_at": datetime.fromisoformat(clicked_at) if clicked_at else None,
            "standing": Standing(standing) if standing else None,
        }
    )
