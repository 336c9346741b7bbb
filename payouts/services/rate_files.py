"""The file of a program's rates: read and checked, or written from what is stored.

{"rates": [{"percentage": "10", "fixed": "3", "type": TYPE, "group": GROUP, "affiliate": ID,
            "orders": {"from": 1, "to": 1} or {"months": 12},
            "when": [{"field": "country", "is": "DE" or ["DE", "AT"]},
                     {"field": "amount", "above": 100}],
            "starts_at": DAY, "ends_at": DAY}]}
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django_countries import countries

from accounts.days import start_of_day
from accounts.errors import ErrorList, InvalidInput, InvalidSetting
from accounts.ids import SLUG_PATTERN
from accounts.models.accounts import Account
from payouts.calculation import DEFAULT_COMMISSION_TYPE, RateSource, RateSourceKind
from payouts.errors import InvalidChange, InvalidRate
from payouts.models.commission_types import RateKind
from payouts.models.rates import Rate
from payouts.rates import (
    AMOUNT,
    COUNTRY,
    CUSTOMER_KIND,
    META_DATA,
    NEW,
    RETURNING,
    Condition,
    Orders,
    RateRule,
)
from payouts.services.programs import validate_rate
from payouts.services.statements import FIRST_DAY, LAST_DAY
from tracking.errors import InvalidNumber
from tracking.meta_data import MAX_KEY_LENGTH, MAX_VALUE_LENGTH
from tracking.models.programs import Program
from tracking.money import ZERO, parse_amount

MAX_RATES = 500
MAX_CONDITIONS = 10
MAX_TEXTS = 100  # of a condition
MAX_NUMBER = 10_000  # of orders, and of months
UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
PARTS = (RateKind.PERCENTAGE.value, RateKind.FIXED.value)
PLACES = ("type", "group", "affiliate", "orders", "when")
DAYS = ("starts_at", "ends_at")
KEYS = (*PARTS, *PLACES, *DAYS, "event")


@dataclass(frozen=True)
class RateEntry:
    """A rate of a file; `words` has what it is and where it counts, without its days."""

    words: Mapping[str, Any]
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is one part for a commission type, or for a group and a type."""
        is_dated = self.starts_at is not None or self.ends_at is not None
        names = self.words.keys() - {"group"}
        return not is_dated and names in ({PARTS[0], "type"}, {PARTS[1], "type"})

    @property
    def kind(self) -> str:
        return PARTS[0] if PARTS[0] in self.words else PARTS[1]

    @property
    def value(self) -> Decimal:
        return Decimal(self.words[self.kind])

    @property
    def fixed(self) -> Decimal | None:
        """What comes on top of a percentage."""
        has_both = set(PARTS) <= self.words.keys()
        return Decimal(self.words[PARTS[1]]) if has_both else None


def write_words(
    kind: str, value: Decimal, fixed: Decimal | None = None, **places: Any
) -> dict[str, Any]:
    """Return a rate as a file has it; places without a value are left out."""
    parts = {kind: value} | ({PARTS[1]: fixed} if fixed is not None else {})
    written = {name: f"{part.normalize():f}" for name, part in parts.items()}
    return written | {name: place for name, place in places.items() if place}


def describe_row(row: Rate) -> dict[str, Any]:
    """Return a stored rate as a file has it, without its days."""
    orders: dict[str, int] = {}
    if row.order_months is not None:
        orders = {"months": row.order_months}
    elif row.first_order is not None:
        orders = {"from": row.first_order}
        if row.last_order is not None:
            orders["to"] = row.last_order
    return write_words(
        row.kind,
        row.value,
        row.fixed,
        type=row.commission_type and row.commission_type.identifier,
        group=row.group and row.group.public_id,
        affiliate=row.affiliate and row.affiliate.slug,
        orders=orders,
        when=row.conditions,
    )


def build_rule(row: Rate) -> RateRule:
    """Return a stored rate as the calculation reads it."""
    words = describe_row(row)
    return RateRule(
        kind=row.kind,
        value=row.value,
        words=words,
        source=RateSource(RateSourceKind.RULE, words=words),
        fixed=row.fixed or ZERO,
        orders=_build_orders(words.get("orders")),
        conditions=[_build_condition(each) for each in words.get("when", ())],
        starts_at=row.starts_at,
        ends_at=row.ends_at,
    )


def _build_orders(words: Mapping[str, int] | None) -> Orders | None:
    if words is None:
        return None
    return Orders(words.get("from", 1), words.get("to"), words.get("months"))


