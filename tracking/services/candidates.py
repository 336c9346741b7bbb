"""Candidates: look up what each tracking parameter refers to, one resolver each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef, Subquery

from accounts.ids import parse_numbered_id
from accounts.models.accounts import Account
from tracking.attribution import (
    ASSET_AND_SOURCE,
    CLAIM,
    CLICK_ID,
    COUPON,
    CUSTOMER,
    REFERRAL_CODE,
    TRACKING_ID,
    Candidate,
    EnrollmentStatus,
    TrackingParameters,
)
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click, ClickQuerySet
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program
from tracking.models.prospects import Prospect
from tracking.services.concurrency import ConcurrentUpdate

NEW_CUSTOMER_VALUE = "a new customer"
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


def resolve_candidates(
    account: Account,
    parameters: TrackingParameters,
    claim: Conversion | None = None,
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


def resolve_claim(account: Account, claim: Conversion) -> ResolvedCandidate:
    """The affiliate and program that the claim of a conversion was attributed to."""
    rows = account.enrollments.filter(program=claim.program, affiliate=claim.affiliate)
    enrollment = rows.first()
    return ResolvedCandidate(
        _build_candidate(
            CLAIM,
            str(claim.pk),
            claim.program,
            claim.affiliate,
            get_enrollment_status(enrollment),
            is_claim=True,
        ),
        program=claim.program,
        affiliate=claim.affiliate,
        enrollment=enrollment,
        click=claim.click,
        customer=claim.customer if claim.tracking_source == CUSTOMER else None,
    )


def get_enrollment_status(enrollment: Enrollment | None) -> EnrollmentStatus:
    """The status that decides whether an affiliate is eligible in a program."""
    if enrollment is None:
        return EnrollmentStatus.NOT_ENROLLED
    if enrollment.awaits_fact:
        return EnrollmentStatus.APPROVED
    return ENROLLMENT_STATUS_BY_APPROVAL[enrollment.approved]


def resolve_customer(
    account: Account, value: str, program_group: str | None
) -> ResolvedCandidate:
    """A known customer of any program, under its `cu_` id instead of the caller's."""
    enrollments = account.enrollments.filter(
        program=OuterRef("program"), affiliate=OuterRef("affiliate")
    )
    customer: Any = (
        account.customers.not_deleted()
        .select_related("program", "affiliate", "click")
        .annotate(
            enrollment_id=Subquery(enrollments.values("id")[:1]),
            approved=Subquery(enrollments.values("approved")[:1]),
            promoted_by_claim=Subquery(enrollments.values("promoted_by_claim")[:1]),
        )
        .filter(customer_id=value)
        .first()
    )
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
    return ResolvedCandidate(
        _build_candidate(
            CUSTOMER,
            customer.public_id,
            program,
            affiliate,
            get_enrollment_status(enrollment),
            is_claim=not customer.is_confirmed,
        ),
        program=program,
        affiliate=affiliate,
        enrollment=enrollment,
        customer=customer,
    )


def resolve_coupon(
    account: Account, value: str, program_group: str | None
) -> ResolvedCandidate:
    """The enrollment that owns a coupon."""
    return _resolve_through_enrollment(
        account,
        COUPON,
        value,
        program_group,
        coupons__code=value,
        coupons__account=account,
    )


def resolve_referral_code(
    account: Account, value: str, program_group: str | None
) -> ResolvedCandidate:
    """The enrollment that owns a referral code, else the prospect."""
    resolved = _resolve_through_enrollment(
        account,
        REFERRAL_CODE,
        value,
        program_group,
        referral_codes__code=value,
        referral_codes__account=account,
    )
    if resolved.program:
        return resolved
    return _resolve_through_prospect(
        account,
        REFERRAL_CODE,
        value,
        program_group,
        referral_codes__code=value,
        referral_codes__account=account,
    )


def resolve_click(
    account: Account, value: str, program_group: str | None
) -> ResolvedCandidate:
    """A click, with the current cookie time of its program."""
    return _resolve_through_click(
        CLICK_ID, value, account.clicks.with_public_id(value), program_group
    )


def resolve_tracking_id(
    account: Account, value: str, program_group: str | None
) -> ResolvedCandidate:
    """The click that a tracking id of the browser script refers to."""
    visitors = account.visitors.filter(tracking_id=value)
    clicks = account.clicks.filter(pk__in=visitors.values("click"))
    return _resolve_through_click(TRACKING_ID, value, clicks, program_group)


