"""Fields of requests and answers: one spelling of each kind of value.

In a body `null` means "not sent", so a field never sees it unless it allows it.
"""

import re
from contextlib import suppress
from decimal import Decimal
from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.validators import validate_email
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from accounts.errors import DomainError
from affiliate_site.api.errors import MISSING, Flaw
from tracking.money import WHOLE_DIGITS, admit, currency_named, read_amount

ASCII_SPACE = " \t\r\n\f\v"

WRONG_TYPE = "This value should be of type {{ type }}."
TOO_LONG = "This value is too long, {{ limit }} characters at most."
TOO_SHORT = "This value is too short, {{ limit }} characters at least."
BLANK = "This value should not be blank."
NO_BOOLEAN = "This value should be true or false."
TOO_MANY = "This list holds {{ limit }} items at most."
NO_TEXT = "This value is not valid text."

# JSON Schema.
NOT_BLANK = {"pattern": r"[^\s\u001c-\u001f]"}
NUMBER = {"type": "number", "minimum": 0, "exclusiveMaximum": 10**WHOLE_DIGITS}
DIGITS = {"type": "string", "pattern": rf"^[0-9]{{1,{WHOLE_DIGITS}}}(\.[0-9]+)?$"}

ROW_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
HIGHEST_ROW = 2**63 - 1


def row_number(text: str) -> int:
    """A conversion's or commission's number in a path; 0, which no row has, if odd."""
    number = int(text) if ROW_NUMBER.fullmatch(text) else 0
    return number if number <= HIGHEST_ROW else 0


def is_blank(value) -> bool:
    """Empty or white space only."""
    return isinstance(value, str) and not value.strip()


def text_of(value) -> str:
    """A string as sent; an integer as its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise Flaw(WRONG_TYPE, type="string")
    return value


class OwnRules:
    """A field that refuses by our own rules alone: DRF's say it in other words.

    `schema` is what it takes, as JSON Schema; None: what DRF's kind of field takes.
    """

    schema: ClassVar[Any] = None
    default_error_messages: ClassVar[dict[str, Any]] = {"required": MISSING}

    def run_validation(self, data=serializers.empty):
        is_empty, data = self.validate_empty_values(data)
        return data if is_empty else self.to_internal_value(data)


class Text(OwnRules, serializers.CharField):
    """Text, kept exactly as sent. `form` is what its JSON Schema says of its form."""

    form: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        *,
        max_length=255,
        min_length=None,
        cut=False,
        filled=False,
        form=None,
        **kwargs,
    ):
        super().__init__(
            max_length=max_length,
            min_length=min_length,
            trim_whitespace=False,
            allow_blank=min_length is None,  # for the description; the rule is below
            **kwargs,
        )
        self.cut = cut  # what is too long is cut, not refused
        self.filled = filled  # optional, but not blank
        self.own_form = form or self.form

    @property
    def schema(self):
        return {
            "type": "string",
            **({"minLength": self.min_length} if self.min_length else {}),
            **({} if self.cut else {"maxLength": self.max_length}),
            **(NOT_BLANK if self.required or self.filled else {}),
            **self.own_form,
        }

    def to_internal_value(self, data):
        text = self.prepared(text_of(data))
        if self.required and is_blank(text):
            self.fail("required")
        if self.filled and is_blank(text):
            raise Flaw(BLANK)
        if len(text) > self.max_length and not self.cut:
            raise Flaw(TOO_LONG, limit=self.max_length)
        if self.min_length and len(text) < self.min_length:
            raise Flaw(TOO_SHORT, limit=self.min_length)
        return text[: self.max_length]

    def prepared(self, text: str) -> str:
        return text


class Lookup(Text):
    """Text that something is looked up by: without outer white space."""

    def prepared(self, text: str) -> str:
        return text.strip(ASCII_SPACE)


class Reference(Lookup):
    """The id of something of the context's account; `find` refuses what is not there,
    so that it is told beside the flaws of other fields."""

    def __init__(self, find, **kwargs):
        super().__init__(**kwargs)
        self.find = find

    def to_internal_value(self, data):
        text = super().to_internal_value(data)
        flawed(self.find, self.context["account"], text)
        return text


class Email(Lookup):
    """An e-mail address."""

    form: ClassVar = {"format": "email"}

    def __init__(self, **kwargs):
        super().__init__(max_length=254, **kwargs)

    def to_internal_value(self, data):
        text = super().to_internal_value(data)
        try:
            validate_email(text)
        except DjangoValidationError:
            raise Flaw("This is not a valid email address.") from None
        return text


class Flag(OwnRules, serializers.BooleanField):
    """`true` or `false`, nothing else."""

    schema: ClassVar = {"type": "boolean"}

    def to_internal_value(self, data):
        if not isinstance(data, bool):
            raise Flaw(NO_BOOLEAN)
        return data


class QueryFlag(serializers.BooleanField):
    """`true`, `false`, `1` or `0` in a query, any case."""

    words = {"true": True, "1": True, "false": False, "0": False}

    def to_internal_value(self, data):
        try:
            return self.words[data.lower()]
        except KeyError:
            raise Flaw(NO_BOOLEAN) from None


class Amount(OwnRules, serializers.DecimalField):
    """An exact amount: a JSON number, or its digits as text; a number in answers.

    It comes back as exact as it was sent; `admitted` rounds it, once its currency
    is known.
    """

    schema: ClassVar = {"oneOf": [NUMBER, DIGITS]}

    def __init__(self, **kwargs):
        super().__init__(max_digits=None, decimal_places=None, **kwargs)

    def to_internal_value(self, data):
        return flawed(read_amount, data)


class KnownAmount(Amount):
    """An amount of 0 or more in a currency that is known: the context's."""

    def to_internal_value(self, data):
        exact = super().to_internal_value(data)
        return admitted(exact, self.context["currency"])


class Currency(Lookup):
    """A currency of ISO 4217, any case."""

    form: ClassVar = {"pattern": "^[A-Za-z]{3}$"}

    def to_internal_value(self, data):
        return flawed(currency_named, super().to_internal_value(data))


def currency_beside(field) -> str | None:
    """The currency that stands in the same object; None: none, or an odd one."""
    with suppress(ValidationError):
        return Currency().to_internal_value(field.parent.read_now.get("currency"))
    return None


def admitted(amount: Decimal, currency: str | None) -> Decimal:
    """An amount as its currency keeps it, or a flaw."""
    return flawed(admit, amount, currency)


def flawed(rule, *values):
    """What the rule returns; its refusal becomes a flaw of the field."""
    try:
        return rule(*values)
    except DomainError as refusal:
        raise Flaw(refusal.text) from None