def _build_condition(words: Mapping[str, Any]) -> Condition:
    if "above" in words:
        return Condition(words["field"], above=Decimal(words["above"]))
    texts = words["is"]
    return Condition(words["field"], [texts] if isinstance(texts, str) else texts)


def read_rates(account: Account, program: Program, data: Any) -> list[RateEntry]:
    """Return the rates of a file. Raises `ErrorList` with each fault and its place."""
    reader = _Reader(account, program)
    sent = reader.read_object(data, "", ("rates",))
    rates = sent.get("rates")
    entries = []
    if not isinstance(rates, list) or len(rates) > MAX_RATES:
        reader.refuse("rates", f"must be a list of {MAX_RATES} rates at most")
    else:
        entries = [reader.read_rate(each, f"rates[{n}]") for n, each in enumerate(rates)]
    if reader.faults:
        raise ErrorList(reader.faults)
    return [entry for entry in entries if entry is not None]


def read_rate(account: Account, program: Program, data: Any) -> RateEntry:
    """Return one rate. Raises `ErrorList` with an `InvalidRate` for each fault."""
    reader = _Reader(account, program)
    entry = reader.read_rate(data, "rate")
    if entry is None:
        raise ErrorList(
            [
                InvalidRate(
                    rule=f"{fault.params['rule'][0].upper()}{fault.params['rule'][1:]}",
                    path=fault.params["place"].removeprefix("rate").removeprefix("."),
                )
                for fault in reader.faults
            ]
        )
    return entry


