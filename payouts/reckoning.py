"""How much: a pure function over what was looked up. Rounds once; reads nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from tracking.money import NOUGHT, ROOM, round_to

ENGINE = "1"
PERCENT = Decimal(100)

PERCENTAGE = "percentage"

APPROVED = "approved"
PENDING = "pending"
DISAPPROVED = "disapproved"

REGULAR = "regular"
LEVEL = "level"


@dataclass(frozen=True)
class Rate:
    """What a program pays: `value` is 10 for 10 %, or 10 units of the currency."""

    identifier: str
    title: str
    kind: str
    value: Decimal
    source: str  # where the rate comes from: the type, a group's rate for it, a level


@dataclass(frozen=True)
class Part:
    """A part of a sale, and the rate that it earns at."""

    sub_amount: Decimal
    rate: Rate
    comment: str | None = None
    mlm: bool = True  # do parents earn by it?


@dataclass(frozen=True)
class Ancestor:
    """A parent of whoever sold, and what its level earns; passed over with a reason."""

    affiliate: int
    slug: str
    level: int
    rate: Rate
    passed_over: str | None = None


@dataclass(frozen=True)
class Circumstances:
    """What the state depends on that a commission is born in."""

    approves: bool  # the program approves commissions by itself
    warnings: Sequence[str] = ()
    told_by_page: bool = False  # and the program does not trust pages
    past_cap: bool = False
    covered: bool = True  # by the payout balance, where there is one
    leads: str | None = None  # the state of the commission that this one follows

    def birth(self) -> tuple[str, str]:
        """The state, and why."""
        if self.leads is not None and (self.covered or self.leads != APPROVED):
            return self.leads, "as the commission that it follows"
        if self.past_cap:
            return DISAPPROVED, "past the program's cap for this customer"
        if self.warnings:
            return PENDING, f"waits for a look: {', '.join(self.warnings)}"
        if self.told_by_page:
            return PENDING, "told by a page, which anybody can open"
        if not self.approves:
            return PENDING, "the program lets somebody decide"
        if not self.covered:
            return PENDING, "the payout balance does not cover it"
        return APPROVED, "the program approves by itself"


@dataclass(frozen=True)
class Facts:
    """Everything that the commissions of a sale depend on."""

    currency: str
    affiliate: int
    parts: Sequence[Part]
    circumstances: Circumstances
    ancestors: Sequence[Ancestor] = ()


@dataclass(frozen=True)
class Line:
    """One commission: who earns how much, and why so.

    `leader` is the place among the lines of the one whose level this is.
    """

    affiliate: int
    part: Part
    exact: Decimal
    amount: Decimal
    circumstances: Circumstances
    leader: int | None = None
    passed_over: Sequence[Ancestor] = ()

    @property
    def kind(self) -> str:
        return REGULAR if self.leader is None else LEVEL

    @property
    def status(self) -> str:
        return self.circumstances.birth()[0]

    @property
    def reason(self) -> str:
        return self.circumstances.birth()[1]

    def under(self, **changed: Any) -> "Line":
        """The same line in other circumstances."""
        return replace(self, circumstances=replace(self.circumstances, **changed))

    def working(self) -> dict[str, Any]:
        """The arithmetic and its reasons, as plain data: enough to do it again."""
        rate = self.part.rate
        told: dict[str, Any] = {
            "engine": ENGINE,
            "affiliate": self.affiliate,
            "sub_amount": str(self.part.sub_amount),
            "rate": {"kind": rate.kind, "value": str(rate.value), "from": rate.source},
            "exact": str(self.exact),
            "amount": str(self.amount),
            "status": self.status,
            "reason": self.reason,
            "circumstances": vars(self.circumstances)
            | {"warnings": list(self.circumstances.warnings)},
        }
        if self.passed_over:
            told["passed_over"] = [
                {"level": it.level, "affiliate": it.slug, "reason": it.passed_over}
                for it in self.passed_over
            ]
        return told


def reckon(facts: Facts) -> list[Line]:
    """A commission for each part, zero ones included, then for each of its levels."""
    regular = [
        line_of(facts, facts.affiliate, part, circumstances=facts.circumstances)
        for part in facts.parts
    ]
    passed_over = [it for it in facts.ancestors if it.passed_over]
    levels = [
        line_of(
            facts,
            ancestor.affiliate,
            replace(line.part, rate=ancestor.rate, comment=None),
            circumstances=replace(facts.circumstances, leads=line.status),
            leader=leader,
        )
        for leader, line in enumerate(regular)
        if line.part.mlm
        for ancestor in facts.ancestors
        if not ancestor.passed_over
    ]
    return [replace(line, passed_over=passed_over) for line in regular] + levels


def line_of(facts: Facts, affiliate: int, part: Part, **values: Any) -> Line:
    """One line, its amount rounded once."""
    exact = exact_amount(part.sub_amount, part.rate.kind, part.rate.value)
    amount = round_to(facts.currency, exact)
    return Line(affiliate=affiliate, part=part, exact=exact, amount=amount, **values)


def exact_amount(sub_amount: Decimal, kind: str, value: Decimal) -> Decimal:
    """A share of the sub-amount, or the fixed amount, in any currency."""
    return sub_amount * value / PERCENT if kind == PERCENTAGE else value


def shares(
    parts: Sequence[Decimal],
    *,
    was: Decimal,
    now: Decimal,
    currency: str,
    complete: bool,
) -> list[Decimal]:
    """The parts of a sale whose amount changed, each in proportion, rounded half up.

    `complete`: they are all there are. Then a single one becomes the whole, and parts
    that made the whole make the new one too: none takes more than is left, the last
    takes the rest. Of a whole of nought the first becomes the new one.
    """
    if not was:
        return [now, *[NOUGHT] * (len(parts) - 1)] if parts else []
    if complete and len(parts) == 1:
        return [now]
    scaled = [
        round_to(currency, ROOM.divide(ROOM.multiply(part, now), was)) for part in parts
    ]
    if not complete or sum(parts, NOUGHT) != was:
        return scaled
    left, kept = now, []
    for share in scaled[:-1]:
        kept.append(min(share, left))
        left -= kept[-1]
    return [*kept, left]
