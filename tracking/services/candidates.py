"""Candidates: look up what each tracking parameter refers to, one resolver each."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from accounts.compiled_queries import compiled
from accounts.ids import parse_numbered_id
from accounts.models.accounts import Account
from tracking.attribution import (
    ASSET_AND_SOURCE,
    CLAIM,
    CLICK_ID,
    COUPON,
    CUSTOMER,
    IMPORT,
    REFERRAL_CODE,
    STAFF,
    TRACKING_ID,
    Candidate,
    EnrollmentStatus,
    TrackingParameters,
)
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click, Visitor, parse_click_id
from tracking.models.conversions import Conversion, ConversionClaim
from tracking.models.customers import Customer
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program
from tracking.models.prospects import Prospect
from tracking.models.sources import Asset, Source
from tracking.services.concurrency import ConcurrentUpdate

NEW_CUSTOMER_VALUE = "a new customer"
STAFF_VALUE = "chosen by staff"
CLAIM_VALUE = "claimed by a page"
IMPORT_VALUE = "as the source decided"
ENROLLMENT_STATUS_BY_APPROVAL = {
    True: EnrollmentStatus.APPROVED,
    False: EnrollmentStatus.DISAPPROVED,
    None: EnrollmentStatus.PENDING,
}


@dataclass(frozen=True)
class ResolvedCandidate:
    """A candidate and the rows it was read from."""

    candidate: Candidate
    program: Program | None = None
    affiliate: Affiliate | None = None
    enrollment: Enrollment | None = None
    click: Click | None = None
    customer: Customer | None = None
    prospect: Prospect | None = None  # set if it is not an affiliate yet
    is_contested: bool = False  # several visitors claim the conversion


@compiled
def enrollment_of(account: Account, program: Program, affiliate: Affiliate) -> QuerySet[Enrollment]:
    """The enrollment of an affiliate in a program."""
    rows = Enrollment.objects.of(account)
    return rows.filter(program=program, affiliate=affiliate)


@compiled
def customer_by_id(account: Account, customer_id: str) -> Any:
    """A customer by the caller's id, with the columns of the enrollment."""
    enrollments = Enrollment.objects.of(account).filter(
        program=OuterRef("program"), affiliate=OuterRef("affiliate")
    )
    return (
        Customer.objects.of(account)
        .not_deleted()
        .select_related("program", "affiliate", "click")
        .annotate(
            enrollment_id=Subquery(enrollments.values("id")[:1]),
            approved=Subquery(enrollments.values("approved")[:1]),
            promoted_by_claim=Subquery(enrollments.values("promoted_by_claim")[:1]),
        )
        .filter(customer_id=customer_id)
    )


@compiled
def enrollment_by_coupon(account: Account, code: str) -> QuerySet[Enrollment]:
    """The enrollment that owns a coupon."""
    return _enrollments(account).filter(coupons__code=code, coupons__account=account)


@compiled
def enrollment_by_referral_code(account: Account, code: str) -> QuerySet[Enrollment]:
    """The enrollment that owns a referral code."""
    return _enrollments(account).filter(referral_codes__code=code, referral_codes__account=account)


@compiled
def enrollment_by_alias(account: Account, code: str) -> QuerySet[Enrollment]:
    """The enrollment that has a code as an alias."""
    return _enrollments(account).filter(
        referral_code_aliases__code=code, referral_code_aliases__account=account
    )


@compiled
def prospect_by_referral_code(account: Account, code: str) -> QuerySet[Prospect]:
    """The prospect that owns a referral code."""
    return _prospects(account).filter(referral_codes__code=code, referral_codes__account=account)


@compiled
def enrollment_by_asset_and_source(
    account: Account, asset: int, asset_hex: str, source: int, source_hex: str
) -> QuerySet[Enrollment]:
    """The enrollment of the asset's program and the source's affiliate."""
    return _enrollments(account).filter(
        program__assets__pk=asset,
        program__assets__hex=asset_hex,
        affiliate__sources__pk=source,
        affiliate__sources__hex=source_hex,
    )


@compiled
def prospect_by_asset_and_source(
    account: Account, asset: int, asset_hex: str, source: int, source_hex: str
) -> QuerySet[Prospect]:
    """The prospect of the asset's program and the source."""
    return _prospects(account).filter(
        program__assets__pk=asset,
        program__assets__hex=asset_hex,
        sources__pk=source,
        sources__hex=source_hex,
    )


