"""What the kinds of shops have in common: a kind is one module with a table.

A module makes a `Shop`: how its signature is verified, where an event has its ID, kind
and time, and a reader for each kind of event, which returns `EventFacts`. Kinds that do
nothing are in `ignored`, each with the reason.
"""

import hashlib
import hmac
import json
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from accounts.decimals import parse_decimal
from accounts.url_safety import read_parameters
from payouts.shop_facts import (
    CustomerFacts,
    EventFacts,
    Line,
    Referral,
    Sale,
    format_time,
)
from tracking.errors import UnknownCurrency, UnreadableEvent
from tracking.models.programs import CODE_PARAMETERS
from tracking.models.shops import MAX_KEY_LENGTH, Connection, RefusalReason
from tracking.money import MAX_INTEGER_DIGITS, get_currency, get_exponent
from tracking.services.connections import DEFAULT_REFERRAL_FIELDS
from tracking.services.inbox import Envelope

CLOCK_TOLERANCE = timedelta(minutes=5)
MAX_SHOWN_LENGTH, MAX_REASON_LENGTH = 80, 200  # of odd values, in sentences
NO_EXPONENTS: Mapping[str, int] = {}
BUYS_GIFT_CARDS = "A gift card earns when it is used, not when it is bought."
PAID_BY_GIFT_CARDS = "It was paid by gift cards, which earned when they were bought."
NOT_AS_EXPECTED = "The event does not look as expected"
NO_PARAMETERS: Mapping[str, str] = {}
UNKNOWN_KIND = "This kind of event does nothing."
# What a reader raises if a body is not as expected.
ODDITIES = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
)
# Parameters of links that name who referred a visitor, also of other programs.
LINK_PARAMETERS = (*CODE_PARAMETERS, "click_id")

Body = dict[str, Any]
Headers = Mapping[str, str]
Reader = Callable[[Body, Connection], EventFacts]


class WrongSignature(Exception):
    """The text is the sentence for the sender."""

    def __init__(self, text: str, reason: RefusalReason = RefusalReason.SIGNATURE) -> None:
        super().__init__(text)
        self.reason = reason


class Shop(ABC):
    kind: ClassVar[str]
    readers: ClassVar[Mapping[str, Reader]] = {}
    ignored: ClassVar[Mapping[str, str]] = {}
    slow_kinds: ClassVar[Collection[str]] = ()  # never processed by the request

    def is_ping(self, headers: Headers, raw: bytes) -> bool:
        """Whether a request only asks if the address exists; it is not signed."""
        return False

    @abstractmethod
    def verify(
        self,
        connection: Connection,
        headers: Headers,
        raw: bytes,
        *,
        at: datetime,
        parameters: Mapping[str, str] = NO_PARAMETERS,
    ) -> None:
        """Raise `WrongSignature` unless one of the secrets signed the body.

        `parameters` are those of the address.
        """

    def get_answer(self, connection: Connection) -> str:
        """Return the body that the shop expects for an event; empty for JSON."""
        return ""

    def parse(self, raw: bytes, content_type: str) -> Body:
        """Parse a body. Raises `UnreadableEvent` and `ValueError`, if it is no JSON."""
        return parse_body(raw)

    @abstractmethod
    def identify(
        self,
        connection: Connection,
        headers: Headers,
        body: Body,
        raw: bytes,
        *,
        at: datetime,
    ) -> Envelope:
        """Return ID, kind and time of an event. Raises `UnreadableEvent`."""

    def read(
        self,
        kind: str,
        body: Body,
        connection: Connection,
        *,
        at: datetime | None = None,
    ) -> EventFacts:
        """Return what an event says. Raises `UnreadableEvent`.

        `at` is when it occurred, for kinds whose bodies do not say so.
        """
        if kind in self.ignored:
            return EventFacts(ignored=self.ignored[kind])
        reader = self.readers.get(kind)
        if reader is None:
            return EventFacts(ignored=UNKNOWN_KIND)
        try:
            return reader(body, connection)
        except ODDITIES as error:
            what = f"{NOT_AS_EXPECTED}: {describe(error)}."
            raise UnreadableEvent(what=what) from error


def parse_body(text: str | bytes) -> Body:
    """Parse the JSON object of an event with exact numbers; raise `ValueError`."""
    try:
        # As stored: `loads` itself would also take UTF-16 and a byte order mark.
        decoded = text.decode() if isinstance(text, bytes) else text
        body: Any = json.loads(decoded, parse_float=parse_decimal)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(body, dict):
        raise ValueError("no JSON object")
    return body


