"""Enrollments: add affiliates to programs, set approval, coupon and referral code.

Affiliates who were approved, or refused, get mail.
"""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Lower
from django.utils.translation import gettext as _

from accounts.errors import InvalidInput, raise_errors
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event, record_change
from accounts.services.notifications import can_send_mail
from tracking.errors import (
    AffiliateNotFound,
    AlreadyEnrolled,
    CodeAlreadyChosen,
    DuplicateAlias,
    DuplicateCoupon,
    DuplicateReferralCode,
    UnknownReference,
)
from tracking.models.affiliates import Affiliate
from tracking.models.enrollments import Enrollment, ReferralCodeAlias
from tracking.models.late_changes import record_late_change
from tracking.models.portal import Notice
from tracking.models.programs import Program
from tracking.models.sources import Coupon
from tracking.referral_links import build_referral_link
from tracking.services.affiliates import get_affiliate
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.mails import queue_mail, use_language_of
from tracking.services.portal_profiles import wants_notice
from tracking.services.portal_settings import (
    build_portal_url,
    get_contact,
    get_portal_settings,
)
from tracking.services.programs import ensure_not_archived, get_program
from tracking.services.referral_codes import (
    create_referral_code,
    is_code_like_another,
    is_code_taken,
    record_used_codes,
)
from tracking.services.search import update_suffixes

DECISION_MAIL = "enrollment"


def describe_links(program: Program, enrollment: Enrollment) -> str:
    """The referral link, and the page of the portal that has all links."""
    account = enrollment.account
    url = build_portal_url(account, "links/")
    code = account.referral_codes.filter(enrollment=enrollment).first()
    if code is None or not program.landing_page:
        return url
    link = build_referral_link(program.landing_page, code.code)
    return f"{link}\n\n" + _("All your links are at {url}").format(url=url)


def queue_decision_mail(
    affiliate: Affiliate, program: Program, enrollment: Enrollment, *, at: datetime
) -> None:
    """Mail the affiliate what was decided, if the portal is on and mail can be sent.

    Who wants no such mail gets none. Call it in the transaction of the decision.
    """
    account = affiliate.account
    is_decided = enrollment.approved is not None
    if not (is_decided and affiliate.email and can_send_mail()):
        return
    if not wants_notice(affiliate, Notice.APPROVED):
        return
    if not get_portal_settings(account).is_on:
        return
    names = {"program": program.title, "account": account.name}
    with use_language_of(affiliate):
        hello = _("Hello {name},").format(name=affiliate.firstname)
        if enrollment.approved:
            subject = _("You take part in {program}")
            text = _("{account} has approved you for the program {program}. Your link is here:")
            end = describe_links(program, enrollment)
        else:
            subject = _("About your application for {program}")
            text = _("You do not take part in the program {program}.")
            end = _("If you have questions, write to {contact}.").format(
                contact=get_contact(account)
            )
        body = f"{hello}\n\n{text.format(**names)}\n{end}\n"
        queue_mail(
            affiliate,
            kind=DECISION_MAIL,
            about=secrets.token_urlsafe(),
            subject=subject.format(**names),
            text=body,
            at=at,
        )


APPROVAL_EVENTS = {
    True: "affiliate.approved",
    False: "affiliate.disapproved",
    None: "enrollment.reset_to_pending",
}


@dataclass(frozen=True)
class EnrollmentData:
    """A new enrollment; the affiliate is named by id, or else by e-mail address."""

    affiliate_id: str | None = None
    email: str | None = None
    approved: bool | None = None  # None: pending
    coupon: str | None = None
    wanted_code: str = ""  # for the links; empty: a random one


def create_enrollment(
    account: Account, *, program: Program, data: EnrollmentData, at: datetime
) -> Enrollment:
    """Add an affiliate to a program, with a new referral code.

    Raises `UnknownReference`, `AlreadyEnrolled`, `DuplicateCoupon` and
    `ArchivedProgramReadOnly`.
    """
    affiliate = get_referenced_affiliate(account, data)
    if program.archived_at is not None:
        ensure_enrollment_available(account, program, affiliate, data.coupon)
    ensure_not_archived(program)
    try:
        with transaction.atomic():
            # The lock keeps a concurrent erasure from leaving the coupon behind.
            get_affiliate(account, affiliate.slug, lock=True)
            enrollment = account.enrollments.create(
                program=program,
                affiliate=affiliate,
                approved=data.approved,
                applied_at=at,
            )
            create_referral_code(account, enrollment=enrollment, wanted=data.wanted_code)
            if data.coupon is not None:
                account.coupons.create(enrollment=enrollment, code=data.coupon)
            update_suffixes(account, affiliate_id=affiliate.pk)
            record_change(
                account,
                "affiliate.added_to_program",
                affiliate,
                at=at,
                payload_row=enrollment,
                program=program.slug,
                approved=data.approved,
            )
    except IntegrityError:
        ensure_enrollment_available(account, program, affiliate, data.coupon)
        raise
    return enrollment


