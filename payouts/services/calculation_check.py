"""Comparison of a commission with its stored calculation."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from payouts.calculation import calculate_exact_amount
from payouts.models.commissions import Commission
from tracking.money import round_amount

Difference = tuple[str, object, object]  # what, stored, calculated


def list_calculation_differences(commission: Commission) -> list[Difference]:
    """Calculate a commission again from its stored inputs; list what differs.

    A calculation that cannot be read is one difference.
    """
    try:
        calculation = json.loads(commission.calculation)
        return [
            (what, stored, calculated)
            for what, stored, calculated in _compare(commission, calculation)
            if stored != calculated
        ]
    except (ArithmeticError, KeyError, TypeError, ValueError):
        return [("calculation", commission.calculation, "a calculation")]


def _compare(
    commission: Commission, calculation: dict[str, Any]
) -> Iterator[Difference]:
    if commission.conversion_id is None:  # a bonus
        base_amount = Decimal(calculation["reached"]["amount"])
    else:
        base_amount = Decimal(calculation["sub_amount"])
        yield "sub-amount", commission.sub_amount, base_amount
        yield "affiliate", commission.affiliate_id, calculation["affiliate_id"]
    rate_kind = calculation["rate"]["kind"]
    rate = Decimal(calculation["rate"]["value"])
    exact_amount = calculate_exact_amount(base_amount, rate_kind, rate)
    amount = Decimal(calculation["amount"])
    if not calculation.get("is_overridden"):
        amount = round_amount(exact_amount, commission.currency)
    yield "kind of rate", commission.rate_kind, rate_kind
    yield "rate", commission.rate, rate
    yield "exact amount", Decimal(calculation["exact_amount"]), exact_amount
    yield "amount", commission.amount, amount
    yield "stored amount", Decimal(calculation["amount"]), amount
