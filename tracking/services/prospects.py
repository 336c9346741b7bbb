"""Prospects: invited, made affiliates by what they bring, removed."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction

from accounts.errors import Rejected, Several
from accounts.ids import new_id
from accounts.models.accounts import Account
from accounts.services.days import mark_days
from accounts.services.events import note
from tracking.errors import ProspectNotFound, UnknownGroup, UnknownProgram
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.models.enrolments import Enrolment
from tracking.models.people import ADDRESS
from tracking.models.programs import Program
from tracking.models.prospects import Prospect, SignupSource
from tracking.services.affiliates import (
    Application,
    answered,
    without_blanks,
    write_affiliate,
)
from tracking.services.attribution import Finding
from tracking.services.enrolments import give_code
from tracking.services.looking import LookAgain
from tracking.services.placement import group_sent
from tracking.services.programs import oldest_open, refuse_archived


@dataclass(frozen=True)
class Invitation:
    """Who might become an affiliate, of which program, in which group."""

    person: Application
    program_id: str | None = None  # None: the oldest that takes sales
    group_id: str | None = None


def invite(account: Account, *, invitation: Invitation, at: datetime) -> Prospect:
    """Make a prospect with a referral link that is ready to use."""
    person = invitation.person
    with transaction.atomic():
        program, group = _places_sent(account, invitation)
        custom_fields = without_blanks(answered(account, person.custom_fields))
        refuse_archived(program)
        prospect = account.prospects.create(
            public_id=new_id("ap"),
            program=program,
            group=group,
            firstname=person.firstname,
            lastname=person.lastname,
            email=person.email,
            email_folded=person.email.casefold() if person.email else None,
            custom_fields=custom_fields,
            meta_data=person.meta_data,
            signup_source=SignupSource.API,
            created_at=at,
            **person.company,
            **person.address,
        )
        account.sources.create(prospect=prospect)
        give_code(account, prospect=prospect)
        note(account, "affiliate_prospect.created", prospect, at=at)
    return prospect


def promoted(account: Account, finding: Finding, *, by: str, at: datetime) -> Finding:
    """The finding with an affiliate: a prospect that it names becomes one by this."""
    prospect = finding.prospect
    if prospect is None:
        return finding
    return finding.earned_by(promote(account, prospect=prospect, by=by, at=at))


def promote(
    account: Account, *, prospect: Prospect, by: str, at: datetime
) -> Enrolment:
    """Make an affiliate of a prospect, approved in its program, code and source kept.

    Within the caller's transaction. Whoever comes second looks again.
    """
    if not prospect.change(
        expecting={"promoted_at": None, "removed_at": None},
        promoted_at=at,
        promotion_method=by,
    ):
        raise LookAgain
    affiliate = _become_affiliate(account, prospect, at)
    prospect.change(affiliate=affiliate)
    enrolment = account.enrolments.create(
        program=prospect.program, affiliate=affiliate, approved=True, applied_at=at
    )
    account.referral_codes.filter(prospect=prospect).update(enrolment=enrolment)
    account.sources.filter(prospect=prospect).update(affiliate=affiliate)
    clicks = account.clicks.filter(prospect=prospect)
    moments = clicks.values_list("created_at", flat=True)
    mark_days(account, {moment.date() for moment in moments.iterator()}, at=at)
    clicks.update(affiliate=affiliate, enrolment=enrolment)
    note(
        account,
        "affiliate.added_to_program",
        affiliate,
        at=at,
        telling=enrolment,
        program=prospect.program.slug,
        approved=True,
    )
    note(account, "affiliate_prospect.promoted", prospect, at=at, by=str(by))
    return enrolment


def remove_prospect(account: Account, *, public_id: str, at: datetime) -> None:
    """Take a prospect back; promoted, its affiliate and code stay."""
    with transaction.atomic():
        rows = account.prospects.present().select_for_update(no_key=True)
        prospect = rows.filter(public_id=public_id).first()
        if prospect is None:
            raise ProspectNotFound
        note(account, "affiliate_prospect.deleted", prospect, at=at)  # as it was last
        prospect.change(removed_at=at)


def _become_affiliate(account: Account, prospect: Prospect, at: datetime) -> Affiliate:
    """With the prospect's e-mail address, unless another affiliate has it."""
    person = Application(
        firstname=prospect.firstname,
        lastname=prospect.lastname,
        email=prospect.email,
        company={
            "company_name": prospect.company_name,
            "company_description": prospect.company_description,
        },
        address={column: getattr(prospect, column) for column in ADDRESS},
        custom_fields=prospect.custom_fields,
        meta_data=prospect.meta_data,
    )
    for email in (prospect.email, None):
        try:
            with transaction.atomic():  # the address may be taken at this moment
                return write_affiliate(
                    account,
                    replace(person, email=email),
                    password=make_password(None),  # none yet, so nothing to hash
                    group=prospect.group,
                    promoted_at=prospect.promoted_at,
                    promotion_method=prospect.promotion_method,
                    at=at,
                )
        except IntegrityError:
            if email is None:
                raise
    raise LookAgain


def _places_sent(
    account: Account, invitation: Invitation
) -> tuple[Program, AffiliateGroup | None]:
    """The program and the group of a prospect, or all that is unknown of them."""
    program, group, odd = None, None, list[Rejected]()
    try:
        program = program_sent(account, invitation.program_id)
    except UnknownProgram as refusal:
        odd.append(refusal)
    try:
        if invitation.group_id is not None:
            path = "affiliate_group_id"
            group = group_sent(account, invitation.group_id, path=path)
    except UnknownGroup as refusal:
        odd.append(refusal)
    if program is None or odd:
        raise odd[0] if len(odd) == 1 else Several(odd)
    return program, group


def program_sent(account: Account, slug: str | None) -> Program:
    """The program of this id, else the one to which newcomers go."""
    program = (
        oldest_open(account)
        if slug is None
        else account.programs.filter(slug=slug).first()
    )
    if program is None:
        raise UnknownProgram
    return program
