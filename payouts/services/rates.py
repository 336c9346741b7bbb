"""Rates: the commission types that a sale names, and what its commissions depend on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from accounts.errors import Rejected, Several
from accounts.models.accounts import Account
from payouts.errors import UnknownCommissionType
from payouts.models.commission_types import CommissionType
from payouts.reckoning import Facts, Part, Rate
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


def typed(account: Account, program: Program, items: Sequence[Item]) -> list[Part]:
    """The parts of a sale with their rates, or every type that the program lacks."""
    types = list(account.commission_types.filter(program=program))
    by_name = {it.identifier: it for it in types}
    by_name[DEFAULT] = next(it for it in types if it.is_default)
    unknown: list[Rejected] = [
        UnknownCommissionType(path=item.type_path)
        for item in items
        if (item.commission_type or DEFAULT) not in by_name
    ]
    if unknown:
        raise Several(unknown)
    return [
        Part(
            sub_amount=item.sub_amount,
            rate=rate_of(by_name[item.commission_type or DEFAULT]),
            comment=item.comment,
        )
        for item in items
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


def rates_for(conversion: Conversion, *, parts: Sequence[Part]) -> Facts:
    """What the commissions of a sale depend on, as plain data."""
    return Facts(
        currency=conversion.currency,
        affiliate=conversion.affiliate_id,
        parts=parts,
        approves=conversion.program.auto_approve_commissions,
        warnings=tuple(conversion.warnings or ()),
        past_cap=is_past_cap(conversion),
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
    account = conversion.account
    # Locked before it is counted, so that "the first sale only" means the first.
    account.customers.select_for_update(no_key=True).get(pk=customer.pk)
    sales = account.conversions.present().filter(customer=customer)
    return sales.count() > cap
