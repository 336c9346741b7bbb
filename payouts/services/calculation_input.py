"""Commission types and rates of line items, and the input of the calculation."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Subquery

from accounts.compiled_queries import compiled
from accounts.db_compat import LockedSubquery
from accounts.errors import ErrorList, InvalidInput
from accounts.models.accounts import Account
from payouts.calculation import (
    DEFAULT_COMMISSION_TYPE,
    Ancestor,
    ApprovalContext,
    CalculationInput,
    CommissionRate,
    Hold,
    LineItem,
    RateSource,
    RateSourceKind,
)
from payouts.errors import NoDefaultCommissionType
from payouts.models.commission_types import (
    MIN_PARENT_LEVEL,
    CommissionType,
    GroupRate,
    Level,
)
from payouts.models.commissions import CommissionStatus
from payouts.models.rates import Rate
from payouts.rates import WITHOUT_RATE, ProgramRates, SaleFacts
from payouts.services.rate_files import build_rule
from tracking.attribution import RejectionReason
from tracking.claims import ClaimStatus
from tracking.errors import MissingAmount, UnknownReference
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.models.conversions import Conversion
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program


@compiled
def commission_types_of(account: Account, program: Program, group: int, affiliate: int) -> Any:
    """The commission types of a program with `group_hold`, the days of a group, and with
    `under_review_since` of an affiliate."""
    groups = AffiliateGroup.objects.of(account).filter(pk=group)
    rows = CommissionType.objects.of(account).filter(program=program)
    return rows.annotate(
        group_hold=Subquery(groups.values("hold_days")),
        under_review_since=_read_under_review(account, affiliate),
        has_rules=Exists(Rate.objects.of(account).filter(program=program)),
    )


@compiled
def rules_of(account: Account, program: Program, group: int, affiliate: int) -> QuerySet[Rate]:
    """The further rates of a program for an affiliate, in the order of their positions."""
    rows = Rate.objects.of(account).select_related("commission_type", "group", "affiliate")
    rows = rows.filter(Q(group=None) | Q(group=group), program=program)
    return rows.filter(Q(affiliate=None) | Q(affiliate=affiliate)).order_by("position", "id")


@compiled
def levels_of(account: Account, program: Program) -> QuerySet[Level]:
    """The levels of a program."""
    return Level.objects.of(account).filter(program=program)


@compiled
def group_rates_of(account: Account, program: Program, group: int) -> QuerySet[GroupRate]:
    """The rates of an affiliate group for the commission types of a program."""
    rows = GroupRate.objects.of(account).select_related("group")
    return rows.filter(commission_type__program=program, group=group)


@compiled
def parent_in_program(account: Account, program: Program, pk: int) -> Any:
    """An affiliate with `approved`, its approval in the program, and `reviewed_since`."""
    enrollments = Enrollment.objects.of(account).filter(program=program, affiliate=OuterRef("pk"))
    return (
        Affiliate.objects.of(account)
        .annotate(
            approved=Subquery(enrollments.values("approved")[:1]),
            reviewed_since=_read_under_review(account, pk),
        )
        .filter(pk=pk)
    )


def _read_under_review(account: Account, pk: int) -> LockedSubquery:
    """Since when an affiliate is under review: a case that opens waits for the sale."""
    rows = Affiliate.objects.of(account).filter(pk=pk)
    return LockedSubquery(rows.values("under_review_since"))


def list_rates(
    account: Account,
    program: Program,
    *,
    group_id: int | None,
    affiliate: Affiliate | None,
    at: datetime,
) -> ProgramRates:
    """Return the rates of a program for an affiliate, for a sale of this time.

    `group_id` is the group of the affiliate: its rate replaces that of the type, and
    its hold that of the program. The same statement reads into `affiliate` whether it is
    under review, until the commit. Raises `NoDefaultCommissionType`.
    """
    types = commission_types_of.all(
        account=account,
        program=program,
        group=group_id or 0,
        affiliate=affiliate.pk if affiliate else 0,
    )
    default = next((row for row in types if row.is_default), None)
    if default is None:
        raise NoDefaultCommissionType(program=program.title)
    if affiliate is not None:
        affiliate.under_review_since = default.under_review_since
    hold = Hold(program.hold_days)
    if default.group_hold is not None:
        hold = Hold(default.group_hold, "group")
    rates = {
        row.pk: CommissionRate(
            identifier=row.identifier,
            title=row.title,
            pays_parents=row.mlm,
            hold=hold,
            **(
                {"kind": row.kind, "value": row.value, "source": _get_type_source(row)}
                if _holds(row, at)
                else WITHOUT_RATE
            ),
        )
        for row in types
    }
    if group_id is not None:
        for row in group_rates_of.all(account=account, program=program, group=group_id):
            rate = rates.get(row.commission_type_id)
            if rate is None or not _holds(row, at):
                continue  # its type was added after the types were read, or it has ended
            rates[row.commission_type_id] = replace(
                rate,
                kind=row.kind,
                value=row.value,
                source=RateSource(RateSourceKind.GROUP, rate.identifier, group=row.group.public_id),
            )
    by_type = {rate.identifier: rate for rate in rates.values()}
    by_type[DEFAULT_COMMISSION_TYPE] = rates[default.pk]
    if not default.has_rules:
        return ProgramRates(by_type)
    rules = rules_of.all(
        account=account,
        program=program,
        group=group_id or 0,
        affiliate=affiliate.pk if affiliate else 0,
    )
    return ProgramRates(by_type, [build_rule(row) for row in rules if _holds(row, at)])


def _get_type_source(row: CommissionType) -> RateSource:
    return RateSource(RateSourceKind.COMMISSION_TYPE, row.identifier)


def _holds(row: CommissionType | GroupRate | Rate, at: datetime) -> bool:
    is_begun = not isinstance(row, Rate) or (
        row.counts_from <= at and (row.starts_at is None or row.starts_at <= at)
    )
    return is_begun and (row.ends_at is None or at < row.ends_at)


def _read_sale_facts(conversion: Conversion, rates: ProgramRates) -> SaleFacts:
    """Return what the rates of a sale depend on. The caller has locked its customer."""
    account, program = conversion.account, conversion.program
    is_own = conversion.currency == program.currency
    number, first = 1, None
    if rates.depends_on_orders and conversion.customer_id is not None:
        rows = account.conversions.not_deleted().filter(customer=conversion.customer_id)
        earlier = rows.exclude(pk=conversion.pk).aggregate(
            number=Count("pk"), first=Min("created_at")
        )
        number, first = earlier["number"] + 1, earlier["first"]
    return SaleFacts(
        day=account.get_day(conversion.created_at),
        amount=conversion.amount if is_own else None,
        meta_data=conversion.meta_data,
        order_number=number,
        first_order_day=account.get_day(first) if first else None,
    )


def ensure_types_known(line_items: Sequence[LineItem], rates: ProgramRates) -> None:
    """Raise `ErrorList` with every commission type that the program does not have."""
    unknown: list[InvalidInput] = [
        UnknownReference(what="commission type", path=item.type_path)
        for item in line_items
        if item.type_name not in rates.types
    ]
    if unknown:
        raise ErrorList(unknown)


def ensure_amount_sent(
    line_items: Sequence[LineItem],
    rates: ProgramRates,
    *,
    has_amount: bool,
) -> None:
    """Raise `MissingAmount` for a sale without amount whose rate may be a percentage."""
    if not has_amount and any(rates.has_percentage(item.type_name) for item in line_items):
        raise MissingAmount(path="amount")


def drop_unknown_types(line_items: Sequence[LineItem], rates: ProgramRates) -> list[LineItem]:
    """Return the line items, without the commission types that the program lacks."""
    return [
        item if item.type_name in rates.types else replace(item, commission_type=None)
        for item in line_items
    ]


def build_calculation_input(
    conversion: Conversion,
    *,
    line_items: Sequence[LineItem],
    rates: ProgramRates,
    should_apply_cap: bool = True,
    is_browser_sale: bool = False,
) -> CalculationInput:
    """Collect everything that the commissions of a conversion depend on.

    Without `should_apply_cap` the customer's cap is ignored: for extra rewards
    (docs/api-contract.md, section 2.2.8).
    """
    program = conversion.program
    return CalculationInput(
        currency=conversion.currency,
        affiliate_id=conversion.affiliate_id,
        line_items=line_items,
        rates=rates.choose(_read_sale_facts(conversion, rates)) if rates.rules else rates.types,
        approval_context=ApprovalContext(
            is_auto_approved=program.auto_approve_commissions,
            warnings=tuple(conversion.warnings or ()),
            is_unverified_browser_sale=is_browser_sale and not program.auto_approve_browser_sales,
            is_past_cap=should_apply_cap and is_past_cap(conversion),
            is_disputed=conversion.disputed_at is not None,
            is_under_review=conversion.affiliate.under_review_since is not None,
            is_approval_final=conversion.account.uses_payouts,
        ),
        ancestors=list_ancestors(conversion),
    )


def list_conversions_in_cap(conversion: Conversion) -> QuerySet[Conversion]:
    """The other conversions of the customer that count toward the program's cap."""
    earning = conversion.account.commissions.not_deleted().exclude(
        status=CommissionStatus.DISAPPROVED
    )
    return (
        conversion.account.conversions.not_deleted()
        .filter(customer=conversion.customer, pk__in=earning.values("conversion"))
        .exclude(claim_status=ClaimStatus.OPEN)
        .exclude(pk=conversion.pk)
    )


