"""The lines of a sale and of its refunds, brought to what counts."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from payouts.calculation import allocate_proportionally
from payouts.shop_facts import Line, RefundFact
from tracking.money import ROUNDING_CONTEXT, ZERO, round_amount


def build_lines(lines: Sequence[Line], total: Decimal, currency: str) -> list[Line]:
    """Return lines whose sum is the total, in proportion to what the shop lists.

    A line below zero, such as a credit for unused time, lowers all lines above zero;
    so does what is paid in another way, and tax or shipping that earns raises them.
    """
    total = max(total, ZERO)
    amounts = [Decimal(line["amount"]) for line in lines]
    if lines and sum(amounts) == total and min(amounts) >= ZERO:
        return list(lines)
    parts = [amount for amount in amounts if amount > ZERO]
    if not parts:
        products = [name for line in lines for name in line["products"]]
        return [{"id": "", "products": products, "amount": str(total)}]
    scaled = iter(
        allocate_proportionally(
            parts,
            old_total=sum(parts, ZERO),
            new_total=total,
            currency=currency,
            is_complete=True,
        )
    )
    new = [next(scaled) if amount > ZERO else ZERO for amount in amounts]
    return [
        {**line, "amount": str(amount), "listed": line["amount"]}
        for line, amount in zip(lines, new, strict=True)
    ]


def take_from_sale(line: Line) -> Line:
    """Return a line that earns nothing, such as a gift card or a tip.

    Its refunds, which have the amount that the shop lists, take nothing then.
    """
    return {**line, "amount": "0", "listed": line.get("listed", line["amount"])}


def build_refund(
    at: str, amount: Decimal, lines: Mapping[str, Decimal], currency: str = ""
) -> RefundFact:
    """Return a refund."""
    fact: RefundFact = {
        "at": at,
        "amount": str(amount),
        "lines": {name: str(each) for name, each in lines.items()},
        "is_canceled": False,
    }
    if currency:
        fact["currency"] = currency
    return fact


def scale_refund(
    lines: Mapping[str, Decimal], part: Decimal, whole: Decimal, currency: str
) -> dict[str, Decimal]:
    """Return refunded lines of which only a part of their value was paid back."""
    total = sum(lines.values(), ZERO)
    product = ROUNDING_CONTEXT.multiply(total, part)
    parts = allocate_proportionally(
        list(lines.values()),
        old_total=total,
        new_total=round_amount(ROUNDING_CONTEXT.divide(product, whole), currency),
        currency=currency,
        is_complete=True,
    )
    return dict(zip(lines, parts, strict=True))