@dataclass
class _Reader:
    """Reads a file; what is wrong is kept, so that all of it can be mended at once."""

    account: Account
    program: Program
    faults: list[InvalidInput] = field(default_factory=list)

    def __post_init__(self) -> None:
        account = self.account
        self.groups = set(account.affiliate_groups.values_list("public_id", flat=True))

    def refuse(self, place: str, rule: str) -> None:
        self.faults.append(InvalidChange(place=place, rule=rule))

    def read_object(self, data: Any, place: str, known: Collection[str]) -> Mapping[str, Any]:
        if not isinstance(data, dict):
            self.refuse(place or "the file", "must be an object")
            return {}
        for name in data:
            if name not in known:
                where = f"{place}.{name}" if place else name
                self.refuse(where, f"does not exist here; possible: {', '.join(known)}")
        return data

    def read_rate(self, data: Any, place: str) -> RateEntry | None:
        before = len(self.faults)
        sent = self.read_object(data, place, KEYS)
        readers: Mapping[str, Callable[[Any, str], Any]] = {
            **dict.fromkeys(PARTS, self._read_part),
            "type": self._read_type,
            "group": self._read_group,
            "affiliate": self._read_affiliate,
            "orders": self._read_orders,
            "when": self._read_conditions,
        }
        words = {
            name: read(sent[name], f"{place}.{name}")
            for name, read in readers.items()
            if name in sent
        }
        if isinstance(data, dict) and not words.keys() & set(PARTS):
            self.refuse(place, "needs percentage, fixed or both")
        if "group" in sent and "affiliate" in sent:
            self.refuse(f"{place}.group", "must be left out beside an affiliate")
        if sent.get("event", "sale") != "sale":
            self.refuse(f"{place}.event", "must be sale: rates of other events do not exist yet")
        days = [self._read_day(sent.get(name), f"{place}.{name}") for name in DAYS]
        starts_at, ends_at = days
        if starts_at is not None and ends_at is not None and ends_at <= starts_at:
            self.refuse(f"{place}.ends_at", "must be a day after starts_at")
        if len(self.faults) > before:
            return None
        return RateEntry({name: each for name, each in words.items() if each}, starts_at, ends_at)

    def _read_part(self, value: Any, place: str) -> str:
        kind = place.rpartition(".")[2]
        try:
            amount = parse_amount(value)
            validate_rate(kind, amount, self.program.currency)
        except InvalidNumber:
            self.refuse(place, 'must be a number as a text, such as "10"')
        except InvalidSetting as error:
            self.refuse(place, f"must be {error.params['rule']}")
        else:
            return f"{amount.normalize():f}"
        return ""

    def _read_type(self, value: Any, place: str) -> str:
        is_id = isinstance(value, str) and SLUG_PATTERN.fullmatch(value)
        if not is_id or value == DEFAULT_COMMISSION_TYPE:
            rule = "up to 64 lower-case letters, digits and dashes"
            self.refuse(place, f"must be the ID of a commission type: {rule}")
            return ""
        return str(value)

    def _read_group(self, value: Any, place: str) -> str:
        if not isinstance(value, str) or value not in self.groups:
            self.refuse(place, "must be the ID of an affiliate group of the account")
            return ""
        return value

    def _read_affiliate(self, value: Any, place: str) -> str:
        rows = self.account.affiliates.not_deleted()
        if not is_text(value) or not rows.filter(slug=value).exists():
            self.refuse(place, "must be the ID of an affiliate of the account")
            return ""
        return str(value)

    def _read_number(self, value: Any, place: str) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_NUMBER:
            return value
        self.refuse(place, f"must be a whole number from 1 to {MAX_NUMBER}")
        return 1

    def _read_orders(self, value: Any, place: str) -> dict[str, int]:
        sent = self.read_object(value, place, ("from", "to", "months"))
        if isinstance(value, dict) and not sent:
            self.refuse(place, "needs from, to or months")
        if "months" in sent and len(sent) > 1:
            self.refuse(place, "has months, or from and to, not both")
        numbers = {name: self._read_number(each, f"{place}.{name}") for name, each in sent.items()}
        if "to" in numbers and numbers["to"] < numbers.setdefault("from", 1):
            self.refuse(f"{place}.to", "must not be before from")
        return numbers

    def _read_conditions(self, value: Any, place: str) -> list[dict[str, Any]]:
        if not isinstance(value, list) or len(value) > MAX_CONDITIONS:
            self.refuse(place, f"must be a list of {MAX_CONDITIONS} conditions at most")
            return []
        return [self._read_condition(each, f"{place}[{n}]") for n, each in enumerate(value)]

    def _read_condition(self, value: Any, place: str) -> dict[str, Any]:
        sent = self.read_object(value, place, ("field", "is", "above"))
        name = sent.get("field")
        is_known = name in (COUNTRY, CUSTOMER_KIND, AMOUNT) or is_meta_data(name)
        if not is_known:
            rule = "must be country, customer_kind, amount or meta_data. and a key"
            self.refuse(f"{place}.field", rule)
            return {}
        test = "above" if name == AMOUNT else "is"
        if sent.keys() != {"field", test}:
            self.refuse(place, f"needs {test} for {name}, and nothing else")
            return {}
        if name == AMOUNT:
            return {"field": name, test: self._read_amount(sent[test], f"{place}.{test}")}
        return {"field": name, test: self._read_texts(str(name), sent[test], f"{place}.{test}")}

    def _read_amount(self, value: Any, place: str) -> str:
        try:
            amount = parse_amount(value)
            validate_rate(RateKind.FIXED, amount, self.program.currency)
        except (InvalidNumber, InvalidSetting):
            self.refuse(place, f"must be an amount of {self.program.currency}, 0 or more")
            return ""
        return f"{amount.normalize():f}"

    def _read_texts(self, name: str, value: Any, place: str) -> str | list[str]:
        texts = value if isinstance(value, list) else [value]
        is_valid, rule = ALLOWED.get(name, (is_text, f"texts of {MAX_VALUE_LENGTH} characters"))
        if not 1 <= len(texts) <= MAX_TEXTS or not all(is_valid(each) for each in texts):
            self.refuse(place, f"must be a text or a list of up to {MAX_TEXTS}: {rule}")
        return value  # type: ignore[no-any-return]

    def _read_day(self, value: Any, place: str) -> datetime | None:
        if value is None:
            return None
        try:
            day = date.fromisoformat(value)
        except (TypeError, ValueError):
            day = None
        if day is None or not FIRST_DAY <= day <= LAST_DAY:
            self.refuse(place, f"must be a day such as 2027-01-31, until {LAST_DAY}")
            return None
        return start_of_day(day, self.account.zone)


def is_text(value: Any) -> bool:
    """Whether a value is a text that can be stored."""
    is_short = isinstance(value, str) and 0 < len(value) <= MAX_VALUE_LENGTH
    return is_short and not UNSTORABLE.search(value)


def is_meta_data(name: Any) -> bool:
    """Whether a field of a condition is one of the metadata."""
    if not isinstance(name, str) or not name.startswith(META_DATA) or UNSTORABLE.search(name):
        return False
    return 0 < len(name.removeprefix(META_DATA)) <= MAX_KEY_LENGTH


ALLOWED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    COUNTRY: (
        lambda each: isinstance(each, str) and each in countries,
        "codes of countries as ISO 3166 has them, such as DE",
    ),
    CUSTOMER_KIND: (lambda each: each in (NEW, RETURNING), f"{NEW} or {RETURNING}"),
}