@compiled
def asset_by_id(account: Account, asset: int, asset_hex: str) -> QuerySet[Asset]:
    """An asset with its program."""
    rows = Asset.objects.of(account).select_related("program")
    return rows.filter(pk=asset, hex=asset_hex)


@compiled
def source_by_id(account: Account, source: int, source_hex: str) -> QuerySet[Source]:
    """A source with its affiliate."""
    rows = Source.objects.of(account).select_related("affiliate")
    return rows.filter(pk=source, hex=source_hex)


@compiled
def click_by_id(account: Account, public_id: UUID) -> QuerySet[Click]:
    """A click with program, enrollment, affiliate and prospect."""
    return _clicks(account).filter(public_id=public_id)


@compiled
def click_by_tracking_id(account: Account, tracking_id: str) -> QuerySet[Click]:
    """The click that a tracking id of the browser script refers to."""
    visitors = Visitor.objects.of(account).filter(tracking_id=tracking_id)
    return _clicks(account).filter(pk__in=visitors.values("click"))


def _enrollments(account: Account) -> QuerySet[Enrollment]:
    return Enrollment.objects.of(account).select_related("program", "affiliate")


def _prospects(account: Account) -> QuerySet[Prospect]:
    return Prospect.objects.of(account).not_deleted().select_related("program")


def _clicks(account: Account) -> QuerySet[Click]:
    rows = Click.objects.of(account)
    return rows.select_related("enrollment", "program", "affiliate", "prospect")


def resolve_candidates(
    account: Account,
    parameters: TrackingParameters,
    claim: Conversion | ConversionClaim | None = None,
) -> list[ResolvedCandidate]:
    """Look up every tracking parameter that was sent, and the claim to confirm."""
    sent = {
        CUSTOMER: parameters.customer_id,
        COUPON: parameters.coupon,
        REFERRAL_CODE: parameters.referral_code,
        CLICK_ID: parameters.click_id,
        TRACKING_ID: parameters.tracking_id,
    }
    resolved = [
        RESOLVERS[parameter](account, value, parameters.program_group or None)
        if value.strip()
        else ResolvedCandidate(Candidate(parameter, value, blank_parameter=parameter))
        for parameter, value in sent.items()
        if value is not None
    ]
    if parameters.asset_id is not None and parameters.source_id is not None:
        resolved.append(resolve_asset_and_source(account, parameters))
    if claim is not None:
        resolved.append(resolve_claim(account, claim))
    return resolved


def resolve_claim(account: Account, claim: Conversion | ConversionClaim) -> ResolvedCandidate:
    """The affiliate and program of a claim.

    A `Conversion` stands for its first claim, a `ConversionClaim` for a competing one.
    """
    conversion = claim if isinstance(claim, Conversion) else claim.conversion
    by_customer = claim is conversion and conversion.tracking_source == CUSTOMER
    enrollment = enrollment_of.first(
        account=account, program=claim.program, affiliate=claim.affiliate
    )
    resolved = _resolve_affiliate(
        CLAIM,
        CLAIM_VALUE,
        claim.program,
        claim.affiliate,
        enrollment,
        customer=conversion.customer if by_customer else None,
        is_claim=True,
    )
    # The cookie time counted when the claim was made.
    return replace(resolved, click=claim.click, is_contested=conversion.is_contested)


def resolve_staff_choice(
    account: Account, program: Program, affiliate: Affiliate
) -> ResolvedCandidate:
    """The affiliate that staff chose for a sale of a program."""
    enrollment = enrollment_of.first(account=account, program=program, affiliate=affiliate)
    return _resolve_affiliate(STAFF, STAFF_VALUE, program, affiliate, enrollment)


def resolve_import(program: Program, affiliate: Affiliate) -> ResolvedCandidate:
    """The affiliate that another system had decided on, whatever its status is here."""
    candidate = Candidate(
        IMPORT,
        IMPORT_VALUE,
        affiliate=affiliate.slug,
        program=program.slug,
        enrollment_status=EnrollmentStatus.APPROVED,
    )
    return ResolvedCandidate(candidate, program=program, affiliate=affiliate)


