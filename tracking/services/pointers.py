"""Clue → Pointer: what a clue points at, as it stands now. One finder for each clue."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Subquery

from accounts.ids import numbered
from accounts.models.accounts import Account
from tracking.attribution import (
    ASSET_ID,
    CLICK_ID,
    COUPON,
    CUSTOMER,
    REFERRAL_CODE,
    TRACKING_ID,
    Clues,
    Pointer,
    Standing,
)
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click, ClickQuerySet
from tracking.models.customers import Customer
from tracking.models.enrolments import Enrolment
from tracking.models.programs import Program
from tracking.models.prospects import Prospect
from tracking.services.looking import LookAgain

NOT_KNOWN = "a new customer"
STANDINGS = {
    True: Standing.APPROVED,
    False: Standing.DISAPPROVED,
    None: Standing.WAITING,
}


@dataclass(frozen=True)
class Found:
    """A pointer, and the rows it was read from."""

    pointer: Pointer
    program: Program | None = None
    affiliate: Affiliate | None = None
    enrolment: Enrolment | None = None
    click: Click | None = None
    customer: Customer | None = None
    prospect: Prospect | None = None  # nobody's affiliate yet


def find_all(account: Account, clues: Clues) -> list[Found]:
    """Every clue that was sent, looked up; the losers too."""
    sent = {
        CUSTOMER: clues.customer_id,
        COUPON: clues.coupon,
        REFERRAL_CODE: clues.referral_code,
        CLICK_ID: clues.click_id,
        TRACKING_ID: clues.tracking_id,
    }
    found = [
        FINDERS[clue](account, value, clues.program_group or None)
        if value.strip()
        else Found(Pointer(clue, value, blank=clue))
        for clue, value in sent.items()
        if value is not None
    ]
    if clues.asset_id is not None and clues.source_id is not None:
        found.append(find_pair(account, clues))
    return found


def find_customer(account: Account, value: str, group: str | None) -> Found:
    """A known customer, in whatever program; kept by our id, not by the caller's."""
    standing = account.enrolments.filter(
        program=OuterRef("program"), affiliate=OuterRef("affiliate")
    )
    customer: Any = (
        account.customers.present()
        .select_related("program", "affiliate", "click")
        .annotate(
            enrolled=Subquery(standing.values("id")[:1]),
            approved=Subquery(standing.values("approved")[:1]),
        )
        .filter(customer_id=value)
        .first()
    )
    if customer is None:
        return Found(Pointer(CUSTOMER, NOT_KNOWN))
    program, affiliate = customer.program, customer.affiliate
    standing_now = (
        Standing.STRANGER if customer.enrolled is None else STANDINGS[customer.approved]
    )
    return Found(
        _pointer(CUSTOMER, customer.public_id, program, affiliate, standing_now),
        program=program,
        affiliate=affiliate,
        customer=customer,
    )


def find_coupon(account: Account, value: str, group: str | None) -> Found:
    """The enrolment that owns a coupon."""
    return _through_enrolment(
        account, COUPON, value, group, coupons__code=value, coupons__account=account
    )


def find_referral_code(account: Account, value: str, group: str | None) -> Found:
    """The enrolment that owns a referral code, else the prospect."""
    found = _through_enrolment(
        account,
        REFERRAL_CODE,
        value,
        group,
        referral_codes__code=value,
        referral_codes__account=account,
    )
    if found.program:
        return found
    return _through_prospect(
        account,
        REFERRAL_CODE,
        value,
        group,
        referral_codes__code=value,
        referral_codes__account=account,
    )


def find_click(account: Account, value: str, group: str | None) -> Found:
    """A click; its age counts against the program's present cookie time."""
    return _through_click(CLICK_ID, value, account.clicks.with_id(value), group)


def find_visitor(account: Account, value: str, group: str | None) -> Found:
    """The click that a tracking id of the browser script stands for."""
    visitors = account.visitors.filter(tracking_id=value)
    clicks = account.clicks.filter(pk__in=visitors.values("click"))
    return _through_click(TRACKING_ID, value, clicks, group)


def find_pair(account: Account, clues: Clues) -> Found:
    """The program of an asset and the affiliate of a source."""
    asset, source = clues.asset_id or "", clues.source_id or ""
    value = f"{asset} {source}"
    for name, half in (("asset_id", asset), ("source_id", source)):
        if not half.strip():
            return Found(Pointer(ASSET_ID, value, blank=name))
    shown, origin = numbered(asset), numbered(source)
    if shown is None or origin is None:
        return Found(Pointer(ASSET_ID, value))
    found = _through_enrolment(
        account,
        ASSET_ID,
        value,
        clues.program_group or None,
        program__assets__pk=shown[0],
        program__assets__hex=shown[1],
        affiliate__sources__pk=origin[0],
        affiliate__sources__hex=origin[1],
    )
    if found.program:
        return found
    found = _through_prospect(
        account,
        ASSET_ID,
        value,
        clues.program_group or None,
        program__assets__pk=shown[0],
        program__assets__hex=shown[1],
        sources__pk=origin[0],
        sources__hex=origin[1],
    )
    return found if found.program else _strangers(account, clues, shown, origin)


