"""What a meta-data object may hold: one rule for every face."""

from decimal import Decimal

from tracking.errors import NotANumber, TooManyDigits
from tracking.money import SIGNIFICANT_DIGITS, WHOLE_DIGITS

MOST_KEYS = 10
LONGEST_KEY = 64
LONGEST_VALUE = 255
TOO_MANY_KEYS = "Meta data holds {{ limit }} keys at most."
FORBIDDEN = frozenset("\":{}]\\'/&")


class MetaDataFlaw(Exception):
    """One thing wrong with a map: the key it is about (None: the whole), and why."""

    def __init__(self, key: str | None, template: str, **values: object) -> None:
        super().__init__(template)
        self.key = key
        self.template = template
        self.values = values


class OddMetaData(Exception):
    """Everything that is wrong with a map."""

    def __init__(self, flaws: list[MetaDataFlaw]) -> None:
        super().__init__(flaws)
        self.flaws = flaws


def checked(data: dict[str, object]) -> dict[str, str]:
    """The map as it is kept: string keys to string values; or all its flaws."""
    if len(data) > MOST_KEYS:
        raise OddMetaData([MetaDataFlaw(None, TOO_MANY_KEYS, limit=MOST_KEYS)])
    kept, flaws = {}, []
    for key, value in data.items():
        try:
            kept[checked_key(key)] = checked_value(key, value)
        except MetaDataFlaw as flaw:
            flaws.append(flaw)
    if flaws:
        raise OddMetaData(flaws)
    return kept


def checked_key(key: str) -> str:
    """A key of 1 to 64 characters, none of which is forbidden."""
    if not key:
        raise MetaDataFlaw(
            key, "This value is too short, {{ limit }} characters at least.", limit=1
        )
    if len(key) > LONGEST_KEY:
        raise MetaDataFlaw(
            key,
            "This value is too long, {{ limit }} characters at most.",
            limit=LONGEST_KEY,
        )
    if not FORBIDDEN.isdisjoint(key):
        raise MetaDataFlaw(key, "This key holds a character that is not allowed.")
    return key


def checked_value(key: str, value: object) -> str:
    """Text; a number or a boolean as its text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return _digits(key, Decimal(value))
    if not isinstance(value, str):
        raise MetaDataFlaw(
            key, "This value should be of type {{ type }}.", type="string"
        )
    if len(value) > LONGEST_VALUE:
        raise MetaDataFlaw(
            key,
            "This value is too long, {{ limit }} characters at most.",
            limit=LONGEST_VALUE,
        )
    return value


def _digits(key: str, number: Decimal) -> str:
    """Plain digits (`1.50` stays, `1e2` is `100`), within an amount's limits."""
    significant = len(number.normalize().as_tuple().digits)
    if number and (
        number.adjusted() >= WHOLE_DIGITS or significant > SIGNIFICANT_DIGITS
    ):
        raise MetaDataFlaw(key, TooManyDigits.message)
    if number.adjusted() < -LONGEST_VALUE:
        raise MetaDataFlaw(key, NotANumber.message)
    return format(number, "f")
