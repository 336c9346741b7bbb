"""Serializer fields: one class for each kind of value.

In a body `null` means "not sent", so it reaches a field only with `allow_null`.
Rules: docs/api-contract.md, section 1.3.
"""

import re
from contextlib import suppress
from decimal import Decimal
from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from accounts.email_addresses import validate_address
from accounts.errors import DomainError
from affiliate_site.api.errors import MISSING_PARAMETER, FieldError
from tracking.money import (
    MAX_INTEGER_DIGITS,
    get_currency,
    parse_amount,
    round_and_check_amount,
)

ASCII_WHITESPACE = " \t\r\n\f\v"

WRONG_TYPE = "This value should be of type {{ type }}."
TOO_LONG = "This value is too long, {{ limit }} characters at most."
TOO_SHORT = "This value is too short, {{ limit }} characters at least."
BLANK = "This value should not be blank."
INVALID_BOOLEAN = "This value should be true or false."
TOO_MANY_ITEMS = "This list holds {{ limit }} items at most."
INVALID_TEXT = "This value is not valid text."

# JSON Schema.
NOT_BLANK_SCHEMA = {"pattern": r"[^\s\u001c-\u001f]"}
AMOUNT_NUMBER_SCHEMA = {
    "type": "number",
    "minimum": 0,
    "exclusiveMaximum": 10**MAX_INTEGER_DIGITS,
}
AMOUNT_STRING_SCHEMA = {
    "type": "string",
    "pattern": rf"^[0-9]{{1,{MAX_INTEGER_DIGITS}}}(\.[0-9]+)?$",
}

INTEGER_ID_PATTERN = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
MAX_INTEGER_ID = 2**63 - 1


def parse_integer_id(text: str) -> int:
    """Return the integer id of a path, or 0, which no row has, if it is invalid."""
    integer_id = int(text) if INTEGER_ID_PATTERN.fullmatch(text) else 0
    return integer_id if integer_id <= MAX_INTEGER_ID else 0


def is_blank(value) -> bool:
    """Return whether a value is text that is empty or only white space."""
    return isinstance(value, str) and not value.strip()


