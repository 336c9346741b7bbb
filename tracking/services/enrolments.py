"""Enrolments: an affiliate joins a program, and is approved or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from accounts.errors import Rejected, Several
from accounts.ids import random_text
from accounts.models.accounts import Account
from accounts.services.events import note
from tracking.errors import (
    AffiliateNotFound,
    AlreadyEnrolled,
    CouponTaken,
    ReferralCodeTaken,
    UnknownAffiliate,
)
from tracking.models.affiliates import Affiliate
from tracking.models.enrolments import Enrolment, ReferralCode
from tracking.models.programs import Program
from tracking.models.prospects import Prospect
from tracking.services.programs import refuse_archived

CODE_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
CODE_LENGTH = 7
APPROVAL_KINDS = {
    True: "affiliate.approved",
    False: "affiliate.disapproved",
    None: "enrolment.reopened",
}


@dataclass(frozen=True)
class Entry:
    """Who joins, how named; `approved`: yes, no, or None for not yet decided."""

    affiliate_id: str | None = None
    email: str | None = None
    approved: bool | None = None
    coupon: str | None = None


def enrol(
    account: Account, *, program: Program, entry: Entry, at: datetime
) -> Enrolment:
    """Put an affiliate into a program, with a referral code of its own."""
    affiliate = affiliate_meant(account, entry)
    if program.archived_at is not None:
        refuse_taken(account, program, affiliate, entry.coupon)
    refuse_archived(program)
    try:
        with transaction.atomic():
            enrolment = account.enrolments.create(
                program=program,
                affiliate=affiliate,
                approved=entry.approved,
                applied_at=at,
            )
            give_code(account, enrolment=enrolment)
            if entry.coupon is not None:
                account.coupons.create(enrolment=enrolment, code=entry.coupon)
            note(
                account,
                "affiliate.added_to_program",
                affiliate,
                at=at,
                telling=enrolment,
                program=program.slug,
                approved=entry.approved,
            )
    except IntegrityError:
        refuse_taken(account, program, affiliate, entry.coupon)
        raise
    return enrolment


def decide_on(
    account: Account,
    *,
    program: Program,
    affiliate_id: str,
    approved: bool,
    at: datetime,
) -> Enrolment:
    """Approve an affiliate in a program, or not; old commissions stay."""
    with transaction.atomic():
        enrolment = enrolment_named(account, program, affiliate_id, lock=True)
        refuse_archived(program)
        _set_approval(account, program, enrolment, approved=approved, at=at)
    return enrolment


def change_enrolment(
    account: Account,
    *,
    program: Program,
    affiliate_id: str,
    changes: Mapping[str, Any],
    at: datetime,
) -> Enrolment:
    """Set what is named: `coupon` (None removes it), `referral_code`, `approved`.

    The old code or coupon stops working.
    """
    coupon, code = changes.get("coupon"), changes.get("referral_code")
    try:
        with transaction.atomic():
            enrolment = enrolment_named(account, program, affiliate_id, lock=True)
            if program.archived_at is not None:
                refuse_taken_codes(account, enrolment, coupon=coupon, code=code)
            refuse_archived(program)
            if "coupon" in changes:
                _set_coupon(account, enrolment, coupon)
            if code is not None:
                account.referral_codes.filter(enrolment=enrolment).update(code=code)
            if "approved" in changes:
                _set_approval(
                    account, program, enrolment, approved=changes["approved"], at=at
                )
            renewed = sorted({"coupon", "referral_code"} & set(changes))
            if renewed:
                note(account, "enrolment.updated", enrolment, at=at, fields=renewed)
    except IntegrityError:
        own = enrolment_named(account, program, affiliate_id)
        refuse_taken_codes(account, own, coupon=coupon, code=code)
        raise
    return enrolment


def refuse_taken(
    account: Account, program: Program, affiliate: Affiliate, coupon: str | None
) -> None:
    """Name all that stands in the way of an enrolment."""
    taken: list[Rejected] = []
    if account.enrolments.filter(program=program, affiliate=affiliate).exists():
        taken.append(AlreadyEnrolled())
    if coupon is not None and account.coupons.filter(code=coupon).exists():
        taken.append(CouponTaken())
    _refuse(taken)


def refuse_taken_codes(
    account: Account, enrolment: Enrolment, *, coupon: str | None, code: str | None
) -> None:
    """Name each code that another enrolment has."""
    taken: list[Rejected] = []
    coupons = account.coupons.exclude(enrolment=enrolment)
    if coupon is not None and coupons.filter(code=coupon).exists():
        taken.append(CouponTaken())
    codes = account.referral_codes.exclude(enrolment=enrolment)
    if code is not None and codes.filter(code=code).exists():
        taken.append(ReferralCodeTaken())
    _refuse(taken)


def enrolment_named(
    account: Account, program: Program, affiliate_id: str, *, lock: bool = False
) -> Enrolment:
    """The place of a present affiliate in a program."""
    rows = account.enrolments.present().select_related("affiliate")
    if lock:
        rows = rows.select_for_update(no_key=True, of=("self",))
    found = rows.filter(program=program, affiliate__slug=affiliate_id).first()
    if found is None:
        raise AffiliateNotFound
    return found


def _set_approval(
    account: Account,
    program: Program,
    enrolment: Enrolment,
    *,
    approved: bool | None,
    at: datetime,
) -> None:
    was = enrolment.approved
    if was is approved:
        return
    enrolment.change(approved=approved)
    note(
        account,
        APPROVAL_KINDS[approved],
        enrolment.affiliate,
        at=at,
        telling=enrolment,
        program=program.slug,
        was=was,
    )


def _set_coupon(account: Account, enrolment: Enrolment, code: str | None) -> None:
    own = account.coupons.filter(enrolment=enrolment)
    if code is None:
        own.delete()
    elif not own.update(code=code):
        account.coupons.create(enrolment=enrolment, code=code)


def affiliate_meant(account: Account, entry: Entry) -> Affiliate:
    """Who joins: by id or, without one, by e-mail address."""
    present = account.affiliates.present()
    if entry.affiliate_id is not None:
        affiliate = present.filter(slug=entry.affiliate_id).first()
    else:
        affiliate = present.with_email(entry.email or "").first()
    if affiliate is None:
        raise UnknownAffiliate
    return affiliate


def _refuse(taken: list[Rejected]) -> None:
    if taken:
        raise Several(taken) if len(taken) > 1 else taken[0]


def give_code(
    account: Account,
    *,
    enrolment: Enrolment | None = None,
    prospect: Prospect | None = None,
) -> None:
    """A new referral code, drawn again until it is free in the account."""
    while True:
        code = ReferralCode(
            account=account,
            code=random_text(CODE_LENGTH, CODE_LETTERS),
            enrolment=enrolment,
            prospect=prospect,
        )
        if account.referral_codes.insert_unless_taken(code, on=("account", "code")):
            return
