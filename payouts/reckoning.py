"""How much: a pure function over what was looked up. Rounds once; reads nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tracking.money import round_to

ENGINE = "1"
PERCENT = Decimal(100)

PERCENTAGE = "percentage"

APPROVED = "approved"
PENDING = "pending"
DISAPPROVED = "disapproved"


@dataclass(frozen=True)
class Rate:
    """What a program pays: `value` is 10 for 10 %, or 10 units of the currency."""

    identifier: str
    title: str
    kind: str
    value: Decimal
    source: str  # where the rate comes from: the type itself


@dataclass(frozen=True)
class Part:
    """A part of a sale, and the rate that it earns at."""

    sub_amount: Decimal
    rate: Rate
    comment: str | None = None


@dataclass(frozen=True)
class Facts:
    """Everything that a commission depends on."""

    currency: str
    affiliate: int
    parts: Sequence[Part]
    approves: bool  # the program approves commissions by itself
    warnings: Sequence[str] = ()
    past_cap: bool = False


@dataclass(frozen=True)
class Line:
    """One commission: who earns how much, and why so."""

    affiliate: int
    part: Part
    exact: Decimal
    amount: Decimal
    status: str
    reason: str

    def working(self) -> dict[str, Any]:
        """The arithmetic, as plain text: enough to do it again."""
        rate = self.part.rate
        return {
            "engine": ENGINE,
            "sub_amount": str(self.part.sub_amount),
            "rate": {"kind": rate.kind, "value": str(rate.value), "from": rate.source},
            "exact": str(self.exact),
            "amount": str(self.amount),
            "status": self.status,
            "reason": self.reason,
        }


def reckon(facts: Facts) -> list[Line]:
    """A commission for each part, zero ones included."""
    status, reason = birth(facts)
    return [
        Line(
            affiliate=facts.affiliate,
            part=part,
            exact=(exact := exact_amount(part.sub_amount, part.rate)),
            amount=round_to(facts.currency, exact),
            status=status,
            reason=reason,
        )
        for part in facts.parts
    ]


def exact_amount(sub_amount: Decimal, rate: Rate) -> Decimal:
    """A share of the sub-amount, or the fixed amount, in any currency."""
    if rate.kind == PERCENTAGE:
        return sub_amount * rate.value / PERCENT
    return rate.value


def birth(facts: Facts) -> tuple[str, str]:
    """The state that commissions of this sale are born in, and why."""
    if facts.past_cap:
        return DISAPPROVED, "past the program's cap for this customer"
    if facts.warnings:
        return PENDING, f"waits for a look: {', '.join(facts.warnings)}"
    if facts.approves:
        return APPROVED, "the program approves by itself"
    return PENDING, "the program lets somebody decide"