def is_past_cap(conversion: Conversion) -> bool:
    """Has the customer reached the cap (docs/api-contract.md, section 7.5)?

    The conversion itself does not count, although a claim that becomes a fact has
    commissions already.
    """
    program, customer = conversion.program, conversion.customer
    cap = 1 if not program.recurring else program.recurring_cap
    if customer is None or (cap is None and program.recurring_period_days is None):
        return False
    if program.recurring_period_days is not None and customer.is_confirmed:
        ends = customer.created_at + timedelta(days=program.recurring_period_days)
        if conversion.created_at > ends:
            return True
    if cap is None:
        return False
    # The caller has locked the customer, so that no other conversion is counted twice.
    return list_conversions_in_cap(conversion).count() >= cap


def list_ancestors(conversion: Conversion) -> list[Ancestor]:
    """Return the affiliate's parents, nearest first, one per level."""
    account, program = conversion.account, conversion.program
    parent_id = conversion.affiliate.parent_id
    if parent_id is None or not account.plan.mlm:
        return []
    rows = levels_of.all(account=account, program=program)
    levels = {row.level: row for row in rows}
    ancestors: list[Ancestor] = []
    level = MIN_PARENT_LEVEL
    while parent_id is not None and level in levels:
        (parent,) = parent_in_program.all(account=account, program=program, pk=parent_id)
        ancestors.append(_build_ancestor(parent, levels[level]))
        parent_id, level = parent.parent_id, level + 1
    return ancestors


def _build_ancestor(parent: Any, level: Level) -> Ancestor:
    reason = None
    if parent.deleted_at is not None:
        reason = RejectionReason.AFFILIATE_DELETED
    elif not parent.approved:
        reason = RejectionReason.NOT_APPROVED
    return Ancestor(
        affiliate_id=parent.pk,
        slug=parent.slug,
        level=level.level,
        rate=CommissionRate(
            identifier=f"level-{level.level}",
            title=level.title,
            kind=level.kind,
            value=level.value,
            source=RateSource(RateSourceKind.LEVEL, level=level.level),
        ),
        skip_reason=reason,
        is_under_review=parent.reviewed_since is not None,
    )