def coerce_to_text(value) -> str:
    """Return a string unchanged and an integer as its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise FieldError(WRONG_TYPE, type="string")
    return value


class ApiFieldMixin(serializers.Field):
    """Skips DRF's validators and their messages: only `to_internal_value` validates.

    `schema` is the JSON Schema of the input; None stands for that of DRF's field.
    """

    schema: ClassVar[Any] = None
    default_error_messages: ClassVar[dict[str, Any]] = {"required": MISSING_PARAMETER}

    def run_validation(self, data=serializers.empty):
        is_empty, data = self.validate_empty_values(data)
        return data if is_empty else self.to_internal_value(data)


class TextField(ApiFieldMixin, serializers.CharField):
    """Text, kept unchanged.

    With `truncate` text longer than `max_length` is truncated instead of rejected. With
    `reject_blank` an optional field must not be blank; a required one never may. With
    `ignore_blank` a blank value counts as not sent.
    `schema_extra` is added to the JSON Schema.
    """

    base_schema_extra: ClassVar[dict[str, Any]] = {}
    max_length: int

    def __init__(
        self,
        *,
        max_length=255,
        min_length=None,
        truncate=False,
        reject_blank=False,
        ignore_blank=False,
        schema_extra=None,
        **kwargs,
    ):
        super().__init__(
            max_length=max_length,
            min_length=min_length,
            trim_whitespace=False,
            allow_blank=min_length is None,  # for the OpenAPI document only
            **kwargs,
        )
        self.truncate = truncate
        self.reject_blank = reject_blank
        self.ignore_blank = ignore_blank
        self.schema_extra = schema_extra or self.base_schema_extra

    @property
    def schema(self):
        return {
            "type": "string",
            **({"minLength": self.min_length} if self.min_length else {}),
            **({} if self.truncate else {"maxLength": self.max_length}),
            **(NOT_BLANK_SCHEMA if self.required or self.reject_blank else {}),
            **self.schema_extra,
        }

    def to_internal_value(self, data):
        text = self.normalize(coerce_to_text(data))
        if self.required and is_blank(text):
            self.fail("required")
        if self.reject_blank and is_blank(text):
            raise FieldError(BLANK)
        if len(text) > self.max_length and not self.truncate:
            raise FieldError(TOO_LONG, limit=self.max_length)
        if self.min_length and len(text) < self.min_length:
            raise FieldError(TOO_SHORT, limit=self.min_length)
        return text[: self.max_length]

    def normalize(self, text: str) -> str:
        return text


class TrimmedTextField(TextField):
    """Text for a look-up; outer white space is removed."""

    def normalize(self, text: str) -> str:
        return text.strip(ASCII_WHITESPACE)


class ReferenceField(TrimmedTextField):
    """The id of an object of the context's account.

    `get_object(account, id)` raises if there is none, so that the error is reported
    together with those of the other fields.
    """

    def __init__(self, get_object, **kwargs):
        super().__init__(**kwargs)
        self.get_object = get_object

    def to_internal_value(self, data):
        text = super().to_internal_value(data)
        apply_domain_rule(self.get_object, self.context["account"], text)
        return text


class EmailField(TrimmedTextField):
    """An e-mail address."""

    base_schema_extra: ClassVar = {"format": "email"}

    def __init__(self, **kwargs):
        super().__init__(max_length=254, **kwargs)

    def to_internal_value(self, data):
        text = super().to_internal_value(data)
        try:
            validate_address(text)
        except DjangoValidationError:
            raise FieldError("This is not a valid email address.") from None
        return text


class StrictBooleanField(ApiFieldMixin, serializers.BooleanField):
    """The JSON values `true` or `false` only."""

    schema: ClassVar = {"type": "boolean"}

    def to_internal_value(self, data):
        if not isinstance(data, bool):
            raise FieldError(INVALID_BOOLEAN)
        return data


class QueryBooleanField(serializers.BooleanField):
    """`true`, `false`, `1` or `0` in a query, in any case."""

    BOOLEAN_VALUES = {"true": True, "1": True, "false": False, "0": False}

    def to_internal_value(self, data):
        try:
            return self.BOOLEAN_VALUES[data.lower()]
        except KeyError:
            raise FieldError(INVALID_BOOLEAN) from None


class ExactAmountField(ApiFieldMixin, serializers.DecimalField):
    """An exact amount: a JSON number, or its digits as text; a number in responses.

    The value is not rounded: `clean_amount` rounds it once the currency is known.
    """

    schema: ClassVar = {"oneOf": [AMOUNT_NUMBER_SCHEMA, AMOUNT_STRING_SCHEMA]}

    def __init__(self, **kwargs):
        super().__init__(max_digits=None, decimal_places=None, **kwargs)

    def to_internal_value(self, data):
        return apply_domain_rule(parse_amount, data)


class CurrencyAmountField(ExactAmountField):
    """An amount of 0 or more in the currency of the context."""

    def to_internal_value(self, data):
        amount = super().to_internal_value(data)
        return clean_amount(amount, self.context["currency"])


class CurrencyField(TrimmedTextField):
    """An ISO 4217 currency code in any case."""

    base_schema_extra: ClassVar = {"pattern": "^[A-Za-z]{3}$"}

    def to_internal_value(self, data):
        return apply_domain_rule(get_currency, super().to_internal_value(data))


CURRENCY_FIELD = CurrencyField()


def find_currency(sent: dict) -> str | None:
    """Return the `currency` among sent values; None if missing or invalid."""
    if "currency" in sent:
        with suppress(ValidationError):
            return CURRENCY_FIELD.to_internal_value(sent["currency"])
    return None


def clean_amount(amount: Decimal, currency: str | None) -> Decimal:
    """Return the amount rounded to its currency; raise FieldError if it is invalid."""
    return apply_domain_rule(round_and_check_amount, amount, currency)


def apply_domain_rule(rule, *values):
    """Call a domain rule and convert its error to a FieldError."""
    try:
        return rule(*values)
    except DomainError as error:
        raise FieldError(error.text) from None
