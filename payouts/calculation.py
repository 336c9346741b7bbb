"""Commission calculation: pure functions over input that was read before.

Every amount is rounded once, when a draft is built.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tracking.attribution import RejectionReason
from tracking.money import ROUNDING_CONTEXT, ZERO, round_amount

ENGINE = "1"
ENGINE_OF_CHOICES = "2"  # with the choice between several rates of a program
PERCENT_DIVISOR = Decimal(100)

# The values of `RateKind`, `CommissionStatus` and `CommissionKind`, repeated because
# this module does not import Django.
PERCENTAGE = "percentage"

APPROVED = "approved"
PENDING = "pending"
DISAPPROVED = "disapproved"

REGULAR = "regular"
LEVEL = "level"

DEFAULT_COMMISSION_TYPE = "default"  # stands for the default type of the program


class InitialStatusReason(StrEnum):
    """Why a commission has its first status. The values are stored in calculations."""

    BASE_COMMISSION = "base_commission"
    CAP_REACHED = "cap_reached"
    NEEDS_REVIEW = "needs_review"
    UNVERIFIED_BROWSER_SALE = "unverified_browser_sale"
    PROGRAM_REQUIRES_APPROVAL = "program_requires_approval"
    UNDER_REVIEW = "under_review"
    DISPUTED = "disputed"
    INSUFFICIENT_FUNDS = "insufficient_funds"
    PROGRAM_APPROVES = "program_approves"
    IMPORTED = "imported"
    NO_RATE = "no_rate"


@dataclass(frozen=True)
class Hold:
    """The days from a sale until its commissions are due, and who says so."""

    days: int = 0
    source: str = "program"  # or a group


class RateSourceKind(StrEnum):
    """What a rate is from. The values are stored in calculations."""

    COMMISSION_TYPE = "commission_type"
    GROUP = "group"  # a group rate for a commission type
    RULE = "rule"  # a further rate of the program, for some of its sales
    NONE = "none"  # no rate holds
    LEVEL = "level"
    BONUS = "bonus"
    IMPORT = "import"


@dataclass(frozen=True)
class RateSource:
    """Where a rate is from, with the ID of the group."""

    kind: RateSourceKind
    commission_type: str = ""
    group: str = ""
    level: int = 0
    words: Mapping[str, Any] | None = None  # of a rule

    @property
    def is_of_group(self) -> bool:
        """Whether the rate is one of an affiliate group."""
        return bool(self.group) or "group" in (self.words or ())

    def serialize(self) -> dict[str, Any]:
        """Return what it consists of as JSON data."""
        return {name: value for name, value in vars(self).items() if value}

    def describe(self, group_title: str | None = None) -> str:
        """Return `group ag_1 for type standard`, or with the title of the group."""
        if self.kind == RateSourceKind.COMMISSION_TYPE:
            return f"commission type {self.commission_type}"
        if self.kind == RateSourceKind.GROUP:
            return f"group {group_title or self.group} for type {self.commission_type}"
        if self.kind == RateSourceKind.LEVEL:
            return f"level {self.level} of the program"
        if self.kind == RateSourceKind.NONE:
            return "no rate of the program holds"
        return describe_rule(self.words) if self.words is not None else self.kind


def write_rate(words: Mapping[str, Any]) -> str:
    """Return `10 % + 3: affiliate ada, order 1 of a customer`."""
    parts = [f"{words[PERCENTAGE]} %"] if PERCENTAGE in words else []
    parts += [words["fixed"]] if "fixed" in words else []
    return f"{' + '.join(parts)}: {describe_rule(words)}"


def describe_rule(words: Mapping[str, Any]) -> str:
    """Return `affiliate ada, orders 2 to 5`: what a rule of a program is for."""
    parts = [f"{name} {words[name]}" for name in ("affiliate", "group", "type") if name in words]
    orders = words.get("orders", {})
    if "months" in orders:
        parts.append(f"orders of a customer's first {orders['months']} months")
    elif orders:
        parts.append(_describe_orders(orders.get("from", 1), orders.get("to")))
    for condition in words.get("when", ()):
        name, texts = condition["field"], condition.get("is", ())
        allowed = [texts] if isinstance(texts, str) else texts
        test = f"above {condition['above']}" if "above" in condition else " or ".join(allowed)
        parts.append(f"{name} {test}" if "above" in condition else f"{name} is {test}")
    return ", ".join(parts) or "all sales"


def _describe_orders(first: int, last: int | None) -> str:
    if first == last:
        return f"order {first} of a customer"
    return (
        f"orders {first} to {last} of a customer" if last else f"orders from {first} of a customer"
    )


@dataclass(frozen=True)
class CommissionRate:
    """A rate of a program: `value` is 10 for 10 %, or 10 units of the currency."""

    identifier: str
    title: str
    kind: str
    value: Decimal
    source: RateSource
    pays_parents: bool = True  # whether parent affiliates earn level commissions
    hold: Hold = Hold()
    fixed: Decimal = ZERO  # on top of a percentage
    choice: Mapping[str, Any] | None = None  # between several rates, as it is stored


@dataclass(frozen=True)
class LineItem:
    """A part of a conversion as the caller stated it, with the paths for its errors."""

    sub_amount: Decimal
    commission_type: str | None = None
    comment: str | None = None
    amount_path: str = "amount"
    type_path: str = "commission_type"

    @property
    def type_name(self) -> str:
        if self.commission_type is None:
            return DEFAULT_COMMISSION_TYPE
        return self.commission_type


@dataclass(frozen=True)
class Ancestor:
    """A parent affiliate at a level, and the rate of that level.

    With a `skip_reason` it earns no commission.
    """

    affiliate_id: int
    slug: str
    level: int
    rate: CommissionRate
    skip_reason: RejectionReason | None = None
    is_under_review: bool = False


@dataclass(frozen=True)
class ApprovalContext:
    """What the initial status of a commission depends on."""

    is_auto_approved: bool  # the program approves commissions automatically
    warnings: Sequence[str] = ()
    is_unverified_browser_sale: bool = False  # the program does not trust the script
    is_past_cap: bool = False
    has_funds: bool = True  # the payout balance, if there is one, is sufficient
    base_status: str | None = None  # status of the base commission of a level
    is_disputed: bool = False  # the shop has an open dispute about the sale
    is_under_review: bool = False  # an open risk case holds what the affiliate earns
    is_approval_final: bool = False  # the account has the payout feature
    has_rate: bool = True

    def initial_status(self) -> tuple[str, InitialStatusReason]:
        """Return the initial status and its reason, which are stored and verified."""
        status, reason = self._find_status()
        is_earned = status != DISAPPROVED
        return status, reason if self.has_rate or not is_earned else InitialStatusReason.NO_RATE

    def serialize(self) -> dict[str, Any]:
        """Return it as JSON data; `has_rate` only where it says something."""
        data = vars(self) | {"warnings": list(self.warnings)}
        if self.has_rate:
            del data["has_rate"]
        return data

    def _find_status(self) -> tuple[str, InitialStatusReason]:
        is_reviewed_first = self.is_under_review and self.is_approval_final
        can_follow = self.has_funds and not is_reviewed_first
        # A level has the status of its base commission. Only an approved one that the payout
        # balance does not cover, or that is reviewed first, becomes pending below.
        if self.base_status is not None and (can_follow or self.base_status != APPROVED):
            return self.base_status, InitialStatusReason.BASE_COMMISSION
        if self.is_past_cap:
            return DISAPPROVED, InitialStatusReason.CAP_REACHED
        for applies, reason in (
            (self.warnings, InitialStatusReason.NEEDS_REVIEW),
            (self.is_unverified_browser_sale, InitialStatusReason.UNVERIFIED_BROWSER_SALE),
            (not self.is_auto_approved, InitialStatusReason.PROGRAM_REQUIRES_APPROVAL),
            # Before a dispute, at whose end it would be approved.
            (is_reviewed_first, InitialStatusReason.UNDER_REVIEW),
            (self.is_disputed, InitialStatusReason.DISPUTED),
            (not self.has_funds, InitialStatusReason.INSUFFICIENT_FUNDS),
        ):
            if applies:
                return PENDING, reason
        return APPROVED, InitialStatusReason.PROGRAM_APPROVES


@dataclass(frozen=True)
class CalculationInput:
    """Everything that the commissions of a conversion depend on."""

    currency: str
    affiliate_id: int
    line_items: Sequence[LineItem]
    rates: Mapping[str, CommissionRate]  # by the `type_name` of a line item
    approval_context: ApprovalContext
    ancestors: Sequence[Ancestor] = ()


@dataclass(frozen=True)
class CommissionDraft:
    """A calculated commission that is not stored yet.

    `base_index` is the position of the base commission's draft, for a level.
    """

    affiliate_id: int
    line_item: LineItem
    rate: CommissionRate
    exact_amount: Decimal
    amount: Decimal
    approval_context: ApprovalContext
    base_index: int | None = None
    skipped: Sequence[Ancestor] = ()

    @property
    def kind(self) -> str:
        return REGULAR if self.base_index is None else LEVEL

    @property
    def status(self) -> str:
        return self.approval_context.initial_status()[0]

    @property
    def reason(self) -> InitialStatusReason:
        return self.approval_context.initial_status()[1]

    @property
    def is_held(self) -> bool:
        """Whether an open risk case keeps it on hold from the start."""
        return self.approval_context.is_under_review and self.status != DISAPPROVED

    def with_approval_context(self, **changed: Any) -> "CommissionDraft":
        """Return a copy with other values in its approval context."""
        return replace(self, approval_context=replace(self.approval_context, **changed))

    def serialize_calculation(self) -> dict[str, Any]:
        """Return the calculation as JSON data, complete enough to verify it later."""
        rate = self.rate
        data: dict[str, Any] = {
            "engine": ENGINE_OF_CHOICES if rate.choice else ENGINE,
            "affiliate_id": self.affiliate_id,
            "sub_amount": str(self.line_item.sub_amount),
            "rate": {
                "kind": rate.kind,
                "value": str(rate.value),
                "source": rate.source.serialize(),
            },
            "exact_amount": str(self.exact_amount),
            "amount": str(self.amount),
            "status": self.status,
            "reason": self.reason,
            "approval_context": self.approval_context.serialize(),
        }
        if rate.fixed:
            data["rate"]["fixed"] = str(rate.fixed)
        if rate.choice:
            data["choice"] = rate.choice
        if rate.hold.days or rate.hold.source == "group":
            data["hold"] = {"days": rate.hold.days, "from": rate.hold.source}
        if self.skipped:
            data["skipped"] = [
                {
                    "level": ancestor.level,
                    "affiliate": ancestor.slug,
                    "reason": ancestor.skip_reason,
                }
                for ancestor in self.skipped
            ]
        return data


def calculate_commissions(calculation_input: CalculationInput) -> list[CommissionDraft]:
    """Return a draft for each line item, then one for each of its levels.

    Drafts of zero are included (docs/api-contract.md, section 7.2).
    """
    context = calculation_input.approval_context
    regular = [
        build_draft(
            calculation_input,
            calculation_input.affiliate_id,
            line_item,
            calculation_input.rates[line_item.type_name],
            approval_context=context,
        )
        for line_item in calculation_input.line_items
    ]
    skipped = [ancestor for ancestor in calculation_input.ancestors if ancestor.skip_reason]
    levels = [
        build_draft(
            calculation_input,
            ancestor.affiliate_id,
            replace(draft.line_item, comment=None),
            replace(ancestor.rate, hold=draft.rate.hold),
            approval_context=replace(
                context, base_status=draft.status, is_under_review=ancestor.is_under_review
            ),
            base_index=index,
        )
        for index, draft in enumerate(regular)
        if draft.rate.pays_parents
        for ancestor in calculation_input.ancestors
        if not ancestor.skip_reason
    ]
    return [
        replace(draft, skipped=skipped) if draft.rate.pays_parents else draft for draft in regular
    ] + levels


def build_draft(
    calculation_input: CalculationInput,
    affiliate_id: int,
    line_item: LineItem,
    rate: CommissionRate,
    *,
    approval_context: ApprovalContext,
    base_index: int | None = None,
) -> CommissionDraft:
    """Return the draft of one commission, its amount rounded once."""
    exact_amount = calculate_exact_amount(line_item.sub_amount, rate.kind, rate.value, rate.fixed)
    has_rate = rate.source.kind != RateSourceKind.NONE
    return CommissionDraft(
        affiliate_id=affiliate_id,
        line_item=line_item,
        rate=rate,
        exact_amount=exact_amount,
        amount=round_amount(exact_amount, calculation_input.currency),
        approval_context=replace(approval_context, has_rate=has_rate),
        base_index=base_index,
    )


def calculate_exact_amount(
    sub_amount: Decimal, kind: str, value: Decimal, fixed: Decimal | None = None
) -> Decimal:
    """Return the percentage of the sub-amount with a fixed part, or the fixed amount.

    It is not rounded.
    """
    if kind != PERCENTAGE:
        return value
    return sub_amount * value / PERCENT_DIVISOR + (fixed or ZERO)


def allocate_proportionally(
    amounts: Sequence[Decimal],
    *,
    old_total: Decimal,
    new_total: Decimal,
    currency: str,
    is_complete: bool,
) -> list[Decimal]:
    """Scale amounts from an old total to a new one, each rounded half up.

    With `is_complete` the amounts are all the parts of the total. A single amount then
    becomes the new total. Several that added up to the old total add up to the new one:
    each is at most the remainder, and the last one is the remainder. If the old total
    is zero, the first amount becomes the new total.
    """
    if not old_total:
        return [new_total, *[ZERO] * (len(amounts) - 1)] if amounts else []
    if is_complete and len(amounts) == 1:
        return [new_total]
    scaled = [
        round_amount(
            ROUNDING_CONTEXT.divide(ROUNDING_CONTEXT.multiply(amount, new_total), old_total),
            currency,
        )
        for amount in amounts
    ]
    if not is_complete or sum(amounts, ZERO) != old_total:
        return scaled
    remainder, allocated = new_total, []
    for amount in scaled[:-1]:
        allocated.append(min(amount, remainder))
        remainder -= allocated[-1]
    return [*allocated, remainder]