Finder = Callable[[Account, str, str | None], Found]

FINDERS: dict[str, Finder] = {
    CUSTOMER: find_customer,
    COUPON: find_coupon,
    REFERRAL_CODE: find_referral_code,
    CLICK_ID: find_click,
    TRACKING_ID: find_visitor,
}


def _through_click(
    clue: str, value: str, clicks: ClickQuerySet, group: str | None
) -> Found:
    """What a click points at; its age counts."""
    click = (
        clicks.select_related("enrolment", "program", "affiliate", "prospect")
        .filter(**_in_group(group))
        .first()
    )
    if click is None:
        return Found(Pointer(clue, value))
    if click.enrolment is None or click.affiliate is None:
        return _prospects(clue, value, click.prospect, click.program, click=click)
    return Found(
        _pointer(
            clue,
            value,
            click.program,
            click.affiliate,
            STANDINGS[click.enrolment.approved],
            click=click,
        ),
        program=click.program,
        affiliate=click.affiliate,
        enrolment=click.enrolment,
        click=click,
    )


def _strangers(
    account: Account, clues: Clues, shown: tuple[int, str], origin: tuple[int, str]
) -> Found:
    """Both halves may be known though the affiliate is not in the program."""
    value = f"{clues.asset_id} {clues.source_id}"
    asset = (
        account.assets.select_related("program")
        .filter(pk=shown[0], hex=shown[1], **_in_group(clues.program_group or None))
        .first()
    )
    source = (
        account.sources.select_related("affiliate")
        .filter(pk=origin[0], hex=origin[1])
        .first()
    )
    if asset is None or source is None or source.affiliate is None:
        return Found(Pointer(ASSET_ID, value))
    return Found(
        _pointer(ASSET_ID, value, asset.program, source.affiliate, Standing.STRANGER),
        program=asset.program,
        affiliate=source.affiliate,
    )


def _through_enrolment(
    account: Account, clue: str, value: str, group: str | None, **named: object
) -> Found:
    enrolment = (
        account.enrolments.select_related("program", "affiliate")
        .filter(**named, **_in_group(group))
        .first()
    )
    if enrolment is None:
        return Found(Pointer(clue, value))
    return Found(
        _pointer(
            clue,
            value,
            enrolment.program,
            enrolment.affiliate,
            STANDINGS[enrolment.approved],
        ),
        program=enrolment.program,
        affiliate=enrolment.affiliate,
        enrolment=enrolment,
    )


def _through_prospect(
    account: Account, clue: str, value: str, group: str | None, **named: object
) -> Found:
    prospect = (
        account.prospects.present()
        .select_related("program")
        .filter(**named, **_in_group(group))
        .first()
    )
    if prospect is None:
        return Found(Pointer(clue, value))
    if prospect.promoted_at is not None:
        raise LookAgain  # it became an affiliate since the enrolments were asked
    return _prospects(clue, value, prospect, prospect.program)


def _prospects(
    clue: str,
    value: str,
    prospect: Prospect | None,
    program: Program,
    *,
    click: Click | None = None,
) -> Found:
    """What points at a prospect: it earns as soon as it has brought somebody."""
    if prospect is None:
        raise LookupError("a click without an affiliate has a prospect")
    return Found(
        Pointer(
            clue=clue,
            value=value,
            affiliate=prospect.public_id,
            program=program.slug,
            standing=Standing.REMOVED if prospect.removed_at else Standing.APPROVED,
            archived=program.archived_at is not None,
            clicked_at=click.created_at if click else None,
            cookie_days=program.cookie_time if click else None,
        ),
        program=program,
        click=click,
        prospect=prospect,
    )


def _in_group(group: str | None) -> dict[str, str]:
    """A program of another group counts as unknown."""
    return {} if group is None else {"program__group_label": group}


def _pointer(
    clue: str,
    value: str,
    program: Program,
    affiliate: Affiliate,
    standing: Standing,
    *,
    click: Click | None = None,
) -> Pointer:
    removed = affiliate.removed_at is not None
    return Pointer(
        clue=clue,
        value=value,
        affiliate=affiliate.slug,
        program=program.slug,
        standing=Standing.REMOVED if removed else standing,
        archived=program.archived_at is not None,
        clicked_at=click.created_at if click else None,
        cookie_days=program.cookie_time if click else None,
    )
