"""Applications by the portal: of people who are no affiliates yet, and of affiliates.

An application of somebody else is confirmed by a link in a mail before the affiliate is
created, so nobody applies with the address of another person.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.email_addresses import fold_email
from accounts.ids import SLUG_PATTERN
from accounts.models.accounts import Account
from accounts.services.api_keys import calculate_digest
from accounts.services.changes import log_event
from tracking.errors import (
    AddressTaken,
    AlreadyApplied,
    AlreadyEnrolled,
    ApplicationExpired,
    DuplicateEmail,
    ProgramClosed,
    TooManyApplications,
)
from tracking.models.affiliates import Affiliate
from tracking.models.applications import PortalApplication, ProgramInvitation
from tracking.models.enrollments import Enrollment
from tracking.models.portal import LinkPurpose
from tracking.models.programs import Program, Visibility
from tracking.services.affiliates import (
    PersonData,
    create_affiliate,
    create_password,
    create_slug_base,
)
from tracking.services.enrollments import EnrollmentData, create_enrollment, queue_decision_mail
from tracking.services.hierarchy import set_group, set_parent
from tracking.services.mails import APPLICATION_MAIL, queue_mail_to
from tracking.services.portal_access import APPLICATION_LIFETIME, act_as
from tracking.services.portal_addresses import calculate_address_digest, record_opening
from tracking.services.portal_links import create_link, find_affiliate_by_email
from tracking.services.portal_settings import build_portal_url, get_portal_settings
from tracking.services.portal_terms import (
    accept_terms,
    check_version,
    find_unaccepted_terms,
    record_acceptance,
)
from tracking.services.program_invitations import get_invitation, use_invitation

# Anybody can ask for mail to anybody.
MAX_MAILS_PER_WINDOW = 3
MAIL_WINDOW = timedelta(minutes=15)
MAX_STORED_PER_HOUR = 300  # of an account
AN_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class ApplicationData:
    """What somebody enters who applies."""

    email: str
    firstname: str
    lastname: str
    company: str = ""
    country: str = ""
    custom_fields: Mapping[str, Any] = field(default_factory=dict)  # by slug
    recruiter: str = ""  # the ID of an affiliate, if there is one with it


def get_open_program(account: Account, slug: str, invitation: ProgramInvitation | None) -> Program:
    """Get a program that takes applications; raise `ProgramClosed`, also for a private one
    without an invitation, and for another one than that of the invitation."""
    programs = account.programs.filter(slug=slug, archived_at=None)
    program = programs.first() if SLUG_PATTERN.fullmatch(slug) else None
    if program is None or not get_portal_settings(account).is_open:
        raise ProgramClosed
    is_private = program.visibility == Visibility.PRIVATE
    if is_private if invitation is None else invitation.program_id != program.pk:
        raise ProgramClosed
    return program


def find_invitation(account: Account, public_id: str, *, at: datetime) -> ProgramInvitation | None:
    """Get the invitation that an application names, if any; raise `InvitationEnded`."""
    return get_invitation(account, public_id, at=at) if public_id else None


def send_application(
    account: Account,
    *,
    program_slug: str,
    data: ApplicationData,
    language: str,
    terms_version: int | None,
    invitation_id: str = "",
    address: str = "",
    at: datetime,
) -> None:
    """Store an application and mail a link that confirms it.

    `address` is the IP address of the client.

    If an affiliate has the address, the mail says so instead. Neither the answer nor
    the statements differ. Raises `ProgramClosed`, `InvitationEnded`, `TermsChanged` and
    `TooManyApplications`.
    """
    invitation = find_invitation(account, invitation_id, at=at)
    program = get_open_program(account, program_slug, invitation)
    token = secrets.token_urlsafe(32)
    folded = fold_email(data.email)
    with transaction.atomic():
        terms = check_version(account, terms_version)
        affiliate = find_affiliate_by_email(account, data.email)
        stored = account.portal_applications.filter(created_at__gt=at - AN_HOUR)
        if stored.count() >= MAX_STORED_PER_HOUR:
            raise TooManyApplications
        recent = account.portal_applications.filter(
            email_folded=folded, created_at__gt=at - MAIL_WINDOW
        )
        if recent.count() >= MAX_MAILS_PER_WINDOW:
            return
        application = account.portal_applications.create(
            program=program,
            email=data.email,
            email_folded=folded,
            data={
                "firstname": data.firstname,
                "lastname": data.lastname,
                "company": data.company,
                "country": data.country,
                "custom_fields": dict(data.custom_fields),
                "language": language,
                "recruiter": find_recruiter(account, data.recruiter),
            },
            invitation=invitation,
            terms=terms,
            token_hash=calculate_digest(token),
            address_digest=calculate_address_digest(account, address),
            created_at=at,
            expires_at=at + APPLICATION_LIFETIME,
        )
        enrollments = account.enrollments.filter(  # also of nobody: as many statements
            program=program, affiliate=affiliate.pk if affiliate else 0
        )
        _queue_link(application, affiliate, enrollments.first(), token, at=at)


def find_recruiter(account: Account, affiliate_id: str) -> str:
    """The ID, if it is that of an affiliate who may recruit; else empty."""
    if not account.plan.mlm or not SLUG_PATTERN.fullmatch(affiliate_id):
        return ""
    affiliates = account.affiliates.not_deleted().filter(slug=affiliate_id)
    return affiliate_id if affiliates.exists() else ""


def get_application(account: Account, token: str, *, at: datetime) -> PortalApplication:
    """Get an application that can be confirmed; raise `ApplicationExpired`."""
    rows = account.portal_applications.select_related(
        "program", "terms", "invitation__group", "invitation__parent"
    )
    application: PortalApplication | None = rows.filter(
        token_hash=calculate_digest(token), used_at=None, expires_at__gt=at
    ).first()
    if application is None:
        raise ApplicationExpired
    application.account = account
    return application


def confirm_application(account: Account, token: str, *, at: datetime) -> str:
    """Create the affiliate and the enrollment; return the token of a link to set a
    password. Other applications of the address to the program end.

    Raises `ApplicationExpired`, `AddressTaken`, `ProgramClosed` and `InvitationEnded`.
    """
    application = get_application(account, token, at=at)
    program, data = application.program, application.data
    if program.archived_at is not None:
        raise ProgramClosed
    password = create_password()  # nobody knows it
    person = PersonData(
        firstname=data["firstname"],
        lastname=data["lastname"],
        email=application.email,
        company={"company_name": data["company"] or None},
        address={"country": data["country"] or None},
        custom_fields=data["custom_fields"],
    )
    try:
        with transaction.atomic():
            same = account.portal_applications.filter(
                email_folded=application.email_folded, program=program, used_at=None
            )
            # In one order: two links of an address that are opened at once would deadlock.
            unused = [
                it.pk
                for it in same.order_by("pk")
                if it.update_row(expected={"used_at": None}, used_at=at)
            ]
            if application.pk not in unused:
                raise ApplicationExpired
            affiliate = create_affiliate(account, data=person, password=password, at=at)
            affiliate.update_row(language=data["language"])
            record_opening(affiliate, application.address_digest, at=application.created_at)
            if application.terms is not None:
                record_acceptance(
                    affiliate,
                    application.terms,
                    language=data["language"],
                    accepted_at=application.created_at,
                    at=at,
                )
            _join(affiliate, application.invitation, data.get("recruiter", ""), at=at)
            with act_as(affiliate):
                _enroll(affiliate, program, at=at)
            mails = account.mails.filter(kind=APPLICATION_MAIL)
            for mail in mails.filter(about=str(application.pk)):
                mail.update_row(affiliate=affiliate)
            link = create_link(affiliate, LinkPurpose.SET_PASSWORD, at=at)
    except DuplicateEmail:
        raise AddressTaken from None
    return link[1]


def _join(
    affiliate: Affiliate, invitation: ProgramInvitation | None, recruiter: str, *, at: datetime
) -> None:
    """Give an affiliate the parent and the group of the invitation, where they have none."""
    account, invited_by = affiliate.account, invitation and invitation.parent
    parent = find_recruiter(account, invited_by.slug if invited_by else recruiter)
    if parent and parent != affiliate.slug and affiliate.parent_id is None:
        set_parent(account, affiliate_id=affiliate.slug, parent_id=parent, at=at)
    if invitation is None:
        return
    if invitation.group and affiliate.group_id is None:
        group_id = invitation.group.public_id
        set_group(account, affiliate_id=affiliate.slug, group_id=group_id, at=at)
    use_invitation(account, invitation)


def apply_for_program(
    affiliate: Affiliate,
    *,
    program_slug: str,
    language: str = "",
    terms_version: int | None,
    invitation_id: str = "",
    at: datetime,
) -> Enrollment:
    """Enroll an affiliate who is signed in, and accept the terms.

    Raises `ProgramClosed`, `InvitationEnded`, `TermsChanged` and `AlreadyApplied`.
    """
    account = affiliate.account
    invitation = find_invitation(account, invitation_id, at=at)
    program = get_open_program(account, program_slug, invitation)
    try:
        with transaction.atomic():
            _join(affiliate, invitation, "", at=at)
            if find_unaccepted_terms(affiliate) is not None:
                accept_terms(affiliate, version=terms_version, language=language, at=at)
            return _enroll(affiliate, program, at=at)
    except AlreadyEnrolled:
        raise AlreadyApplied from None


def _enroll(affiliate: Affiliate, program: Program, *, at: datetime) -> Enrollment:
    account = affiliate.account
    approved = program.auto_approve_affiliates or None
    data = EnrollmentData(
        affiliate_id=affiliate.slug,
        approved=approved,
        wanted_code=create_slug_base(affiliate.firstname, affiliate.lastname),
    )
    log_event(account, "affiliate.applied", affiliate, at=at, program=program.slug)
    enrollment = create_enrollment(account, program=program, data=data, at=at)
    queue_decision_mail(affiliate, program, enrollment, at=at)
    return enrollment


def _queue_link(
    application: PortalApplication,
    affiliate: Affiliate | None,
    enrollment: Enrollment | None,
    token: str,
    *,
    at: datetime,
) -> None:
    """Mail how to go on: by a link, or by signing in."""
    account = application.account
    names = {"account": account.name, "program": application.program.title}
    with translation.override(application.data["language"]):
        hello = _("Hello,")  # no text of somebody who may not have the address
        subject = _("Your application to {account}").format(**names)
        if affiliate is None:
            text = _(
                "You want to take part in the program {program} of {account}. Confirm"
                " it within 24 hours at this address:"
            )
            url = build_portal_url(account, f"apply/{token}/")
        elif enrollment is not None and enrollment.approved is None:
            text = _(
                "Somebody applied with your e-mail address for the program {program}"
                " of {account}. Your application has arrived already, and waits for a"
                " decision of {account}. Sign in to see it:"
            )
        elif enrollment is not None:
            text = _(
                "Somebody applied with your e-mail address for the program {program}"
                " of {account}. You have an account already: sign in here:"
            )
        else:
            text = _(
                "Somebody applied with your e-mail address for the program {program}"
                " of {account}. You have an account already: sign in and apply there:"
            )
        if affiliate is not None:
            url = build_portal_url(account, "sign-in/")
        end = _("If you did not expect this mail, ignore it.")
        body = f"{hello}\n\n{text.format(**names)}\n{url}\n\n{end}\n"
    queue_mail_to(
        account,
        application.email,
        affiliate=affiliate,
        kind=APPLICATION_MAIL,
        about=str(application.pk),
        subject=subject,
        text=body,
        at=at,
    )
