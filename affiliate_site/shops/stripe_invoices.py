"""Stripe's invoices, and the amounts and IDs that its objects have in common.

Older and newer versions of Stripe's API are read.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from affiliate_site.shops.base import (
    Body,
    build_customer,
    build_referral,
    build_sale,
    format_unix_time,
    list_referral_values,
    pick_attributes,
    read_currency,
    read_minor_units,
    read_texts,
)
from affiliate_site.shops.lines import build_lines
from payouts.shop_amounts import describe_amount
from payouts.shop_facts import EventFacts, Line, PaymentFacts
from tracking.models.shops import Connection
from tracking.money import ROUNDING_CONTEXT, ZERO, round_amount

# What Stripe calls zero-decimal differs from ISO 4217 for these.
EXPONENTS = {"ISK": 2, "UGX": 2, "MGA": 0}
CODE_NAMES = ("code", "name", "id")
RENEWAL = "subscription_cycle"
BILLING_CREDIT = "credit_balance_transaction"  # the other kind is a discount
MORE_LINES = (
    "The event has {count} lines of the invoice: the rest of {rest} has the program's"
    " default commission type."
)


def read_invoice(body: Body, connection: Connection) -> EventFacts:
    """A paid invoice: the first payment of a subscription, a renewal, or any other."""
    invoice, at = body["data"]["object"], format_unix_time(body["created"])
    currency = read_currency(invoice["currency"])
    parent = (invoice.get("parent") or {}).get("subscription_details") or {}
    subscription = invoice.get("subscription") or parent.get("subscription") or ""
    older = invoice.get("subscription_details") or {}
    attributes = {
        **read_texts(parent.get("metadata") or older.get("metadata")),
        **read_texts(invoice.get("metadata")),
    }
    values = list_referral_values(connection, attributes)
    referral = build_referral(at, values, list_discounts(invoice))
    customer = invoice.get("customer") or ""
    # Before 2025-03-31, what was paid outside of Stripe was not in `amount_paid`.
    is_elsewhere = invoice.get("paid_out_of_band") and not invoice["amount_paid"]
    units = invoice["amount_due" if is_elsewhere else "amount_paid"]
    paid = read_minor_units(units, currency, EXPONENTS)
    lines, note = read_invoice_lines(invoice, paid, currency, connection)
    sale = build_sale(
        at,
        invoice["id"],
        label=f"invoice {invoice['id']}",
        currency=currency,
        lines=lines,
        paid=paid,
        customer=customer,
        referral=referral,
        attributes=pick_attributes(connection, attributes),
        subscription=subscription,
        is_renewal=invoice.get("billing_reason") == RENEWAL,
        note=note,
        name=invoice.get("number"),
    )
    facts = build_customer(at, referral, invoice.get("customer_email"))
    return EventFacts(list_invoice_references(invoice), {"sale": sale}, customer, facts)


def read_invoice_lines(
    invoice: Mapping[str, Any], paid: Decimal, currency: str, connection: Connection
) -> tuple[list[Line], str]:
    """Return the lines as they earn commissions, and a note about them.

    What a credit balance of the customer paid earns nothing: it did when it was paid.
    An event has only the first lines of a long invoice.
    """
    total = read_units(max(invoice["total"], 0), currency)
    if not total or not paid:
        return [], ""
    taxes = invoice.get("total_taxes") or invoice.get("total_tax_amounts") or []
    tax = sum((read_units(it["amount"], currency) for it in taxes), ZERO)
    shipping = invoice.get("shipping_cost") or {}
    earning = count_earning(total, tax, shipping, currency, connection)
    lines = [read_invoice_line(it, currency) for it in invoice["lines"]["data"]]
    note = ""
    if invoice["lines"].get("has_more"):
        net = total - tax - read_shipping(shipping, currency)[0]
        rest = net - sum((Decimal(line["amount"]) for line in lines), ZERO)
        lines.append({"id": "", "products": [], "amount": str(rest)})
        amount = describe_amount(rest, currency)
        note = MORE_LINES.format(count=len(lines) - 1, rest=amount)
    if paid < total:
        product = ROUNDING_CONTEXT.multiply(earning, paid)
        earning = round_amount(ROUNDING_CONTEXT.divide(product, total), currency)
    return build_lines(lines, earning, currency), note


def read_units(value: Any, currency: str) -> Decimal:
    """Return an amount in whole units, which may be below zero; none is zero."""
    return read_minor_units(value or 0, currency, EXPONENTS, is_signed=True)


def read_shipping(cost: Mapping[str, Any], currency: str) -> tuple[Decimal, Decimal]:
    """Return what shipping cost without tax, and its tax, be that included or added."""
    tax = read_units(cost.get("amount_tax"), currency)
    return read_units(cost.get("amount_total"), currency) - tax, tax


def count_earning(
    total: Decimal,
    tax: Decimal,
    shipping_cost: Mapping[str, Any],
    currency: str,
    connection: Connection,
) -> Decimal:
    has_tax = connection.settings.get("includes_tax")
    shipping, shipping_tax = read_shipping(shipping_cost, currency)
    if not connection.settings.get("includes_shipping"):
        total -= shipping + (shipping_tax if has_tax else ZERO)
    return max(total if has_tax else total - tax, ZERO)


def read_invoice_line(line: Mapping[str, Any], currency: str) -> Line:
    """Return a line after discounts and credits, without tax that it includes."""
    amount = int(line["amount"])
    amount -= sum(int(it["amount"]) for it in line.get("discount_amounts") or [])
    for credit in line.get("pretax_credit_amounts") or []:
        if credit.get("type") == BILLING_CREDIT:
            amount -= int(credit["amount"])
    for tax in line.get("taxes") or line.get("tax_amounts") or []:
        if tax.get("tax_behavior") == "inclusive" or tax.get("inclusive"):
            amount -= int(tax["amount"])
    return {
        "id": str(line["id"]),
        "products": list_products(line),
        "amount": str(read_units(amount, currency)),
    }


def list_products(line: Mapping[str, Any]) -> list[str]:
    """Return the IDs of price and product of a line of an invoice."""
    price = line.get("price") or line.get("plan") or {}
    details = (line.get("pricing") or {}).get("price_details") or {}
    ids = (
        price.get("id"),
        price.get("product"),
        details.get("price"),
        details.get("product"),
    )
    return [str(each) for each in dict.fromkeys(ids) if each]


def list_invoice_references(invoice: Mapping[str, Any]) -> list[str]:
    """Return the IDs of an invoice, its charge and its payment intents."""
    payments = ((invoice.get("payments") or {}).get("data")) or []
    paid = [list_ids(each.get("payment") or {}, "payment_intent", "charge") for each in payments]
    return [
        *list_ids(invoice, "id", "charge", "payment_intent"),
        *(reference for each in paid for reference in each),
    ]


def read_invoice_payment(body: Body, connection: Connection) -> EventFacts:
    """A payment of an invoice, which may be paid twice; newer invoices name none."""
    payment, at = body["data"]["object"], format_unix_time(body["created"])
    details = payment.get("payment") or {}
    references = [payment["invoice"], *list_ids(details, "payment_intent", "charge")]
    if payment.get("amount_paid") is None:
        return EventFacts(references)
    currency = read_currency(payment["currency"])
    amount = read_minor_units(payment["amount_paid"], currency, EXPONENTS)
    fact: PaymentFacts = {"at": at, "amount": str(amount), "currency": currency}
    return EventFacts(references, {"payments": {payment["id"]: fact}})


def list_ids(source: Mapping[str, Any], *names: str) -> list[str]:
    """Return the IDs under these names; an expanded object has its ID inside."""
    found = [source.get(name) for name in names]
    return [str(it["id"] if isinstance(it, Mapping) else it) for it in found if it]


def list_discounts(source: Mapping[str, Any]) -> list[str]:
    """Return the IDs and codes of promotion codes and coupons, newer and older ways.

    A discount that is not expanded has only its own ID.
    """
    found: list[Any] = []
    for discount in [*(source.get("discounts") or []), source.get("discount")]:
        if not isinstance(discount, Mapping):
            found.append(discount)
            continue
        named = discount.get("source") or {}
        for part in (
            discount.get("promotion_code"),
            discount.get("coupon"),
            named.get("coupon"),
        ):
            if isinstance(part, Mapping):
                found += [part.get(name) for name in CODE_NAMES]
            else:
                found.append(part)
    return [str(each) for each in dict.fromkeys(found) if each]
