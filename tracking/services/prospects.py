"""Prospects: create, promote to affiliates and delete."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.contrib.auth.hashers import make_password
from django.db import IntegrityError, transaction

from accounts.email_addresses import fold_email
from accounts.errors import ErrorList, InvalidInput
from accounts.ids import generate_public_id
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import mark_days_stale, record_change
from tracking.claims import Trust, get_promotion_approval
from tracking.errors import (
    ProspectAlreadyPromoted,
    ProspectNotFound,
    UnknownReference,
)
from tracking.models.affiliates import ADDRESS_COLUMNS, Affiliate, AffiliateGroup
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program
from tracking.models.prospects import PromotionMethod, Prospect, SignupSource
from tracking.services.affiliates import (
    PersonData,
    drop_blank_values,
    insert_affiliate,
    resolve_custom_field_values,
)
from tracking.services.attribution import Attribution
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.enrollments import approve_promoted_affiliate
from tracking.services.hierarchy import get_referenced_group
from tracking.services.programs import ensure_not_archived, find_oldest_active_program
from tracking.services.referral_codes import create_referral_code
from tracking.services.search import update_suffixes


@dataclass(frozen=True)
class ProspectData:
    """A new prospect, with its program and affiliate group."""

    person: PersonData
    program_id: str | None = None  # None: the oldest active one
    group_id: str | None = None


def create_prospect(account: Account, *, data: ProspectData, at: datetime) -> Prospect:
    """Create a prospect with a source and a referral code.

    Raises `UnknownReference`, `MultipleValuesNotAllowed` and `ArchivedProgramReadOnly`.
    """
    person = data.person
    with transaction.atomic():
        program, group = _get_program_and_group(account, data)
        custom_fields = drop_blank_values(
            resolve_custom_field_values(account, person.custom_fields)
        )
        ensure_not_archived(program)
        prospect = account.prospects.create(  # type: ignore[misc]  # stubs: a `**` is no value
            public_id=generate_public_id("ap"),
            program=program,
            group=group,
            firstname=person.firstname,
            lastname=person.lastname,
            email=person.email,
            email_folded=fold_email(person.email) if person.email else None,
            custom_fields=custom_fields,
            meta_data=person.meta_data,
            signup_source=SignupSource.API,
            created_at=at,
            **person.company,
            **person.address,
        )
        account.sources.create(prospect=prospect)
        create_referral_code(account, prospect=prospect)
        record_change(account, "affiliate_prospect.created", prospect, at=at)
    return prospect


def promote_winning_prospect(
    account: Account, attribution: Attribution, *, method: str, at: datetime
) -> Attribution:
    """Promote the winner if it is a prospect; return the updated attribution.

    If an earlier claim promoted it and left the enrollment pending, a fact approves it.
    """
    enrollment, prospect = attribution.enrollment, attribution.prospect
    if enrollment is not None and enrollment.awaits_fact:
        if attribution.is_decided_by_fact:
            approve_promoted_affiliate(account, enrollment, at=at)
        return attribution
    if prospect is None:
        return attribution
    return attribution.with_enrollment(
        promote_prospect(account, prospect=prospect, method=method, trust=attribution.trust, at=at)
    )


def promote_prospect(
    account: Account,
    *,
    prospect: Prospect,
    method: str,
    trust: Trust = Trust.FACT,
    at: datetime,
) -> Enrollment:
    """Create an affiliate and its enrollment from a prospect.

    Whether it is approved depends on `trust` (`get_promotion_approval`). The affiliate
    takes over the prospect's referral code, source and clicks. Call it within a
    transaction. Raises `ConcurrentUpdate` if the prospect was promoted or deleted
    concurrently.
    """
    program = prospect.program
    approved = get_promotion_approval(
        trust, auto_approves_affiliates=program.auto_approve_affiliates
    )
    if not prospect.update_row(
        expected={
            "promoted_at": None,
            "deleted_at": None,
            "group_id": prospect.group_id,
        },
        promoted_at=at,
        promotion_method=method,
    ):
        raise ConcurrentUpdate
    affiliate = _create_affiliate(account, prospect, at)
    prospect.update_row(affiliate=affiliate)
    enrollment = account.enrollments.create(
        program=program,
        affiliate=affiliate,
        approved=approved,
        promoted_by_claim=trust is Trust.CLAIM,
        applied_at=at,
    )
    account.referral_codes.filter(prospect=prospect).update(enrollment=enrollment)
    update_suffixes(account, affiliate_id=affiliate.pk)
    account.sources.filter(prospect=prospect).update(affiliate=affiliate)
    clicks = account.clicks.filter(prospect=prospect)
    times = clicks.values_list("created_at", flat=True)
    mark_days_stale(account, times.iterator(), at)
    clicks.update(affiliate=affiliate, enrollment=enrollment)
    # Those that were removed meanwhile are counted here.
    removed = account.pruned_click_counts.filter(prospect=prospect)
    quarters = removed.values_list("quarter", flat=True)
    mark_days_stale(account, quarters.iterator(), at)
    removed.update(affiliate=affiliate)
    record_change(
        account,
        "affiliate.added_to_program",
        affiliate,
        at=at,
        payload_row=enrollment,
        program=program.slug,
        approved=approved,
    )
    record_change(account, "affiliate_prospect.promoted", prospect, at=at, method=str(method))
    return enrollment


def promote_prospect_manually(account: Account, *, public_id: str, at: datetime) -> Enrollment:
    """Make a prospect an affiliate that is approved in its program, as staff decide.

    Raises `ProspectAlreadyPromoted`, and `ArchivedProgramReadOnly`.
    """
    with transaction.atomic():
        rows = account.prospects.not_deleted().select_related("program", "group")
        prospect = get_or_raise(rows, ProspectNotFound, lock=True, public_id=public_id)
        if prospect.promoted_at is not None:
            raise ProspectAlreadyPromoted
        ensure_not_archived(prospect.program)
        return promote_prospect(account, prospect=prospect, method=PromotionMethod.MANUAL, at=at)


def delete_prospect(account: Account, *, public_id: str, at: datetime) -> None:
    """Mark a prospect as deleted; if it was promoted, its affiliate and code stay.

    Raises `ProspectNotFound`.
    """
    with transaction.atomic():
        rows = account.prospects.not_deleted()
        prospect = get_or_raise(rows, ProspectNotFound, lock=True, public_id=public_id)
        record_change(account, "affiliate_prospect.deleted", prospect, at=at)
        prospect.update_row(deleted_at=at)


def _create_affiliate(account: Account, prospect: Prospect, at: datetime) -> Affiliate:
    """Create the affiliate; without e-mail address, if another affiliate has that."""
    person = PersonData(
        firstname=prospect.firstname,
        lastname=prospect.lastname,
        email=prospect.email,
        company={
            "company_name": prospect.company_name,
            "company_description": prospect.company_description,
        },
        address={column: getattr(prospect, column) for column in ADDRESS_COLUMNS},
        custom_fields=prospect.custom_fields,
        meta_data=prospect.meta_data,
    )
    for email in (prospect.email, None):
        try:
            with transaction.atomic():  # rolls back on a duplicate address
                return insert_affiliate(
                    account,
                    replace(person, email=email),
                    password_hash=make_password(None),  # no usable password
                    group=prospect.group,
                    promoted_at=prospect.promoted_at,
                    promotion_method=prospect.promotion_method,
                    at=at,
                )
        except IntegrityError:
            if email is None:
                raise
    raise ConcurrentUpdate


def _get_program_and_group(
    account: Account, data: ProspectData
) -> tuple[Program, AffiliateGroup | None]:
    """Get program and group of a new prospect.

    Raises `UnknownReference`, or an `ErrorList` if both are unknown.
    """
    program, group, errors = None, None, list[InvalidInput]()
    try:
        program = get_referenced_program(account, data.program_id)
    except UnknownReference as error:
        errors.append(error)
    try:
        if data.group_id is not None:
            path = "affiliate_group_id"
            group = get_referenced_group(account, data.group_id, path=path, lock=True)
    except UnknownReference as error:
        errors.append(error)
    if program is None or errors:
        raise errors[0] if len(errors) == 1 else ErrorList(errors)
    return program, group


def get_referenced_program(account: Account, slug: str | None) -> Program:
    """Get the program with this id, by default the oldest active one.

    Raises `UnknownReference`.
    """
    program = (
        find_oldest_active_program(account)
        if slug is None
        else account.programs.filter(slug=slug).first()
    )
    if program is None:
        raise UnknownReference(what="program", path="program_id")
    return program
