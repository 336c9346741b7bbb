"""Rates: the commission types that a sale names, and what its commissions depend on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import OuterRef, Subquery

from accounts.errors import Rejected, Several
from accounts.models.accounts import Account
from payouts.errors import UnknownCommissionType
from payouts.models.commission_types import FIRST_LEVEL, CommissionType, Level
from payouts.models.commissions import Status
from payouts.reckoning import Ancestor, Circumstances, Facts, Part, Rate
from tracking.models.conversions import Conversion
from tracking.models.programs import Program

DEFAULT = "default"


@dataclass(frozen=True)
class Item:
    """A part of a sale as the caller names it; the paths say where it stood."""

    sub_amount: Decimal
    commission_type: str | None = None
    comment: str | None = None
    amount_path: str = "amount"
    type_path: str = "commission_type"

    @property
    def type_name(self) -> str:
        return DEFAULT if self.commission_type is None else self.commission_type


def typed(
    account: Account, program: Program, items: Sequence[Item], *, group: int | None
) -> list[Part]:
    """The parts of a sale with their rates, or every type that the program lacks.

    `group` is the one of whoever sold: its rate takes the place of the type's.
    """
    types = list(account.commission_types.filter(program=program))
    by_name = {it.identifier: it for it in types}
    by_name[DEFAULT] = next(it for it in types if it.is_default)
    unknown: list[Rejected] = [
        UnknownCommissionType(path=item.type_path)
        for item in items
        if item.type_name not in by_name
    ]
    if unknown:
        raise Several(unknown)
    named = [by_name[item.type_name] for item in items]
    rates = {it.pk: rate_of(it) for it in types} | _group_rates(account, types, group)
    return [
        Part(
            sub_amount=item.sub_amount,
            rate=rates[kind.pk],
            comment=item.comment,
            mlm=kind.mlm,
        )
        for item, kind in zip(items, named, strict=True)
    ]


def rate_of(kind: CommissionType) -> Rate:
    """A commission type as plain data."""
    return Rate(
        identifier=kind.identifier,
        title=kind.title,
        kind=kind.kind,
        value=kind.value,
        source=f"commission type {kind.identifier}",
    )


def rates_for(
    conversion: Conversion,
    *,
    parts: Sequence[Part],
    capped: bool = True,
    by_page: bool = False,
) -> Facts:
    """What the commissions of a sale depend on, as plain data.

    Not `capped`: rewards that are added to a sale, however much its customer earned.
    """
    program = conversion.program
    return Facts(
        currency=conversion.currency,
        affiliate=conversion.affiliate_id,
        parts=parts,
        circumstances=Circumstances(
            approves=program.auto_approve_commissions,
            warnings=tuple(conversion.warnings or ()),
            told_by_page=by_page and not program.auto_approve_browser_sales,
            past_cap=capped and is_past_cap(conversion),
        ),
        ancestors=ancestors_of(conversion),
    )


def is_past_cap(conversion: Conversion) -> bool:
    """Has this customer earned its affiliate all that the program grants?"""
    program, customer = conversion.program, conversion.customer
    cap = 1 if not program.recurring else program.recurring_cap
    if customer is None or (cap is None and program.recurring_period_days is None):
        return False
    if program.recurring_period_days is not None:
        ends = customer.created_at + timedelta(days=program.recurring_period_days)
        if conversion.created_at > ends:
            return True
    if cap is None:
        return False
    # The sale has locked its customer, so that "the first sale only" means the first.
    sales = conversion.account.conversions.present().filter(customer=customer)
    earning = conversion.account.commissions.present().exclude(
        status=Status.DISAPPROVED
    )
    return sales.filter(pk__in=earning.values("conversion")).count() >= cap


def ancestors_of(conversion: Conversion) -> list[Ancestor]:
    """The parents of whoever sold, nearest first, as far as the program has levels."""
    account, program = conversion.account, conversion.program
    above = conversion.affiliate.parent_id
    if above is None or not account.plan.mlm:
        return []
    levels = {row.level: row for row in account.levels.filter(program=program)}
    found: list[Ancestor] = []
    level = FIRST_LEVEL
    while above is not None and level in levels:
        parent = _parent(account, program, above)
        found.append(_ancestor(parent, levels[level]))
        above, level = parent.parent_id, level + 1
    return found


def _parent(account: Account, program: Program, number: int) -> Any:
    """An affiliate, and how it stands in the program."""
    enrolments = account.enrolments.filter(program=program, affiliate=OuterRef("pk"))
    return account.affiliates.annotate(
        approved=Subquery(enrolments.values("approved")[:1])
    ).get(pk=number)


def _ancestor(parent: Any, level: Level) -> Ancestor:
    reason = None
    if parent.removed_at is not None:
        reason = "the affiliate is deleted"
    elif not parent.approved:
        reason = "not approved in the program"
    return Ancestor(
        affiliate=parent.pk,
        slug=parent.slug,
        level=level.level,
        rate=Rate(
            identifier=f"level-{level.level}",
            title=level.title,
            kind=level.kind,
            value=level.value,
            source=f"level {level.level} of the program",
        ),
        passed_over=reason,
    )


def _group_rates(
    account: Account, types: Sequence[CommissionType], group: int | None
) -> dict[int, Rate]:
    if group is None:
        return {}
    by_type = {it.pk: it for it in types}
    rows = account.group_rates.select_related("group").filter(
        commission_type__in=by_type, group=group
    )
    return {
        row.commission_type_id: Rate(
            identifier=(kind := by_type[row.commission_type_id]).identifier,
            title=kind.title,
            kind=row.kind,
            value=row.value,
            source=f"group {row.group.public_id} for type {kind.identifier}",
        )
        for row in rows
    }
