"""Any other shop: its events are read as `Connection.settings["other"]` says.

The mapping has paths and conditions, which `tracking.services.shop_mappings` describes
and validates. Nothing of it is evaluated as code.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar

from accounts.decimals import parse_decimal
from accounts.exact_json import format_decimal
from affiliate_site.shops.base import (
    NO_PARAMETERS,
    Body,
    Headers,
    Shop,
    build_referral,
    build_sale,
    list_link_values,
    parse_body,
    parse_iso_time,
    read_amount,
    read_currency,
    read_minor_units,
    read_signed,
)
from affiliate_site.shops.lines import build_lines
from affiliate_site.shops.other_signatures import (
    FORM_TYPE,
    SignedRequest,
    is_json,
    parse_form,
    read_standard_headers,
    verify_signature,
)
from payouts.shop_facts import CustomerFacts, EventFacts, Line, RefundFact, format_time
from tracking.dotted_paths import (
    EACH,
    MINUS,
    find_constant,
    find_value,
    list_values,
    split_terms,
)
from tracking.errors import UnreadableEvent
from tracking.models.shops import MAX_KEY_LENGTH, Connection, ConnectionKind
from tracking.money import ROUNDING_CONTEXT, ZERO, round_amount
from tracking.services.inbox import Envelope

NO_MAPPING = "This connection has no mapping of sales yet."
NOTHING_MEANT = "The conditions of neither a sale nor a refund are met."
DEFAULT_KIND = "event"
ALL_PARAMETERS = "?*"  # of an address, those that name a referral
FIRST_MILLISECONDS = 10**11  # a larger number is no time in seconds
MAX_UNIX_TIME = 10**14


@dataclass(frozen=True)
class Source:
    """An event with its mapping; `at` is when it occurred."""

    body: Body
    mapping: Mapping[str, Any]
    connection: Connection
    at: str

    def find_text(self, part: str, name: str) -> str:
        """Return the text that an expression of the mapping says; empty without one.

        If one of its paths leads nowhere, there is none.
        """
        expression = self.mapping[part].get(name, "")
        values: list[Any] = []
        for _, operand in split_terms(expression) if expression else ():
            constant = find_constant(operand)
            values.append(find_value(self.body, operand) if constant is None else constant)
        texts = [format_value(value) for value in values]
        text = "".join(texts) if all(texts) else ""
        if not all(map(is_text, values)) or len(text) > MAX_KEY_LENGTH:
            raise UnreadableEvent(
                what=f"Of the event, {part}.{name} is no text of at most"
                f" {MAX_KEY_LENGTH} characters.",
                path=f"{part}.{name}",
            )
        return text

    def get_text(self, part: str, name: str) -> str:
        """Return what `find_text` does; raise `UnreadableEvent` if it is empty."""
        if text := self.find_text(part, name):
            return text
        what = f"The event has no {part}.{name} at {self.mapping[part][name]}."
        raise UnreadableEvent(what=what, path=f"{part}.{name}")

    def list_texts(self, part: str, name: str) -> list[str]:
        """Return the texts and numbers at the paths of a list.

        `landing_page?*` are the parameters that name a referral.
        """
        texts: list[str] = []
        for path in self.mapping[part].get(name, []):
            if path.endswith(ALL_PARAMETERS):
                address = find_value(self.body, path.removesuffix(ALL_PARAMETERS))
                texts += list_link_values(self.connection, address)
            else:
                values = list_values(self.body, path)
                texts += [format_value(it) for it in values if is_text(it)]
        return texts

    def read_amount(
        self,
        name: str,
        body: Any,
        expression: str,
        currency: str,
        *,
        is_signed: bool = False,
    ) -> Decimal:
        """Return the amount that an expression of the field `name` says.

        Its paths begin at `body`. It is rounded to whole minor units if the currency is
        known. Raises `UnreadableEvent`.
        """
        terms = split_terms(expression)
        has_signs = is_signed or len(terms) > 1
        total = ZERO
        for operator, operand in terms:
            values = find_summands(body, operand)
            if values is None:
                what = f"The event has no {name} at {operand}."
                raise UnreadableEvent(what=what, path=name)
            for value in values:
                number = self.read_number(name, value, currency, is_signed=has_signs)
                change = number.copy_negate() if operator == MINUS else number
                total = ROUNDING_CONTEXT.add(total, change)
        if total < ZERO and not is_signed:
            what = f"Of the event, {name} is below zero: {expression}."
            raise UnreadableEvent(what=what[:MAX_KEY_LENGTH], path=name)
        return round_amount(total, currency) if currency else total

    def read_number(self, name: str, value: Any, currency: str, *, is_signed: bool) -> Decimal:
        """Return an amount at a path, in the major unit."""
        try:
            if self.mapping["sale"].get("unit") == "minor":
                return read_minor_units(value, currency, is_signed=is_signed)
            return read_signed(value) if is_signed else read_amount(value)
        except ValueError as error:
            what = f"The event does not look as expected: {name}: {error}."
            raise UnreadableEvent(what=what[:MAX_KEY_LENGTH], path=name) from error


def find_summands(body: Any, operand: str) -> list[Any] | None:
    """Return what an operand of an amount adds up, with `*` each item of a list.

    Without a value there is None.
    """
    values = [value for value in list_values(body, operand) if value is not None]
    return values if EACH in operand.split(".") else values[:1] or None


def has_amount(body: Body, expression: str) -> bool:
    """Whether each path of an expression leads to a value."""
    operands = [operand for _, operand in split_terms(expression)]
    return all(find_summands(body, operand) is not None for operand in operands)


def is_text(value: Any) -> bool:
    """Whether a JSON value is a text or a number."""
    return not isinstance(value, dict | list)


def format_value(value: Any) -> str:
    """Return a JSON value as a text, as conditions compare it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return format_decimal(value) if isinstance(value, Decimal) else str(value)


