"""Enrolments: an affiliate joins a program, and is approved or not."""

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction

from accounts.ids import random_text
from accounts.models.accounts import Account
from accounts.services.events import note
from tracking.errors import (
    AffiliateNotFound,
    AlreadyEnrolled,
    CouponTaken,
    UnknownAffiliate,
)
from tracking.models.affiliates import Affiliate
from tracking.models.enrolments import Enrolment, ReferralCode
from tracking.models.programs import Program
from tracking.services.programs import refuse_archived

CODE_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
CODE_LENGTH = 7


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
    affiliate = _affiliate_of(account, entry)
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
            _give_code(account, enrolment)
            if entry.coupon is not None:
                account.coupons.create(enrolment=enrolment, code=entry.coupon)
            note(
                account,
                "affiliate.added_to_program",
                affiliate,
                at=at,
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
        enrolment = (
            account.enrolments.present()
            .select_related("affiliate")
            .select_for_update(no_key=True, of=("self",))
            .filter(program=program, affiliate__slug=affiliate_id)
            .first()
        )
        if enrolment is None:
            raise AffiliateNotFound
        refuse_archived(program)
        was = enrolment.approved
        if was is not approved:
            enrolment.change(approved=approved)
            note(
                account,
                "affiliate.approved" if approved else "affiliate.disapproved",
                enrolment.affiliate,
                at=at,
                program=program.slug,
                was=was,
            )
    return enrolment


def refuse_taken(
    account: Account, program: Program, affiliate: Affiliate, coupon: str | None
) -> None:
    """Name what stands in the way of an enrolment, if anything does."""
    if account.enrolments.filter(program=program, affiliate=affiliate).exists():
        raise AlreadyEnrolled
    if coupon is not None and account.coupons.filter(code=coupon).exists():
        raise CouponTaken


def _affiliate_of(account: Account, entry: Entry) -> Affiliate:
    present = account.affiliates.present()
    if entry.affiliate_id is not None:
        affiliate = present.filter(slug=entry.affiliate_id).first()
    else:
        affiliate = present.with_email(entry.email or "").first()
    if affiliate is None:
        raise UnknownAffiliate
    return affiliate


def _give_code(account: Account, enrolment: Enrolment) -> None:
    while True:
        code = ReferralCode(
            account=account,
            code=random_text(CODE_LENGTH, CODE_LETTERS),
            enrolment=enrolment,
        )
        if account.referral_codes.insert_unless_taken(code, on=("account", "code")):
            return
