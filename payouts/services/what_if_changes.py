"""The changes of a what-if: read from JSON data and checked against an account.

{"programs": {ID: {"rates": {TYPE: {"kind", "value", "groups": {GROUP: {…} | null}}},
                   "levels": {NUMBER: {"kind", "value"} | null},
                   SETTING: number | true | false | null}},
 "groups": {AFFILIATE: GROUP | null},
 "order": [PARAMETER, …]}
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from accounts.errors import InvalidSetting
from accounts.models.accounts import Account
from payouts.calculation import RateSource, RateSourceKind
from payouts.errors import InvalidChange
from payouts.models.commission_types import MIN_PARENT_LEVEL, RateKind
from payouts.services.programs import MAX_LEVEL, validate_rate
from payouts.what_if import (
    COOKIE_TIME,
    HOLD_DAYS,
    Changes,
    ProgramChanges,
    ProgramRules,
    Rate,
    Rules,
)
from tracking.attribution import REST_CONVERSION_ORDER
from tracking.errors import InvalidNumber
from tracking.money import parse_amount
from tracking.services.programs import MAX_COOKIE_TIME_DAYS, MAX_HOLD_DAYS, MAX_RECURRING

LATER = ("products", "budget")  # keys of programs that have no rules for them yet


@dataclass(frozen=True)
class Setting:
    """A rule that is one value of a program: yes or no, or a number between limits.

    `is_limit`: a number or None, for no limit.
    """

    title: str
    limits: tuple[int, int] | None = None
    is_limit: bool = False


SETTINGS = {
    COOKIE_TIME: Setting("days in which a click earns", (1, MAX_COOKIE_TIME_DAYS)),
    HOLD_DAYS: Setting("days on hold", (0, MAX_HOLD_DAYS)),
    "recurring": Setting("later sales of a customer earn"),
    "recurring_cap": Setting(
        "highest number of sales per customer", (1, MAX_RECURRING), is_limit=True
    ),
    "recurring_period_days": Setting(
        "days in which a customer's sales earn", (1, MAX_RECURRING), is_limit=True
    ),
}


def read_changes(account: Account, data: Any, rules: Rules) -> Changes:
    """Return the changes, or raise `InvalidChange` for the first thing that is wrong."""
    sent = _read_object(data, "changes", ("programs", "groups", "order"))
    programs = _read_object(sent.get("programs", {}), "programs", rules.programs)
    reader = _Reader(account)
    return Changes(
        programs={
            name: reader.read_program(name, values, rules.programs[name])
            for name, values in programs.items()
        },
        groups=reader.read_groups(sent.get("groups", {})),
        order=_read_order(sent.get("order", [])),
    )


def _refuse(place: str, rule: str) -> InvalidChange:
    return InvalidChange(place=place, rule=rule)


def _read_object(data: Any, place: str, known: Collection[str]) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise _refuse(place, "must be an object")
    for name in data:
        if name not in known:
            names = ", ".join(list(known)[:50]) or "nothing"
            raise _refuse(f"{place}.{name}", f"does not exist here; possible: {names}")
    return data


def _read_order(data: Any) -> tuple[str, ...]:
    names = ", ".join(REST_CONVERSION_ORDER)
    is_list = isinstance(data, list) and all(each in REST_CONVERSION_ORDER for each in data)
    if not is_list or len(set(data)) < len(data):
        raise _refuse("order", f"must be a list of some of these, each once: {names}")
    return tuple(data)


def _read_setting(data: Any, place: str, setting: Setting) -> int | bool | None:
    if setting.limits is None:
        if not isinstance(data, bool):
            raise _refuse(place, "must be true or false")
        return data
    first, last = setting.limits
    if data is None and setting.is_limit:
        return None
    if not isinstance(data, int) or isinstance(data, bool) or not first <= data <= last:
        raise _refuse(place, f"must be a whole number from {first} to {last}")
    return data


class _Reader:
    def __init__(self, account: Account) -> None:
        self.account = account
        self.groups = set(account.affiliate_groups.values_list("public_id", flat=True))
        self.currencies = dict(account.programs.values_list("slug", "currency"))

    def read_groups(self, data: Any) -> dict[str, str]:
        if not isinstance(data, dict):
            raise _refuse("groups", "must be an object")
        rows = self.account.affiliates.filter(slug__in=list(data))
        known = set(rows.values_list("slug", flat=True))
        for affiliate, group in data.items():
            if affiliate not in known:
                raise _refuse(f"groups.{affiliate}", "is no affiliate of the account")
            if group is not None and group not in self.groups:
                raise _refuse(
                    f"groups.{affiliate}", "must be the ID of an affiliate group, or null"
                )
        return {affiliate: group or "" for affiliate, group in data.items()}

    def read_program(self, program: str, data: Any, rules: ProgramRules) -> ProgramChanges:
        place = f"programs.{program}"
        for name in LATER:
            if isinstance(data, dict) and name in data:
                raise _refuse(f"{place}.{name}", "programs have no such rules: leave it out")
        sent = _read_object(data, place, ("rates", "levels", *SETTINGS))
        rates, group_rates = self._read_rates(
            program, sent.get("rates", {}), f"{place}.rates", rules
        )
        return ProgramChanges(
            settings={
                name: _read_setting(sent[name], f"{place}.{name}", setting)
                for name, setting in SETTINGS.items()
                if name in sent
            },
            rates=rates,
            group_rates=group_rates,
            levels=self._read_levels(program, sent.get("levels", {}), f"{place}.levels"),
        )

    def _read_rates(
        self, program: str, data: Any, place: str, rules: ProgramRules
    ) -> tuple[dict[str, Rate], dict[tuple[str, str], Rate | None]]:
        rates: dict[str, Rate] = {}
        group_rates: dict[tuple[str, str], Rate | None] = {}
        types = _read_object(data, place, rules.rates)
        for identifier, values in types.items():
            inner = f"{place}.{identifier}"
            parts = _read_object(values, inner, ("kind", "value", "groups"))
            if "kind" in parts or "value" in parts or "groups" not in parts:
                source = RateSource(RateSourceKind.COMMISSION_TYPE, identifier)
                rates[identifier] = self._read_rate(program, parts, inner, source)
            groups = _read_object(parts.get("groups", {}), f"{inner}.groups", self.groups)
            for group, each in groups.items():
                source = RateSource(RateSourceKind.GROUP, identifier, group=group)
                group_rates[identifier, group] = self._read_rate_or_none(
                    program, each, f"{inner}.groups.{group}", source
                )
        return rates, group_rates

    def _read_levels(self, program: str, data: Any, place: str) -> dict[int, Rate | None]:
        numbers = {str(number): number for number in range(MIN_PARENT_LEVEL, MAX_LEVEL + 1)}
        levels = _read_object(data, place, numbers)
        return {
            numbers[name]: self._read_rate_or_none(
                program,
                each,
                f"{place}.{name}",
                RateSource(RateSourceKind.LEVEL, level=numbers[name]),
            )
            for name, each in levels.items()
        }

    def _read_rate_or_none(
        self, program: str, data: Any, place: str, source: RateSource
    ) -> Rate | None:
        return None if data is None else self._read_rate(program, data, place, source)

    def _read_rate(self, program: str, data: Any, place: str, source: RateSource) -> Rate:
        sent = _read_object(data, place, ("kind", "value", "groups"))
        if sent.get("kind") not in RateKind.values or "value" not in sent:
            raise _refuse(place, 'needs "kind", percentage or fixed, and "value"')
        try:
            value = parse_amount(sent["value"])
            validate_rate(sent["kind"], value, self.currencies[program])
        except (InvalidNumber, InvalidSetting) as error:
            raise _refuse(f"{place}.value", error.text) from None
        return Rate(sent["kind"], value, source.describe())
