"""Refunds of Shopify: what each takes of the lines of its order, of tax and shipping.

Older and newer versions of its API are read. What an edit removed is a refund, too.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from affiliate_site.shops.base import (
    Body,
    format_iso_time,
    read_amount,
    read_currency,
    read_id,
    read_signed,
)
from affiliate_site.shops.lines import build_refund, scale_refund
from payouts.shop_facts import EventFacts, RefundFact
from tracking.models.shops import Connection, ConnectionMode
from tracking.money import ROUNDING_CONTEXT, ZERO, round_amount

SHIPPING = "shipping"  # the ID of the line
SHIPPING_REFUND, DISCREPANCY = "shipping_refund", "refund_discrepancy"
PENDING = "pending"  # paid back soon, unless it fails
TEST_ORDER = "A test order: a live connection takes only real orders."
ORDER_EXPLAINS = "The event orders/updated, which follows, has this refund, too."


def adjust_tax(amount: Decimal, tax: Decimal, *, has_tax: Any, is_included: bool) -> Decimal:
    """Return an amount with its tax or without it."""
    if has_tax:
        return amount if is_included else amount + tax
    return amount - tax if is_included else amount


def add_up(sources: Iterable[Mapping[str, Any]] | None, name: str) -> Decimal:
    """Return the sum of what each has under a name."""
    return sum((read_amount(it[name]) for it in sources or []), ZERO)


def read_refunds(body: Body, at: str, connection: Connection) -> dict[str, RefundFact]:
    """Return the refunds of an order by ID.

    What an edit removed is a refund without money. If the money follows as another one
    that names nothing, it is not counted twice.
    """
    found: dict[str, RefundFact] = {}
    owed, is_included = ZERO, bool(body.get("taxes_included"))
    currency = read_currency(body["currency"])
    for refund in sorted(body.get("refunds") or [], key=lambda it: it["created_at"]):
        if foreign := read_foreign(refund, at, body):
            found[read_id(refund["id"])] = foreign
            continue
        money = read_money(refund, body)
        if names_reason(refund):
            fact = read_reason(refund, at, connection, currency, is_included=is_included)
            fact["currency"] = currency
            if not money:
                owed += read_whole_value(refund, is_included=is_included)
        else:
            fact = build_refund(at, max(money - owed, ZERO), {}, currency)
            owed = max(owed - money, ZERO)
        found[read_id(refund["id"])] = fact
    return found


def read_foreign(refund: Mapping[str, Any], at: str, order: Body) -> RefundFact | None:
    """Return a refund in a currency that is neither the shop's nor the customer's."""
    prices = (order.get("total_price_set") or {}).get("presentment_money") or {}
    if not (shown := prices.get("currency_code")):
        return None
    known = (None, order["currency"], shown)
    money = [it for it in refund.get("transactions") or [] if is_paid_back(it)]
    foreign = [it for it in money if it.get("currency") not in known]
    if not foreign:
        return None
    currency = read_currency(foreign[0]["currency"])
    fact = build_refund(at, add_up(foreign, "amount"), {}, currency)
    fact["is_full"] = order["financial_status"] == "refunded"
    return fact


def read_refund(body: Body, connection: Connection) -> EventFacts:
    """A refund by itself. What only its order can explain waits for that."""
    is_test = any(it.get("test") for it in body.get("transactions") or [])
    if is_test and refuses_tests(connection):
        return EventFacts(ignored=TEST_ORDER)
    order_id, is_included = read_id(body["order_id"]), guess_tax_included(body)
    if is_included is None or not names_reason(body):
        return EventFacts(ignored=ORDER_EXPLAINS)
    at, currency = format_iso_time(body["created_at"]), find_currency(body)
    is_less = read_value(body, is_included=is_included) < add_up_lines(
        body, is_included=is_included
    )
    if is_less and not currency:  # whose decimals round the parts
        return EventFacts(ignored=ORDER_EXPLAINS)
    fact = read_reason(body, at, connection, currency, is_included=is_included)
    if currency:
        fact["currency"] = currency
    return EventFacts([order_id], {"refunds": {read_id(body["id"]): fact}})


def find_currency(refund: Mapping[str, Any]) -> str:
    sets = (it.get("subtotal_set") for it in refund.get("refund_line_items") or [])
    codes = ((it or {}).get("shop_money", {}).get("currency_code") for it in sets)
    return next((read_currency(code) for code in codes if code), "")


def names_reason(refund: Mapping[str, Any]) -> bool:
    """Whether a refund names lines, shipping, duties or other amounts."""
    names = ("refund_line_items", "order_adjustments", "refund_shipping_lines")
    return any(refund.get(name) for name in names) or bool(add_up_duties(refund))


def read_reason(
    refund: Mapping[str, Any],
    at: str,
    connection: Connection,
    currency: str,
    *,
    is_included: bool,
) -> RefundFact:
    """Return a refund by its lines and the difference between them and the money.

    Who got less than the value of the lines back loses that part of each line; what
    was given on top is a part of what was paid.
    """
    has_tax = connection.settings.get("includes_tax")
    lines: dict[str, Decimal] = {}
    for it in refund.get("refund_line_items") or []:
        subtotal, tax = read_amount(it["subtotal"]), read_amount(it["total_tax"])
        amount = adjust_tax(subtotal, tax, has_tax=has_tax, is_included=is_included)
        name = read_id(it["line_item_id"])
        lines[name] = lines.get(name, ZERO) + amount
    total = add_up_lines(refund, is_included=is_included)
    value = read_value(refund, is_included=is_included)
    if value < total:
        lines = scale_refund(lines, value, total, currency)
    if connection.settings.get("includes_shipping"):
        lines[SHIPPING] = read_refunded_shipping(
            refund, currency, has_tax=has_tax, is_included=is_included
        )
    return build_refund(at, max(value - total, ZERO), lines)


def read_refunded_shipping(
    refund: Mapping[str, Any], currency: str, *, has_tax: Any, is_included: bool
) -> Decimal:
    """Return the shipping that a refund takes off, as it earns.

    If it names no line, what was paid back below its value is missing from shipping.
    """
    amount, tax = add_up_shipping(refund, is_included=is_included)
    earning = max(amount + tax if has_tax else amount, ZERO)
    difference = read_difference(refund)
    if refund.get("refund_line_items") or difference >= ZERO or not currency:
        return earning
    whole = amount + tax
    product = ROUNDING_CONTEXT.multiply(earning, max(whole + difference, ZERO))
    return round_amount(ROUNDING_CONTEXT.divide(product, whole), currency)


def add_up_lines(refund: Mapping[str, Any], *, is_included: bool) -> Decimal:
    lines = refund.get("refund_line_items")
    tax = ZERO if is_included else add_up(lines, "total_tax")
    return add_up(lines, "subtotal") + tax


def add_up_adjustments(refund: Mapping[str, Any], kind: str) -> tuple[Decimal, Decimal]:
    """Return what adjustments of a kind take off the order, and the tax of that."""
    found = list_adjustments(refund, kind)
    amounts = [read_signed(it["amount"]) for it in found]
    taxes = [read_signed(it.get("tax_amount") or 0) for it in found]
    return -sum(amounts, ZERO), -sum(taxes, ZERO)


def list_adjustments(refund: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    adjustments = refund.get("order_adjustments") or []
    return [it for it in adjustments if get_adjustment_kind(it) == kind]


def get_adjustment_kind(adjustment: Mapping[str, Any]) -> str:
    """Return the kind of an adjustment; since 2024-10 it has only a reason."""
    if kind := adjustment.get("kind"):
        return str(kind)
    is_shipping = "shipping" in str(adjustment.get("reason")).lower()
    return SHIPPING_REFUND if is_shipping else DISCREPANCY


def add_up_shipping(refund: Mapping[str, Any], *, is_included: bool) -> tuple[Decimal, Decimal]:
    """Return the refunded shipping without tax, and its tax, in the shop's currency.

    Since 2024-10 it has lines of its own, before that adjustments.
    """
    if not (lines := refund.get("refund_shipping_lines")):
        return add_up_adjustments(refund, SHIPPING_REFUND)
    amount = add_up((it["subtotal_amount_set"]["shop_money"] for it in lines), "amount")
    tax = add_up_shipping_tax(refund)
    return (amount - tax if is_included else amount), tax


def add_up_shipping_tax(refund: Mapping[str, Any]) -> Decimal:
    """Return the tax of the lines of refunded shipping, which newer versions have."""
    lines = refund.get("refund_shipping_lines") or []
    taxes = [it["tax_amount_set"] for it in lines if it.get("tax_amount_set")]
    return add_up((it["shop_money"] for it in taxes), "amount")


def add_up_duties(refund: Mapping[str, Any]) -> Decimal:
    """Return the refunded duties, which are no value of products."""
    if total := refund.get("total_duties_set"):
        return read_amount(total["shop_money"]["amount"])
    duties = refund.get("duties") or []
    if isinstance(duties, Mapping):  # as in the documentation
        duties = duties["duties"]
    duties = [it.get("amount_set") for it in duties]
    return add_up((it["shop_money"] for it in duties if it), "amount")


def read_whole_value(refund: Mapping[str, Any], *, is_included: bool) -> Decimal:
    """Return what a refund takes off an order, with tax, shipping and duties."""
    shipping = sum(add_up_shipping(refund, is_included=is_included), ZERO)
    value = read_value(refund, is_included=is_included)
    return value + shipping + add_up_duties(refund)


def read_value(refund: Mapping[str, Any], *, is_included: bool) -> Decimal:
    """Return what a refund takes off an order, with tax and without shipping."""
    lines = add_up_lines(refund, is_included=is_included)
    return max(lines + read_difference(refund), ZERO)


def read_difference(refund: Mapping[str, Any]) -> Decimal:
    """Return what was paid back beyond the value of the lines; below zero: less.

    Until a payment is through, Shopify lists it as a difference, which is left out.
    """
    difference = sum(add_up_adjustments(refund, DISCREPANCY), ZERO)
    money = [it for it in refund.get("transactions") or [] if is_paid_back(it)]
    pending = [it for it in money if it["status"] == PENDING]
    if difference >= ZERO or not pending:
        return difference
    # Payments have the currency of the customer, in which a difference is shown, too.
    sets = [it.get("amount_set") for it in list_adjustments(refund, DISCREPANCY)]
    shown = [it["presentment_money"] for it in sets if it]
    whole = -difference
    if {it["currency_code"] for it in shown} == {it.get("currency") for it in pending}:
        whole = abs(sum((read_signed(it["amount"]) for it in shown), ZERO)) or whole
    left = max(whole - add_up(pending, "amount"), ZERO)
    product = ROUNDING_CONTEXT.multiply(difference, left)
    return ROUNDING_CONTEXT.divide(product, whole)


def read_money(refund: Mapping[str, Any], order: Body) -> Decimal:
    """Return what was paid back, in the currency of the shop."""
    total = ZERO
    for it in refund.get("transactions") or []:
        if not is_paid_back(it):
            continue
        amount = read_amount(it["amount"])
        if it.get("currency", order["currency"]) != order["currency"]:
            prices = order["total_price_set"]
            own = read_amount(prices["shop_money"]["amount"])
            shown = read_amount(prices["presentment_money"]["amount"])
            product = ROUNDING_CONTEXT.multiply(amount, own)
            amount = ROUNDING_CONTEXT.divide(product, shown)
        total += amount
    return total


def guess_tax_included(refund: Mapping[str, Any]) -> bool | None:
    """Whether amounts of lines include tax, by the money paid back; None: unclear."""
    taxes = add_up(refund.get("refund_line_items"), "total_tax")
    if not taxes + add_up_shipping_tax(refund):
        return False
    paid_back = [it for it in refund.get("transactions") or [] if is_paid_back(it)]
    currencies = {it.get("currency") for it in paid_back} - {None}
    own = find_currency(refund)
    if own and currencies - {own}:  # amounts that cannot be compared
        return None
    money = add_up(paid_back, "amount")
    fitting = [
        is_included
        for is_included in (False, True)
        if read_whole_value(refund, is_included=is_included) == money
    ]
    return fitting[0] if money and len(fitting) == 1 else None


def is_paid_back(transaction: Mapping[str, Any]) -> bool:
    """Whether a transaction gives money to the customer, if it did not fail."""
    statuses = ("success", PENDING)
    return transaction["kind"] == "refund" and transaction["status"] in statuses


def refuses_tests(connection: Connection) -> bool:
    """Whether test orders do nothing."""
    is_live = connection.mode == ConnectionMode.LIVE
    return is_live and not connection.settings.get("takes_tests")