def is_met(condition: Mapping[str, Any], body: Body) -> bool:
    """Whether one of the values at the path of a condition equals its value.

    With `differs` none may equal it; with `any` one of several conditions must be met.
    """
    if "any" in condition:
        return any(is_met(each, body) for each in condition["any"])
    is_negated = "differs" in condition
    expected = format_value(condition["differs" if is_negated else "equals"])
    values = list_values(body, condition["path"])
    return any(format_value(value) == expected for value in values) != is_negated


def find_part(mapping: Mapping[str, Any], body: Body) -> str | None:
    """Return whether an event is a `refund` or a `sale`; a refund comes first."""
    for part in ("refund", "sale"):
        if part in mapping:
            conditions = mapping[part].get("when", [])
            if all(is_met(condition, body) for condition in conditions):
                return part
    return None


def read_sale(source: Source) -> EventFacts:
    """A sale, or what has become of it."""
    sale = source.mapping["sale"]
    order_id = source.get_text("sale", "order_id")
    currency = read_currency(source.get_text("sale", "currency"))
    amount = source.read_amount("sale.amount", source.body, sale["amount"], currency)
    paid = amount
    if "paid" in sale and has_amount(source.body, sale["paid"]):
        paid = source.read_amount("sale.paid", source.body, sale["paid"], currency)
    customer = source.find_text("sale", "customer")
    referral = build_referral(
        source.at,
        source.list_texts("sale", "referral"),
        source.list_texts("sale", "coupons"),
    )
    fact = build_sale(
        source.at,
        order_id,
        label=f"order {order_id}"[:MAX_KEY_LENGTH],
        currency=currency,
        lines=build_lines(read_lines(source, currency), amount, currency),
        paid=paid,
        customer=customer,
        referral=referral,
        attributes=read_attributes(source),
    )
    facts: CustomerFacts = {}
    if customer and referral:
        facts["referral"] = referral
    if email := source.find_text("sale", "email"):
        facts["email"] = {"at": source.at, "email": email}
    return EventFacts([order_id], {"sale": fact}, customer, facts)


def read_lines(source: Source, currency: str) -> list[Line]:
    """Return the lines of a sale, if the mapping has them."""
    lines = source.mapping["sale"].get("lines")
    if not lines:
        return []
    items: list[Any] = []
    for value in list_values(source.body, lines["items"]):
        items += value if isinstance(value, list) else [value]
    return [
        {
            "id": str(number),
            "products": [format_value(value) for value in list_values(item, lines["product"])],
            "amount": str(
                source.read_amount(
                    f"sale.lines.amount.{number}",
                    item,
                    lines["amount"],
                    currency,
                    is_signed=True,
                )
            ),
        }
        for number, item in enumerate(items)
    ]