def resolve_asset_and_source(
    account: Account, parameters: TrackingParameters
) -> ResolvedCandidate:
    """The enrollment of the asset's program and source's affiliate, else a prospect."""
    asset, source = parameters.asset_id or "", parameters.source_id or ""
    value = f"{asset} {source}"
    for name, text in (("asset_id", asset), ("source_id", source)):
        if not text.strip():
            return ResolvedCandidate(
                Candidate(ASSET_AND_SOURCE, value, blank_parameter=name)
            )
    asset_key, source_key = parse_numbered_id(asset), parse_numbered_id(source)
    if asset_key is None or source_key is None:
        return ResolvedCandidate(Candidate(ASSET_AND_SOURCE, value))
    resolved = _resolve_through_enrollment(
        account,
        ASSET_AND_SOURCE,
        value,
        parameters.program_group or None,
        program__assets__pk=asset_key[0],
        program__assets__hex=asset_key[1],
        affiliate__sources__pk=source_key[0],
        affiliate__sources__hex=source_key[1],
    )
    if resolved.program:
        return resolved
    resolved = _resolve_through_prospect(
        account,
        ASSET_AND_SOURCE,
        value,
        parameters.program_group or None,
        program__assets__pk=asset_key[0],
        program__assets__hex=asset_key[1],
        sources__pk=source_key[0],
        sources__hex=source_key[1],
    )
    return (
        resolved
        if resolved.program
        else _resolve_not_enrolled(account, parameters, asset_key, source_key)
    )


CandidateResolver = Callable[[Account, str, str | None], ResolvedCandidate]

RESOLVERS: dict[str, CandidateResolver] = {
    CUSTOMER: resolve_customer,
    COUPON: resolve_coupon,
    REFERRAL_CODE: resolve_referral_code,
    CLICK_ID: resolve_click,
    TRACKING_ID: resolve_tracking_id,
}


def _resolve_through_click(
    parameter: str, value: str, clicks: ClickQuerySet, program_group: str | None
) -> ResolvedCandidate:
    """The enrollment or prospect of a click, subject to the cookie time."""
    click = (
        clicks.select_related("enrollment", "program", "affiliate", "prospect")
        .filter(**_build_group_filter(program_group))
        .first()
    )
    if click is None:
        return ResolvedCandidate(Candidate(parameter, value))
    if click.enrollment is None or click.affiliate is None:
        return _resolve_prospect(
            parameter, value, click.prospect, click.program, click=click
        )
    return ResolvedCandidate(
        _build_candidate(
            parameter,
            value,
            click.program,
            click.affiliate,
            get_enrollment_status(click.enrollment),
            click=click,
        ),
        program=click.program,
        affiliate=click.affiliate,
        enrollment=click.enrollment,
        click=click,
    )


def _resolve_not_enrolled(
    account: Account,
    parameters: TrackingParameters,
    asset_key: tuple[int, str],
    source_key: tuple[int, str],
) -> ResolvedCandidate:
    """A known asset and a known source whose affiliate is not in the program."""
    value = f"{parameters.asset_id} {parameters.source_id}"
    asset = (
        account.assets.select_related("program")
        .filter(
            pk=asset_key[0],
            hex=asset_key[1],
            **_build_group_filter(parameters.program_group or None),
        )
        .first()
    )
    source = (
        account.sources.select_related("affiliate")
        .filter(pk=source_key[0], hex=source_key[1])
        .first()
    )
    if asset is None or source is None or source.affiliate is None:
        return ResolvedCandidate(Candidate(ASSET_AND_SOURCE, value))
    return ResolvedCandidate(
        _build_candidate(
            ASSET_AND_SOURCE,
            value,
            asset.program,
            source.affiliate,
            EnrollmentStatus.NOT_ENROLLED,
        ),
        program=asset.program,
        affiliate=source.affiliate,
    )


def _resolve_through_enrollment(
    account: Account,
    parameter: str,
    value: str,
    program_group: str | None,
    **filters: object,
) -> ResolvedCandidate:
    enrollment = (
        account.enrollments.select_related("program", "affiliate")
        .filter(**filters, **_build_group_filter(program_group))
        .first()
    )
    if enrollment is None:
        return ResolvedCandidate(Candidate(parameter, value))
    return ResolvedCandidate(
        _build_candidate(
            parameter,
            value,
            enrollment.program,
            enrollment.affiliate,
            get_enrollment_status(enrollment),
        ),
        program=enrollment.program,
        affiliate=enrollment.affiliate,
        enrollment=enrollment,
    )


def _resolve_through_prospect(
    account: Account,
    parameter: str,
    value: str,
    program_group: str | None,
    **filters: object,
) -> ResolvedCandidate:
    prospect = (
        account.prospects.not_deleted()
        .select_related("program")
        .filter(**filters, **_build_group_filter(program_group))
        .first()
    )
    if prospect is None:
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
    """A prospect counts as approved: the attribution itself promotes it."""
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


def _build_group_filter(program_group: str | None) -> dict[str, str]:
    """Exclude programs of other groups, which count as unknown."""
    return {} if program_group is None else {"program__group_label": program_group}


def _build_candidate(
    parameter: str,
    value: str,
    program: Program,
    affiliate: Affiliate,
    status: EnrollmentStatus,
    *,
    click: Click | None = None,
    is_claim: bool = False,
) -> Candidate:
    return Candidate(
        parameter=parameter,
        value=value,
        affiliate=affiliate.slug,
        program=program.slug,
        enrollment_status=EnrollmentStatus.DELETED if affiliate.deleted_at else status,
        is_program_archived=program.archived_at is not None,
        clicked_at=click.created_at if click else None,
        cookie_time_days=program.cookie_time if click else None,
        is_claim=is_claim,
    )