def set_approval(
    account: Account,
    *,
    program: Program,
    affiliate_id: str,
    approved: bool,
    at: datetime,
) -> Enrollment:
    """Approve or disapprove an affiliate in a program; its commissions stay.

    Raises `AffiliateNotFound` and `ArchivedProgramReadOnly`.
    """
    with transaction.atomic():
        enrollment = get_enrollment(account, program, affiliate_id, lock=True)
        ensure_not_archived(program)
        _update_approval(account, program, enrollment, approved=approved, at=at)
    return enrollment


def update_enrollment(
    account: Account,
    *,
    program: Program,
    affiliate_id: str,
    changes: Mapping[str, Any],
    at: datetime,
) -> Enrollment:
    """Set the values in `changes`: `coupon` (None removes it), `referral_code`,
    `aliases` (all further codes), `approved`.

    A replaced code or coupon stops working. Raises `AffiliateNotFound`,
    `ArchivedProgramReadOnly`, `DuplicateCoupon` and `DuplicateReferralCode`.
    """
    coupon, code = changes.get("coupon"), changes.get("referral_code")
    try:
        with transaction.atomic():
            if code is not None or changes.get("aliases") is not None:
                account.lock_row()  # two tables have codes: one writer at a time
            enrollment = get_enrollment(account, program, affiliate_id, lock=True)
            enrollment.program = program
            if program.archived_at is not None:
                ensure_codes_available(account, enrollment, coupon=coupon, code=code)
            ensure_not_archived(program)
            _set_codes(account, enrollment, changes)
            if "approved" in changes:
                _update_approval(account, program, enrollment, approved=changes["approved"], at=at)
            fields = sorted({"aliases", "coupon", "referral_code"} & set(changes))
            if fields:
                update_suffixes(account, affiliate_id=enrollment.affiliate_id)
                log_event(account, "enrollment.updated", enrollment, at=at, fields=fields)
    except IntegrityError:
        enrollment = get_enrollment(account, program, affiliate_id)
        ensure_codes_available(account, enrollment, coupon=coupon, code=code)
        raise
    return enrollment


def approve_promoted_affiliate(account: Account, enrollment: Enrollment, *, at: datetime) -> None:
    """Approve an affiliate that a claim promoted from a prospect and left pending.

    Raises `ConcurrentUpdate` if the approval was decided concurrently.
    """
    if not enrollment.update_row(expected={"approved": None}, approved=True):
        raise ConcurrentUpdate
    _record_approval(account, enrollment.program, enrollment, previous=None, at=at)


def ensure_enrollment_available(
    account: Account, program: Program, affiliate: Affiliate, coupon: str | None
) -> None:
    """Raise `AlreadyEnrolled` or `DuplicateCoupon`, or both as an `ErrorList`."""
    errors: list[InvalidInput] = []
    if account.enrollments.filter(program=program, affiliate=affiliate).exists():
        errors.append(AlreadyEnrolled())
    if coupon is not None and account.coupons.filter(code=coupon).exists():
        errors.append(DuplicateCoupon())
    raise_errors(errors)


def ensure_codes_available(
    account: Account,
    enrollment: Enrollment,
    *,
    coupon: str | None,
    code: str | None,
    aliases: Collection[str] | None = None,
) -> None:
    """Raise `DuplicateCoupon`, `DuplicateReferralCode` or `DuplicateAlias`, or several
    as an `ErrorList`, if another enrollment or prospect has the coupon or a code, or
    has used the code before."""
    errors: list[InvalidInput] = []
    coupons = account.coupons.exclude(enrollment=enrollment)
    if coupon is not None and coupons.filter(code=coupon).exists():
        errors.append(DuplicateCoupon())
    if code is not None and is_code_taken(account, code, besides=enrollment):
        errors.append(DuplicateReferralCode())
    taken = [each for each in aliases or () if is_code_taken(account, each, besides=enrollment)]
    if taken:
        errors.append(DuplicateAlias(code=taken[0]))
    raise_errors(errors)


def find_similar_coupon(
    account: Account, code: str, *, enrollment: Enrollment | None
) -> Coupon | None:
    """Find a coupon of another enrollment that differs from a code only in case.

    The API takes both; with both, a page that sends a third spelling finds neither.
    """
    coupons = account.coupons.exclude(enrollment=enrollment).exclude(code=code)
    similar = coupons.alias(lowered=Lower("code")).filter(lowered=code.lower())
    return similar.first()


def replace_code(account: Account, enrollment: Enrollment, code: str) -> None:
    """Give an enrollment another referral code; the present one stops working."""
    present = account.referral_codes.filter(enrollment=enrollment).exclude(code=code)
    record_used_codes(enrollment, present.values_list("code", flat=True))
    present.update(code=code)


