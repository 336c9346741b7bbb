"""What a meta-data object may hold: one rule for every face."""

from decimal import Decimal

from tracking.errors import TooManyDigits
from tracking.money import SIGNIFICANT_DIGITS, WHOLE_DIGITS, significant

MOST_KEYS = 10
LONGEST_KEY = 64
LONGEST_VALUE = 255
TOO_LONG = "This value is too long, {{ limit }} characters at most."
TOO_MANY_KEYS = "Meta data holds {{ limit }} keys at most."
FORBIDDEN = frozenset("\":{}]\\'/&")


class MetaDataFlaw(Exception):
    """One thing wrong with a map: the key it is about (None: the whole), and why."""

    def __init__(self, key: str | None, template: str, **values: object) -> None:
        super().__init__(template)
        self.key = key
        self.template = template
        self.values = values

    @property
    def text(self) -> str:
        """The message with its values filled in."""
        text = self.template
        for name, value in self.values.items():
            text = text.replace(f"{{{{ {name} }}}}", str(value))
        return text


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
        raise MetaDataFlaw(key, TOO_LONG, limit=LONGEST_KEY)
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
        raise MetaDataFlaw(key, TOO_LONG, limit=LONGEST_VALUE)
    return value


def _digits(key: str, number: Decimal) -> str:
    """Plain digits (`1.50` stays, `1e2` is `100`), within an amount's limits."""
    if number and (
        number.adjusted() >= WHOLE_DIGITS or significant(number) > SIGNIFICANT_DIGITS
    ):
        raise MetaDataFlaw(key, TooManyDigits.message)
    text = format(number, "f")
    if len(text) > LONGEST_VALUE:
        raise MetaDataFlaw(key, TOO_LONG, limit=LONGEST_VALUE)
    return text