class OddValue(ValueError):
    """A value that cannot be read; the text says why, as a part of a sentence."""


def describe(error: Exception) -> str:
    """Return why a body cannot be read, for staff: `“ten” is no amount`."""
    if isinstance(error, OddValue):
        return str(error)[:MAX_REASON_LENGTH]
    if isinstance(error, KeyError) and error.args:
        return f"it has no {show_value(error.args[0])}"
    if isinstance(error, IndexError):
        return "a list in it is empty"
    return "a value in it has another form than the shop documents"


def show_value(value: Any) -> str:
    """Return a JSON value as a sentence names it before “is no …”."""
    if value is None:
        return "there"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = "".join(each for each in text[:MAX_SHOWN_LENGTH] if each.isprintable())
    return f"“{text}”"


def sign(secret: str, raw: bytes) -> bytes:
    """Return the HMAC-SHA256 of a body."""
    return hmac.new(secret.encode(), raw, hashlib.sha256).digest()


def ensure_signed(
    secrets: Sequence[Any], signatures: Sequence[str], encode: Callable[[Any], str]
) -> None:
    """Raise `WrongSignature` unless `encode` of a secret is one of the signatures."""
    for secret in secrets:
        expected = encode(secret).encode()
        for signature in signatures:
            if hmac.compare_digest(expected, signature.encode()):
                return
    raise WrongSignature("The signature does not match the secret of this connection.")


def ensure_signed_base64(secrets: Sequence[str], signature: str, raw: bytes) -> None:
    """Raise `WrongSignature` unless a secret signed the body, in Base64."""
    ensure_signed(secrets, [signature], lambda secret: b64encode(sign(secret, raw)).decode())


def ensure_recent(timestamp: str, *, at: datetime) -> None:
    """Raise `WrongSignature` if a signed time is more than five minutes away."""
    try:
        signed_at = parse_unix_time(timestamp)
    except (ValueError, OverflowError, OSError):
        text, reason = "The signature has no time.", RefusalReason.TIME
        raise WrongSignature(text, reason) from None
    if abs(at - signed_at) > CLOCK_TOLERANCE:
        text = "The signature is too old, or the clocks differ."
        raise WrongSignature(text, RefusalReason.TIME)


def parse_unix_time(value: Any) -> datetime:
    """Return the time of a number of seconds."""
    return datetime.fromtimestamp(int(value), tz=UTC)


def parse_iso_time(text: str) -> datetime:
    """Return the time of an ISO text in UTC, which is its zone if it names none."""
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise OddValue(f"{show_value(text)} is no time") from None
    try:
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except OverflowError:
        raise OddValue("a time is out of range") from None


def format_unix_time(value: Any) -> str:
    """Return a number of seconds as the time of a fact."""
    return format_time(parse_unix_time(value))


def format_iso_time(text: str) -> str:
    return format_time(parse_iso_time(text))


def read_id(value: Any) -> str:
    """Return the ID of something as text; raise `ValueError` if it is odd."""
    is_id = isinstance(value, int | str) and not isinstance(value, bool)
    if not is_id or not 0 < len(str(value)) <= MAX_KEY_LENGTH:
        raise OddValue(f"{show_value(value)} is no ID")
    return str(value)


def read_currency(code: Any) -> str:
    """Return an ISO 4217 code in upper case."""
    try:
        return get_currency(str(code))
    except UnknownCurrency:
        what = f"{NOT_AS_EXPECTED}: {show_value(code)} is no currency."
        raise UnreadableEvent(what=what, path="currency") from None


def read_amount(value: Any) -> Decimal:
    """Return an amount that was sent as a number or text; raise `ValueError` if odd."""
    if isinstance(value, bool) or not isinstance(value, int | str | float | Decimal):
        raise OddValue(f"{show_value(value)} is no amount")
    try:
        amount = parse_decimal(str(value).strip())
    except ValueError:
        raise OddValue(f"{show_value(value)} is no amount") from None
    if amount < 0 or amount.adjusted() >= MAX_INTEGER_DIGITS:
        raise OddValue(f"{show_value(value)} is no amount of a sale")
    return amount


def read_signed(value: Any) -> Decimal:
    """Return an amount that may be below zero."""
    if str(value).startswith("-"):
        return -read_amount(str(value)[1:])
    return read_amount(value)