def get_attribution_status(enrollment: Enrollment | None) -> EnrollmentStatus:
    """Return the status that attribution uses for an affiliate in a program.

    An affiliate that a claim has promoted counts as approved until staff decide.
    """
    if enrollment is None:
        return EnrollmentStatus.NOT_ENROLLED
    if enrollment.awaits_fact:
        return EnrollmentStatus.APPROVED
    return ENROLLMENT_STATUS_BY_APPROVAL[enrollment.approved]


def resolve_customer(account: Account, value: str, program_group: str | None) -> ResolvedCandidate:
    """The customer of any program who has this id of the caller.

    The candidate names the customer by the `cu_` id, because candidates are stored.
    """
    customer: Any = customer_by_id.first(account=account, customer_id=value)
    if customer is None:
        return ResolvedCandidate(Candidate(CUSTOMER, NEW_CUSTOMER_VALUE))
    program, affiliate = customer.program, customer.affiliate
    enrollment = None
    if customer.enrollment_id is not None:
        enrollment = Enrollment(
            pk=customer.enrollment_id,
            account=account,
            program=program,
            affiliate=affiliate,
            approved=customer.approved,
            promoted_by_claim=customer.promoted_by_claim,
        )
    return _resolve_affiliate(
        CUSTOMER,
        customer.public_id,
        program,
        affiliate,
        enrollment,
        customer=customer,
        is_claim=not customer.is_confirmed,
    )


def resolve_coupon(account: Account, value: str, program_group: str | None) -> ResolvedCandidate:
    """The enrollment that owns a coupon."""
    enrollment = enrollment_by_coupon.first(account=account, code=value)
    return _resolve_enrollment(COUPON, value, program_group, enrollment)


def resolve_referral_code(
    account: Account, value: str, program_group: str | None
) -> ResolvedCandidate:
    """The enrollment that owns a referral code, else the prospect, else the enrollment
    that has it as an alias."""
    enrollment = enrollment_by_referral_code.first(account=account, code=value)
    if enrollment is not None:
        return _resolve_enrollment(REFERRAL_CODE, value, program_group, enrollment)
    prospect = prospect_by_referral_code.first(account=account, code=value)
    if prospect is None:
        enrollment = enrollment_by_alias.first(account=account, code=value)
        if enrollment is not None:
            return _resolve_enrollment(REFERRAL_CODE, value, program_group, enrollment)
    return _resolve_open_prospect(REFERRAL_CODE, value, program_group, prospect)


def resolve_click(account: Account, value: str, program_group: str | None) -> ResolvedCandidate:
    """A click, with the current cookie time of its program."""
    public_id = parse_click_id(value)
    click = None
    if public_id is not None:
        click = click_by_id.first(account=account, public_id=public_id)
    return _resolve_click(CLICK_ID, value, program_group, click)


def resolve_script_tracking_id(
    account: Account, value: str, program_group: str | None
) -> ResolvedCandidate:
    """The click that a tracking id of the browser script refers to."""
    click = click_by_tracking_id.first(account=account, tracking_id=value)
    return _resolve_click(TRACKING_ID, value, program_group, click)


def resolve_asset_and_source(account: Account, parameters: TrackingParameters) -> ResolvedCandidate:
    """The enrollment of the asset's program and source's affiliate, else a prospect."""
    asset, source = parameters.asset_id or "", parameters.source_id or ""
    value = f"{asset} {source}"
    for name, text in (("asset_id", asset), ("source_id", source)):
        if not text.strip():
            return ResolvedCandidate(Candidate(ASSET_AND_SOURCE, value, blank_parameter=name))
    asset_key, source_key = parse_numbered_id(asset), parse_numbered_id(source)
    if asset_key is None or source_key is None:
        return ResolvedCandidate(Candidate(ASSET_AND_SOURCE, value))
    group = parameters.program_group or None
    keys: dict[str, Any] = {
        "account": account,
        "asset": asset_key[0],
        "asset_hex": asset_key[1],
        "source": source_key[0],
        "source_hex": source_key[1],
    }
    enrollment = enrollment_by_asset_and_source.first(**keys)
    if enrollment is not None:
        return _resolve_enrollment(ASSET_AND_SOURCE, value, group, enrollment)
    prospect = prospect_by_asset_and_source.first(**keys)
    if prospect is not None:
        return _resolve_open_prospect(ASSET_AND_SOURCE, value, group, prospect)
    return _resolve_not_enrolled(keys, value, group)


CandidateResolver = Callable[[Account, str, str | None], ResolvedCandidate]