def choose_code(affiliate: Affiliate, *, program_slug: str, code: str, at: datetime) -> None:
    """Let an affiliate choose the code of its links, once; earlier links go on working.

    Raises `AffiliateNotFound` if it does not take part, `CodeAlreadyChosen`, and
    `DuplicateReferralCode`, also if a code of others differs in case only.
    """
    account = affiliate.account
    program = get_program(account, program_slug)
    with transaction.atomic():
        account.lock_row()  # two tables have codes: one writer at a time
        enrollment = get_enrollment(account, program, affiliate.slug, lock=True)
        enrollment.program = program
        if enrollment.code_chosen_at is not None:
            raise CodeAlreadyChosen
        if is_code_like_another(account, code, enrollment=enrollment):
            raise DuplicateReferralCode
        ensure_not_archived(program)
        own = account.referral_codes.filter(enrollment=enrollment)
        present = list(own.exclude(code=code).values_list("code", flat=True))
        account.referral_code_aliases.filter(code=code).delete()  # its own
        own.update(code=code)
        account.referral_code_aliases.bulk_create(
            ReferralCodeAlias(account=account, enrollment=enrollment, code=each) for each in present
        )
        enrollment.update_row(code_chosen_at=at)
        update_suffixes(account, affiliate_id=affiliate.pk)
        log_event(account, "enrollment.code_chosen", enrollment, at=at)


def set_aliases(account: Account, enrollment: Enrollment, codes: Collection[str]) -> None:
    """Let an enrollment have these further codes, and no others."""
    rows = account.referral_code_aliases.filter(enrollment=enrollment)
    removed = rows.exclude(code__in=codes)
    record_used_codes(enrollment, removed.values_list("code", flat=True))
    removed.delete()
    known = set(rows.values_list("code", flat=True))
    account.referral_code_aliases.bulk_create(
        ReferralCodeAlias(account=account, enrollment=enrollment, code=code)
        for code in dict.fromkeys(codes)
        if code not in known
    )


def get_enrollment(
    account: Account, program: Program, affiliate_id: str, *, lock: bool = False
) -> Enrollment:
    """Get the enrollment of an affiliate; raise `AffiliateNotFound`."""
    return get_or_raise(
        account.enrollments.not_deleted().select_related("affiliate"),
        AffiliateNotFound,
        lock=lock,
        program=program,
        affiliate__slug=affiliate_id,
    )


def _update_approval(
    account: Account,
    program: Program,
    enrollment: Enrollment,
    *,
    approved: bool | None,
    at: datetime,
) -> None:
    previous = enrollment.approved
    if previous is approved:
        return
    enrollment.update_row(approved=approved)
    _record_approval(account, program, enrollment, previous=previous, at=at)


def _record_approval(
    account: Account,
    program: Program,
    enrollment: Enrollment,
    *,
    previous: bool | None,
    at: datetime,
) -> None:
    if enrollment.approved:  # its earlier sales can reach goals now
        sales = account.conversions.not_deleted().filter(
            program=program, affiliate=enrollment.affiliate_id
        )
        days = sales.datetimes("created_at", "day", tzinfo=UTC)
        record_late_change(account, days, at=at)
    record_change(
        account,
        APPROVAL_EVENTS[enrollment.approved],
        enrollment.affiliate,
        at=at,
        payload_row=enrollment,
        program=program.slug,
        previous_approved=previous,
    )
    enrollment.affiliate.account = account
    queue_decision_mail(enrollment.affiliate, program, enrollment, at=at)


def _set_codes(account: Account, enrollment: Enrollment, changes: Mapping[str, Any]) -> None:
    """Set coupon, referral code and aliases, those of them in `changes`."""
    code, aliases = changes.get("referral_code"), changes.get("aliases")
    if "coupon" in changes:
        _set_coupon(account, enrollment, changes["coupon"])
    if code is not None or aliases is not None:
        ensure_codes_available(account, enrollment, coupon=None, code=code, aliases=aliases)
    if code is not None:
        replace_code(account, enrollment, code)
    if aliases is not None:
        set_aliases(account, enrollment, aliases)


def _set_coupon(account: Account, enrollment: Enrollment, code: str | None) -> None:
    coupon = account.coupons.filter(enrollment=enrollment)
    if code is None:
        coupon.delete()
    elif not coupon.update(code=code):
        account.coupons.create(enrollment=enrollment, code=code)


def get_referenced_affiliate(account: Account, data: EnrollmentData) -> Affiliate:
    """Get the affiliate by id or else by e-mail address; raise `UnknownReference`."""
    rows = account.affiliates.not_deleted()
    if data.affiliate_id is not None:
        rows = rows.filter(slug=data.affiliate_id)
    else:
        rows = rows.with_email(data.email or "")
    return get_or_raise(rows, UnknownReference(what="affiliate", path="affiliate.id"))
