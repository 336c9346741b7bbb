"""What is left of a sale of a shop, by all that its events say (`shop_facts`).

Pure functions; amounts are decimals in the currency of the sale.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from accounts.exact_json import format_decimal
from payouts.calculation import DEFAULT_COMMISSION_TYPE, allocate_proportionally
from payouts.shop_facts import (
    Deduction,
    DisputeFact,
    Line,
    OrderFacts,
    RefundFact,
    RefundTotal,
    Sale,
)
from tracking.money import ROUNDING_CONTEXT, ZERO, round_amount

EVERYTHING = Decimal(10**15)  # more than any sale


def is_canceled(facts: OrderFacts) -> bool:
    """Whether a sale was canceled, or its order removed and not put back since."""
    sale, removal = facts["sale"], facts.get("removal")
    return sale["is_canceled"] or bool(removal and removal["at"] >= sale["at"])


def is_disputed(facts: OrderFacts) -> bool:
    """Whether a dispute about an order is open, or it is unclear what it took."""
    return any(is_open_dispute(dispute, facts) for dispute in facts.get("disputes", {}).values())


def is_open_dispute(dispute: DisputeFact, facts: OrderFacts) -> bool:
    """Whether the commissions of an order wait for a dispute."""
    unclear = "sale" in facts and _read_lost(dispute, facts["sale"]["currency"])[1]
    return dispute["state"] == "open" or bool(unclear)


def waits_for_sale(facts: OrderFacts) -> bool:
    """Whether refunds or disputes are known of an order, and its sale is not."""
    names = {"refunds", "refund_totals", "disputes"}
    return "sale" not in facts and any(facts.get(name) for name in names)


# A commission type, or None for the program's default.
Amounts = dict[str, Decimal]


@dataclass(frozen=True)
class Target:
    """What of a sale is left by commission type, and what each refund took of it."""

    left: Amounts
    refunded: dict[str, Decimal]  # by the shop's ID of a refund, charge or dispute

    @property
    def total(self) -> Decimal:
        return sum(self.left.values(), ZERO)


def group_lines(lines: Iterable[Line], types: Mapping[str, str]) -> Amounts:
    """Return the sums of lines by commission type; `types` has them by product.

    What the shop lists below zero lowers the others, and has no type of its own. What
    it lists and what earns nothing, such as a gift card, has none either.
    """
    amounts: Amounts = {}
    for line in lines:
        listed = Decimal(line.get("listed", 0))
        if listed < ZERO or (listed and not Decimal(line["amount"])):
            continue
        name = find_type(line, types)
        amounts[name] = amounts.get(name, ZERO) + Decimal(line["amount"])
    return amounts


def find_type(line: Line, types: Mapping[str, str]) -> str:
    """Return the commission type of the first product of a line that has one."""
    found = (types[each] for each in line["products"] if each in types)
    return next(found, DEFAULT_COMMISSION_TYPE)


@dataclass(frozen=True)
class _Deduction:
    """A refund as a part of what was paid, or as amounts by commission type."""

    key: str
    paid: Decimal = ZERO
    amounts: Mapping[str, Decimal] = field(default_factory=dict)
    unclear: str = ""  # amounts in other currencies, which are not taken off


def calculate_target(
    gross: Amounts,
    facts: OrderFacts,
    types: Mapping[str, str],
    skipped: Collection[str] = (),
) -> Target:
    """Return what is left of a sale whose lines are `gross`, by commission type.

    Refunds and lost disputes are taken off in the order of their IDs, never more than
    there is. A part of what was paid takes the same part of the lines that no refund
    names. The refunds `skipped` are not taken off: they were applied in another way.
    """
    sale = facts["sale"]
    currency = sale["currency"]
    left, refunded = dict(gross), dict[str, Decimal]()
    found = _list_deductions(facts, types)
    deductions = [each for each in found if each.key not in skipped]
    by_line = dict[str, Decimal]()
    paid_back = -_find_overpaid(facts)
    for deduction in deductions:
        for name, amount in deduction.amounts.items():
            known = name if name in gross else DEFAULT_COMMISSION_TYPE
            by_line[known] = by_line.get(known, ZERO) + max(amount, ZERO)
        paid_back += deduction.paid
        before, left = left, _calculate_left(gross, by_line, paid_back, sale, currency)
        difference = sum(before.values(), ZERO) - sum(left.values(), ZERO)
        refunded[deduction.key] = difference
    return Target(left, refunded)


def _calculate_left(
    gross: Amounts,
    by_line: Mapping[str, Decimal],
    paid_back: Decimal,
    sale: Sale,
    currency: str,
) -> Amounts:
    names = list(gross)
    total = sum(gross.values(), ZERO)
    taken = {name: round_amount(part, currency) for name, part in by_line.items()}
    rest = [max(gross[name] - taken.get(name, ZERO), ZERO) for name in names]
    # A line that is named in vain: its refund is taken off the others.
    unnamed = sum((taken[name] for name in taken if name not in gross), ZERO)
    rest_total = sum(rest, ZERO)
    paid = Decimal(sale["paid"])
    part = max(paid_back, ZERO)
    share = part if not paid else _scale(total, part, paid)
    new_total = max(round_amount(rest_total - unnamed - share, currency), ZERO)
    if paid and paid_back >= paid:
        new_total = ZERO
    amounts = allocate_proportionally(
        rest,
        old_total=rest_total,
        new_total=min(new_total, rest_total),
        currency=currency,
        is_complete=True,
    )
    return dict(zip(names, _fit_amounts(amounts, rest), strict=True))


def _find_overpaid(facts: OrderFacts) -> Decimal:
    """Return what was paid twice: paying it back takes nothing of the sale."""
    sale = facts["sale"]
    payments = facts.get("payments", {}).values()
    own = [it["amount"] for it in payments if it["currency"] == sale["currency"]]
    return max(sum(map(Decimal, own), ZERO) - Decimal(sale["paid"]), ZERO)


def _fit_amounts(amounts: Sequence[Decimal], limits: Sequence[Decimal]) -> list[Decimal]:
    """Return amounts of the same sum, none above its limit.

    The last of many small ones has what rounding left over, which may be too much.
    """
    fitted = [min(pair) for pair in zip(amounts, limits, strict=True)]
    excess = sum(amounts, ZERO) - sum(fitted, ZERO)
    for number, limit in enumerate(limits):
        part = min(limit - fitted[number], excess)
        fitted[number] += part
        excess -= part
    return fitted


def _scale(amount: Decimal, part: Decimal, whole: Decimal) -> Decimal:
    product = ROUNDING_CONTEXT.multiply(amount, part)
    return ROUNDING_CONTEXT.divide(product, whole)


def _list_deductions(facts: OrderFacts, types: Mapping[str, str]) -> list[_Deduction]:
    """Return refunds, totals of charges and disputes, in the order of their IDs.

    What was canceled or won takes nothing. A sale that was canceled is refunded whole.
    """
    sale, refunds = facts["sale"], _list_refunds(facts)
    currency = sale["currency"]
    lines = {line["id"]: line for line in sale["lines"]}
    found = [
        _Deduction(key)
        if refund["is_canceled"]
        else _Deduction(key, *_read_refund(refund, lines, types, currency))
        for key, refund in refunds.items()
        if "charge" not in refund
    ]
    totals = facts.get("refund_totals", {})
    charges = {each["charge"] for each in refunds.values() if "charge" in each}
    for charge in charges | set(totals):
        paid, unclear = _read_charge(charge, refunds, totals.get(charge), currency)
        found.append(_Deduction(charge, paid, unclear=unclear))
    # What was counted under the ID of a payment is counted under that of its charge.
    named = {it["charge"] for it in facts.get("refunds", {}).values() if "charge" in it}
    others = named & _find_charges(facts).keys()
    found += [_Deduction(payment) for payment in others if payment not in charges]
    for key, dispute in facts.get("disputes", {}).items():
        paid, unclear = _read_lost(dispute, currency)
        found.append(_Deduction(key, paid, unclear=unclear))
    canceled = EVERYTHING if is_canceled(facts) else ZERO
    found.append(_Deduction(f"{sale['order_id']} canceled", canceled))
    return sorted(found, key=lambda each: each.key)


def _read_lost(dispute: DisputeFact, currency: str) -> tuple[Decimal, str]:
    """Return what a dispute took of a sale, and what is unclear."""
    return _read_part(dispute, currency) if dispute["state"] == "lost" else (ZERO, "")


def list_unclear(facts: OrderFacts, skipped: Collection[str] = ()) -> dict[str, str]:
    """Return the amounts that are not taken off, by the IDs of their refunds.

    They are in another currency than the sale, and only a part of it. The refunds
    `skipped` were applied in another way.
    """
    found = _list_deductions(facts, {})
    return {it.key: it.unclear for it in found if it.unclear and it.key not in skipped}


def _list_refunds(facts: OrderFacts) -> dict[str, RefundFact]:
    """Return the refunds, each with one ID of its charge.

    One that the list of all no longer has is canceled.
    """
    charges = _find_charges(facts)
    refunds: dict[str, RefundFact] = {
        key: refund | {"charge": charges.get(refund["charge"], refund["charge"])}
        if "charge" in refund
        else refund
        for key, refund in facts.get("refunds", {}).items()
    }
    if (listed := facts.get("refund_list")) is None:
        return refunds
    ids = set(listed["ids"].split(","))
    return {
        key: refund | {"is_canceled": True}
        if key not in ids and refund["at"] <= listed["at"]
        else refund
        for key, refund in refunds.items()
    }


def _find_charges(facts: OrderFacts) -> dict[str, str]:
    """Return the charges of payments, which some refunds name instead of them."""
    totals, refunds = facts.get("refund_totals", {}), facts.get("refunds", {})
    pairs = [
        *((total.get("payment", ""), charge) for charge, total in totals.items()),
        *((it.get("payment", ""), it.get("charge", "")) for it in refunds.values()),
    ]
    return {payment: charge for payment, charge in sorted(pairs) if payment}


def _read_part(fact: Deduction, currency: str) -> tuple[Decimal, str]:
    """Return what a fact takes of a sale in a currency, and what is unclear."""
    amount, own = Decimal(fact["amount"]), fact.get("currency", currency)
    if own == currency:
        return amount, ""
    if fact.get("is_full"):
        return EVERYTHING, ""
    return ZERO, describe_amount(amount, own)


def _read_refund(
    refund: RefundFact,
    lines: Mapping[str, Line],
    types: Mapping[str, str],
    currency: str,
) -> tuple[Decimal, Amounts, str]:
    paid, unclear = _read_part(refund, currency)
    amounts: Amounts = {}
    if refund.get("currency", currency) == currency:
        for name, text in refund["lines"].items():
            amount, line = Decimal(text), lines.get(name)
            if line and (listed := Decimal(line.get("listed", 0))):
                amount = _scale(amount, Decimal(line["amount"]), listed)
            found = find_type(line, types) if line else DEFAULT_COMMISSION_TYPE
            amounts[found] = amounts.get(found, ZERO) + amount
    return paid, amounts, unclear


def _read_charge(
    charge: str,
    refunds: Mapping[str, RefundFact],
    total: RefundTotal | None,
    currency: str,
) -> tuple[Decimal, str]:
    """Return what was refunded of a charge, and what is unclear.

    A refund that was canceled after the total was stated is taken off it. Refunds that
    are known by themselves may be newer than the total.
    """
    own = [each for each in refunds.values() if each.get("charge") == charge]
    valid = [each for each in own if not each["is_canceled"]]
    amount = sum((_read_part(each, currency)[0] for each in valid), ZERO)
    unclear = valid
    if total is not None:
        canceled = [each for each in own if each["is_canceled"] and each["at"] >= total["at"]]
        if canceled:  # no longer all that was paid
            total = {**total, "is_full": False}
        stated, text = _read_part(total, currency)
        if text or stated == EVERYTHING:
            return max(stated, amount), text
        stated -= sum((_read_part(each, currency)[0] for each in canceled), ZERO)
        amount = max(stated, amount)
        unclear = [each for each in valid if each["at"] > total["at"]] + canceled
    texts = [_read_part(each, currency)[1] for each in unclear]
    return min(amount, EVERYTHING), ", ".join(sorted(filter(None, texts)))


def describe_amount(amount: Decimal, currency: str) -> str:
    """An amount for a sentence: `12.5 EUR`."""
    return f"{format_decimal(amount)} {currency}"