RESOLVERS: dict[str, CandidateResolver] = {
    CUSTOMER: resolve_customer,
    COUPON: resolve_coupon,
    REFERRAL_CODE: resolve_referral_code,
    CLICK_ID: resolve_click,
    TRACKING_ID: resolve_script_tracking_id,
}


def _resolve_click(
    parameter: str, value: str, program_group: str | None, click: Click | None
) -> ResolvedCandidate:
    """The enrollment or prospect of a click, subject to the cookie time."""
    if click is None or not is_in_group(click.program, program_group):
        return ResolvedCandidate(Candidate(parameter, value))
    if click.enrollment is None or click.affiliate is None:
        return _resolve_prospect(parameter, value, click.prospect, click.program, click=click)
    return _resolve_affiliate(
        parameter, value, click.program, click.affiliate, click.enrollment, click=click
    )


def _resolve_not_enrolled(
    keys: dict[str, Any], value: str, program_group: str | None
) -> ResolvedCandidate:
    """A known asset and a known source whose affiliate is not in the program."""
    asset = asset_by_id.first(**{name: keys[name] for name in asset_by_id.names})
    source = source_by_id.first(**{name: keys[name] for name in source_by_id.names})
    if (
        asset is None
        or not is_in_group(asset.program, program_group)
        or source is None
        or source.affiliate is None
    ):
        return ResolvedCandidate(Candidate(ASSET_AND_SOURCE, value))
    return _resolve_affiliate(ASSET_AND_SOURCE, value, asset.program, source.affiliate, None)


def _resolve_enrollment(
    parameter: str,
    value: str,
    program_group: str | None,
    enrollment: Enrollment | None,
) -> ResolvedCandidate:
    if enrollment is None or not is_in_group(enrollment.program, program_group):
        return ResolvedCandidate(Candidate(parameter, value))
    return _resolve_affiliate(
        parameter, value, enrollment.program, enrollment.affiliate, enrollment
    )


def _resolve_open_prospect(
    parameter: str, value: str, program_group: str | None, prospect: Prospect | None
) -> ResolvedCandidate:
    if prospect is None or not is_in_group(prospect.program, program_group):
        return ResolvedCandidate(Candidate(parameter, value))
    if prospect.promoted_at is not None:
        raise ConcurrentUpdate  # promoted after the query for enrollments
    return _resolve_prospect(parameter, value, prospect, prospect.program)


def _resolve_prospect(
    parameter: str,
    value: str,
    prospect: Prospect | None,
    program: Program,
    *,
    click: Click | None = None,
) -> ResolvedCandidate:
    """A prospect counts as approved: the call that it wins promotes it."""
    if prospect is None:
        raise LookupError("a click without an affiliate has a prospect")
    return ResolvedCandidate(
        Candidate(
            parameter=parameter,
            value=value,
            affiliate=prospect.public_id,
            program=program.slug,
            enrollment_status=EnrollmentStatus.DELETED
            if prospect.deleted_at
            else EnrollmentStatus.APPROVED,
            is_program_archived=program.archived_at is not None,
            clicked_at=click.created_at if click else None,
            cookie_time_days=program.cookie_time if click else None,
        ),
        program=program,
        click=click,
        prospect=prospect,
    )


def is_in_group(program: Program, program_group: str | None) -> bool:
    """Whether a program is in the group that was sent; else it counts as unknown."""
    return program_group is None or program.program_group == program_group


def _resolve_affiliate(
    parameter: str,
    value: str,
    program: Program,
    affiliate: Affiliate,
    enrollment: Enrollment | None,
    *,
    click: Click | None = None,
    customer: Customer | None = None,
    is_claim: bool = False,
) -> ResolvedCandidate:
    """An affiliate in a program; with a click, the cookie time counts."""
    status = get_attribution_status(enrollment)
    return ResolvedCandidate(
        Candidate(
            parameter=parameter,
            value=value,
            affiliate=affiliate.slug,
            program=program.slug,
            enrollment_status=EnrollmentStatus.DELETED if affiliate.deleted_at else status,
            is_program_archived=program.archived_at is not None,
            clicked_at=click.created_at if click else None,
            cookie_time_days=program.cookie_time if click else None,
            is_claim=is_claim,
        ),
        program=program,
        affiliate=affiliate,
        enrollment=enrollment,
        click=click,
        customer=customer,
    )
