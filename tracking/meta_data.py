"""Validation of meta data: docs/api-contract.md, section 1.10."""

from collections.abc import Iterable
from decimal import Decimal

from accounts.email_addresses import fold_email
from tracking.errors import AmountTooLarge
from tracking.money import (
    MAX_INTEGER_DIGITS,
    MAX_SIGNIFICANT_DIGITS,
    count_significant_digits,
)

MAX_KEYS = 10
MAX_KEY_LENGTH = 64
MAX_VALUE_LENGTH = 255
TOO_LONG_MESSAGE = "This value is too long, {{ limit }} characters at most."
TOO_MANY_KEYS_MESSAGE = "Meta data holds {{ limit }} keys at most."
FORBIDDEN_KEY_CHARACTERS = frozenset("\":{}]\\'/&")


class MetaDataFieldError(Exception):
    """One error in a meta data object; `key` is None if it concerns all of it."""

    def __init__(self, key: str | None, template: str, **params: object) -> None:
        super().__init__(template)
        self.key = key
        self.template = template
        self.params = params

    @property
    def text(self) -> str:
        """The message with its values filled in."""
        text = self.template
        for name, value in self.params.items():
            text = text.replace(f"{{{{ {name} }}}}", str(value))
        return text


class InvalidMetaData(Exception):
    """A meta data object has one or more errors."""

    def __init__(self, errors: list[MetaDataFieldError]) -> None:
        super().__init__(errors)
        self.errors = errors


def validate_meta_data(data: dict[str, object]) -> dict[str, str]:
    """Convert all values to text; raise `InvalidMetaData` with all errors."""
    if len(data) > MAX_KEYS:
        raise InvalidMetaData([MetaDataFieldError(None, TOO_MANY_KEYS_MESSAGE, limit=MAX_KEYS)])
    normalized, errors = {}, []
    for key, value in data.items():
        try:
            normalized[validate_key(key)] = normalize_value(key, value)
        except MetaDataFieldError as error:
            errors.append(error)
    if errors:
        raise InvalidMetaData(errors)
    return normalized


def mend_meta_data(data: dict[str, object]) -> tuple[dict[str, str], bool]:
    """Keep what can be stored; return also whether a key or a value was dropped.

    Keys after the first ten are ignored and values are truncated: shop plugins send a
    key for each order line. Neither counts as dropped.
    """
    mended: dict[str, str] = {}
    is_odd = False
    for key, value in list(data.items())[:MAX_KEYS]:
        try:
            mended[validate_key(key)] = convert_to_text(key, value)[:MAX_VALUE_LENGTH]
        except MetaDataFieldError:
            is_odd = True
    return mended, is_odd


def validate_key(key: str) -> str:
    """Return a key of 1 to 64 permitted characters; raise `MetaDataFieldError`."""
    if not key:
        raise MetaDataFieldError(
            key, "This value is too short, {{ limit }} characters at least.", limit=1
        )
    if len(key) > MAX_KEY_LENGTH:
        raise MetaDataFieldError(key, TOO_LONG_MESSAGE, limit=MAX_KEY_LENGTH)
    if not FORBIDDEN_KEY_CHARACTERS.isdisjoint(key):
        raise MetaDataFieldError(key, "This key holds a character that is not allowed.")
    return key


def normalize_value(key: str, value: object) -> str:
    """Convert text, a number or a boolean to text; raise `MetaDataFieldError`.

    Numbers have the limits of an amount.
    """
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        number = Decimal(value)
        if number and (
            number.adjusted() >= MAX_INTEGER_DIGITS
            or count_significant_digits(number) > MAX_SIGNIFICANT_DIGITS
        ):
            raise MetaDataFieldError(key, AmountTooLarge.message)
    text = convert_to_text(key, value)
    if len(text) > MAX_VALUE_LENGTH:
        raise MetaDataFieldError(key, TOO_LONG_MESSAGE, limit=MAX_VALUE_LENGTH)
    return text


def convert_to_text(key: str, value: object) -> str:
    """Convert text, a number (`1e2` becomes `100`) or a boolean to text of any length.

    Raises `MetaDataFieldError` for other types.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return format(Decimal(value), "f")
    if not isinstance(value, str):
        raise MetaDataFieldError(key, "This value should be of type {{ type }}.", type="string")
    return value


def find_email(data: dict[str, str], keys: Iterable[str]) -> str | None:
    """Return the case-folded value of the first of these keys that has one."""
    values = (fold_email(data.get(key, "").strip()) for key in keys)
    return next(filter(None, values), None)