def read_minor_units(
    value: Any,
    currency: str,
    exponents: Mapping[str, int] = NO_EXPONENTS,
    *,
    is_signed: bool = False,
) -> Decimal:
    """Return an amount that was sent in cents, or whatever the currency has.

    `exponents` are the decimals of currencies that the shop treats differently.
    """
    amount = read_signed(value) if is_signed else read_amount(value)
    if amount != amount.to_integral_value():
        raise OddValue(f"{show_value(value)} is no whole number, as cents are")
    return amount.scaleb(-exponents.get(currency, get_exponent(currency)))


def list_referral_values(connection: Connection, attributes: Mapping[str, Any]) -> list[str]:
    """Return the values of the attributes that hold a referral."""
    names = [
        *connection.settings.get("referral_fields", []),
        *DEFAULT_REFERRAL_FIELDS,
    ]
    values = [attributes.get(name) for name in dict.fromkeys(names)]
    return [str(each) for each in values if each not in (None, "")]


def list_link_values(connection: Connection, address: Any) -> list[str]:
    """Return the values of the parameters of a landing page that name a referral.

    `tap_a` and `tap_s` are one value together, an asset and a source.
    """
    found = read_parameters(address)
    names = [*connection.settings.get("referral_fields", []), *LINK_PARAMETERS]
    values = [found[name] for name in dict.fromkeys(names) if name in found]
    if "tap_a" in found and "tap_s" in found:
        values.append(f"{found['tap_a']} {found['tap_s']}")
    return values


def pick_attributes(connection: Connection, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes by which the connection chooses a program.

    Others may be personal data, and are not kept.
    """
    rules = connection.settings.get("programs", [])
    names = {rule["field"] for rule in rules} & values.keys()
    return {name: values[name] for name in sorted(names)}


def build_customer(at: str, referral: Referral | None, email: str | None = None) -> CustomerFacts:
    """Return what is known of a customer."""
    facts: CustomerFacts = {}
    if referral:
        facts["referral"] = referral
    if email:
        facts["email"] = {"at": at, "email": str(email)}
    return facts


def build_referral(
    at: str,
    values: Sequence[Any],
    coupons: Sequence[Any] = (),
    *,
    tracking_ids: Sequence[Any] = (),
) -> Referral | None:
    """Return a referral, or None if there is nothing in it."""
    texts, codes, names = (
        [str(each) for each in found if each] for found in (values, coupons, tracking_ids)
    )
    if not texts and not codes and not names:
        return None
    referral: Referral = {"at": at, "values": texts, "coupons": codes}
    return referral | {"tracking_ids": names} if names else referral


def build_sale(
    at: str,
    order_id: str,
    *,
    label: str,
    currency: str,
    lines: Sequence[Line],
    paid: Decimal,
    customer: str = "",
    referral: Referral | None = None,
    attributes: Any = None,
    subscription: str = "",
    is_renewal: bool = False,
    is_canceled: bool = False,
    occurred_at: str = "",
    rank: int = 0,
    note: str = "",
    name: Any = "",
) -> Sale:
    """Return a sale; `attributes` are what a connection may choose the program by.

    `name` is what the shop shows as the order's number, if that is not its ID.

    `occurred_at` is when it was made, if `at` may be the time of a later change.
    """
    sale: Sale = {
        "at": at,
        "rank": rank,
        "note": note,
        "occurred_at": occurred_at or at,
        "order_id": order_id,
        "label": label,
        "currency": currency,
        "lines": list(lines),
        "paid": str(paid),
        "customer": customer,
        "referral": referral or {"at": at, "values": [], "coupons": []},
        "attributes": read_texts(attributes),
        "subscription": subscription,
        "is_renewal": is_renewal,
        "is_canceled": is_canceled,
    }
    if name:
        sale["name"] = str(name)[:MAX_KEY_LENGTH]
    return sale


def read_list(value: Any) -> list[Any]:
    """Return a list; PHP sends one with gaps as an object: `{"0": …, "2": …}`."""
    return list((value or {}).values() if isinstance(value or {}, Mapping) else value)


def read_texts(values: Any) -> dict[str, str]:
    """Return the texts and numbers of a JSON object as texts."""
    if not isinstance(values, Mapping):
        return {}
    return {
        str(name): str(value)
        for name, value in values.items()
        if isinstance(value, str | int | float | Decimal)
    }