def read_attributes(source: Source) -> dict[str, str]:
    """Return the values at the paths that the rules of the connection compare."""
    rules = source.connection.settings.get("programs", [])
    found = {rule["field"]: find_value(source.body, rule["field"]) for rule in rules}
    return {name: format_value(value) for name, value in found.items()}


def read_refund(source: Source) -> EventFacts:
    """A refund of a part of what was paid; without an ID the event is the refund."""
    refund = source.mapping["refund"]
    order_id = source.get_text("refund", "order_id")
    key = source.find_text("refund", "refund_id")
    if not key and "id" in source.mapping.get("event", {}):
        key = source.find_text("event", "id")
    part = "refund" if "currency" in refund else "sale"
    currency = source.find_text(part, "currency")
    if currency or source.mapping["sale"].get("unit") == "minor":
        currency = read_currency(source.get_text(part, "currency"))
    amount = abs(
        source.read_amount("refund.amount", source.body, refund["amount"], currency, is_signed=True)
    )
    condition = refund.get("is_canceled")
    fact: RefundFact = {
        "at": source.at,
        "amount": str(amount),
        "lines": {},
        "is_canceled": bool(condition and is_met(condition, source.body)),
    }
    if currency:
        fact["currency"] = read_currency(currency)
    return EventFacts([order_id], {"refunds": {key or digest_body(source.body): fact}})


def digest_body(body: Body) -> str:
    """Return a digest that does not depend on the order of keys."""
    text = json.dumps(body, sort_keys=True, default=format_value)
    return hashlib.sha256(text.encode()).hexdigest()


def find_time(body: Body, mapping: Mapping[str, Any]) -> datetime | None:
    """Return the time of an event: an ISO text, or seconds or milliseconds of Unix."""
    value = find_value(body, mapping.get("event", {}).get("time", ""))
    try:
        if isinstance(value, str) and not value.isdecimal():
            return parse_iso_time(value)
        number = parse_decimal(str(value))
        if not 0 <= number < MAX_UNIX_TIME:
            return None
        seconds = number / 1000 if number >= FIRST_MILLISECONDS else number
        return datetime.fromtimestamp(float(seconds), tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None


class OtherShop(Shop):
    """Any shop that posts JSON or the fields of a form."""

    kind = ConnectionKind.OTHER
    part_readers: ClassVar[Mapping[str, Callable[[Source], EventFacts]]] = {
        "sale": read_sale,
        "refund": read_refund,
    }

    def verify(
        self, connection, headers: Headers, raw: bytes, *, at, parameters=NO_PARAMETERS
    ) -> None:
        signature = connection.settings.get("other", {}).get("signature")
        request = SignedRequest(headers, parameters, raw, at)
        verify_signature(signature, connection.secrets, request)

    def get_answer(self, connection: Connection) -> str:
        answer: str = connection.settings.get("other", {}).get("answer", "")
        return answer

    def parse(self, raw: bytes, content_type: str) -> Body:
        is_form = content_type == FORM_TYPE and not is_json(raw)
        return parse_form(raw) if is_form else parse_body(raw)

    def identify(self, connection, headers, body: Body, raw: bytes, *, at) -> Envelope:
        mapping = connection.settings["other"]
        source = Source(body, {"event": {}} | mapping, connection, "")
        key = source.find_text("event", "id")
        if not key and mapping["signature"]["kind"] == "standard_webhooks":
            key = read_standard_headers(headers)["webhook-id"]
        kind = source.find_text("event", "kind") or DEFAULT_KIND
        key = key or hashlib.sha256(raw).hexdigest()
        text = raw.decode() if is_json(raw) else json.dumps(body, ensure_ascii=False)
        return Envelope(key, kind, find_time(body, mapping) or at, text)

    def read(self, kind: str, body: Body, connection: Connection, *, at=None) -> EventFacts:
        mapping = connection.settings.get("other", {})
        if "sale" not in mapping:
            return EventFacts(ignored=NO_MAPPING)
        part = find_part(mapping, body)
        if part is None:
            return EventFacts(ignored=NOTHING_MEANT)
        occurred_at = find_time(body, mapping) or at or datetime.now(UTC)
        source = Source(body, mapping, connection, format_time(occurred_at))
        return self.part_readers[part](source)
