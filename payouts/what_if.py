"""What if: sales attributed and calculated again by other rules, as pure functions.

The inputs are those that a sale was stored with. Where a changed rule needs what was
not stored, its present value counts, or the sale stays as it is: `Unknown` says which,
and `SaleReplay.unknown` counts the sales.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any

from payouts.calculation import (
    DISAPPROVED,
    LEVEL,
    REGULAR,
    InitialStatusReason,
    RateSource,
    RateSourceKind,
    calculate_exact_amount,
)
from tracking.attribution import (
    CLAIM,
    CUSTOMER,
    IMPORT,
    STAFF,
    TRACKING_SOURCE_NAMES,
    AttributionResult,
    Candidate,
    replay_attribution,
)
from tracking.money import round_amount

FIRST_LEVEL = 2
COOKIE_TIME, HOLD_DAYS = "cookie_time", "hold_days"
RECURRING = ("recurring", "recurring_cap", "recurring_period_days")
Inputs = Mapping[str, Any]  # of an attribution, as they are stored


class Unknown(StrEnum):
    """What a replay needs that was not stored."""

    CLICKS = "clicks"
    REFUSED_SALES = "refused_sales"
    CLAIMS = "claims"
    RECORDS = "records"
    GROUPS = "groups"
    PARENTS = "parents"
    RATES = "rates"
    CAPS = "caps"
    BONUSES = "bonuses"
    UNREADABLE = "unreadable"


UNKNOWN_TEXTS = {
    Unknown.CLICKS: (
        "Sales that named one thing only, such as one click: earlier clicks of the visitor"
        " were not stored with them, so nobody else can win."
    ),
    Unknown.REFUSED_SALES: (
        "Sales that were refused because their click was too old: nothing of them was"
        " stored, so a longer cookie lifetime brings none of them back."
    ),
    Unknown.CLAIMS: "Sales whose affiliate a page had claimed before: they stay with it.",
    Unknown.RECORDS: (
        "Sales whose affiliate is not the one of their stored attribution: they stay with it."
    ),
    Unknown.GROUPS: (
        "Sales whose affiliate may have been in another group then: the group of today counts."
    ),
    Unknown.PARENTS: (
        "Sales whose affiliate may have had other parents then: those of today count."
    ),
    Unknown.RATES: (
        "Sales that need a rate which they were not stored with: the rate of today counts."
    ),
    Unknown.CAPS: (
        "Sales whose cap cannot be repeated, because statuses or rules have changed since:"
        " present ones count."
    ),
    Unknown.BONUSES: "Bonuses of the period: they are not calculated again.",
    Unknown.UNREADABLE: (
        "Sales whose stored calculation cannot be read: they stay as they are; `explain` shows why."
    ),
}


@dataclass(frozen=True)
class Rate:
    """A percentage, or a fixed amount, and where it is from in words."""

    kind: str
    value: Decimal
    source: str
    fixed: Decimal | None = None  # on top of a percentage


@dataclass(frozen=True)
class ProgramRules:
    """The present rules of a program; `group_rates` by commission type and group.

    `settings` are those that are one value each, by the names of their columns.
    """

    default_type: str
    settings: Mapping[str, Any]
    rates: Mapping[str, Rate]
    group_rates: Mapping[tuple[str, str], Rate]
    levels: Mapping[int, Rate]
    parentless_types: Collection[str]  # those that pay parents nothing


@dataclass(frozen=True)
class ProgramChanges:
    """The changed rules of a program. A rate of None is removed."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    rates: Mapping[str, Rate] = field(default_factory=dict)
    group_rates: Mapping[tuple[str, str], Rate | None] = field(default_factory=dict)
    levels: Mapping[int, Rate | None] = field(default_factory=dict)


NO_CHANGES = ProgramChanges()


@dataclass(frozen=True)
class Changes:
    """Changes by the IDs of programs, the groups of affiliates (empty: none), and the
    order of tracking parameters (empty: unchanged)."""

    programs: Mapping[str, ProgramChanges] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    order: Sequence[str] = ()

    @property
    def settings(self) -> set[str]:
        """Those that change in some program."""
        return {name for each in self.programs.values() for name in each.settings}

    @property
    def affects_attribution(self) -> bool:
        return bool(self.order) or COOKIE_TIME in self.settings

    @property
    def affects_caps(self) -> bool:
        return not self.settings.isdisjoint(RECURRING) or self.affects_attribution


@dataclass(frozen=True)
class Person:
    """An affiliate, or a prospect, as it is now; empty: no group, no parent."""

    group: str = ""
    parent: str = ""
    is_deleted: bool = False


NOBODY = Person()


@dataclass(frozen=True)
class Rules:
    """The present rules and people of an account, by ID, and their changes."""

    changes: Changes
    programs: Mapping[str, ProgramRules]
    group_holds: Mapping[str, int]  # of groups that have a hold of their own
    people: Mapping[str, Person] = field(default_factory=dict)
    approved: Collection[tuple[str, str]] = ()  # program and affiliate
    promoted: Mapping[str, str] = field(default_factory=dict)  # prospects: affiliates
    pays_levels: bool = True


@dataclass(frozen=True)
class StoredCommission:
    """A commission of a sale. `base` is the one that a level commission belongs to."""

    pk: int
    base: int | None
    affiliate: str
    kind: str
    commission_type: str
    sub_amount: Decimal
    amount: Decimal
    rate_kind: str
    rate: Decimal
    rate_fixed: Decimal | None
    status: str
    is_extra: bool
    due_at: datetime | None
    calculation_text: str

    @cached_property
    def calculation(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.calculation_text)
        return data

    @cached_property
    def source(self) -> RateSource:
        return RateSource(**self.calculation["rate"]["source"])

    @cached_property
    def is_readable(self) -> bool:
        """Whether the stored calculation has what a replay needs."""
        try:
            known = (self.is_past_cap, self.calculation["reason"], self.source.describe())
        except (AttributeError, KeyError, TypeError, ValueError):
            return False
        return bool(known)

    @property
    def is_past_cap(self) -> bool:
        return bool(self.calculation["approval_context"].get("is_past_cap"))

    @cached_property
    def stays(self) -> bool:
        """Whether somebody has set its amount: changed rules do not."""
        calculation = self.calculation
        is_imported = calculation["reason"] == InitialStatusReason.IMPORTED
        return self.is_extra or is_imported or bool(calculation.get("is_overridden"))

    def as_earned(self, **changed: Any) -> "Earned":
        """Return what it earns as it is stored, with changed values."""
        source = self.source.describe() if self.is_readable else ""
        rate = Rate(self.rate_kind, self.rate, source, self.rate_fixed)
        earned = Earned(
            affiliate=self.affiliate,
            kind=self.kind,
            commission_type=self.commission_type,
            sub_amount=self.sub_amount,
            rate=rate,
            amount=self.amount,
            is_earned=self.status != DISAPPROVED,
            due_at=self.due_at,
        )
        return replace(earned, **changed) if changed else earned


@dataclass(frozen=True)
class StoredSale:
    """A sale with the stored inputs of its attribution, where these are needed."""

    pk: int
    program: str
    affiliate: str
    currency: str
    created_at: datetime
    parameter: str
    customer: int | None
    confirmed_since: datetime | None  # the customer's time, if it is confirmed
    commissions: Sequence[StoredCommission]
    inputs: Inputs | None = None


@dataclass(frozen=True)
class Earned:
    """A commission with its reasons; a disapproved one is not earned."""

    affiliate: str
    kind: str
    commission_type: str
    sub_amount: Decimal
    rate: Rate
    amount: Decimal
    is_earned: bool
    due_at: datetime | None


@dataclass(frozen=True)
class Decision:
    """To whom a sale goes and by which parameter, or why it would be refused."""

    program: str
    affiliate: str
    parameter: str
    refusal: str = ""


@dataclass(frozen=True)
class Outcome:
    """A sale explained twice: as it is stored, and by the changed rules."""

    before: Decision
    after: Decision
    earned_before: Sequence[Earned]
    earned_after: Sequence[Earned]

    @property
    def is_moved(self) -> bool:
        return not self.after.refusal and self.after.affiliate != self.before.affiliate

    @property
    def is_changed(self) -> bool:
        return self.before != self.after or self.earned_before != self.earned_after

    @property
    def difference(self) -> Decimal:
        """By how much the affiliates together earn more or less."""
        sums: dict[str, Decimal] = defaultdict(Decimal)
        for earned, sign in ((self.earned_before, -1), (self.earned_after, 1)):
            for each in earned:
                sums[each.affiliate] += sign * each.amount * each.is_earned
        return sum(map(abs, sums.values()), Decimal(0))


@dataclass(frozen=True)
class Case:
    """A sale that is calculated again."""

    sale: StoredSale
    after: Decision
    was_past: bool  # of the customer's cap
    is_past: bool

    @property
    def is_same_program(self) -> bool:
        return self.after.program == self.sale.program

    @property
    def is_moved(self) -> bool:
        return not self.is_same_program or self.after.affiliate != self.sale.affiliate

    def stays(self, stored: StoredCommission) -> bool:
        """Whether a commission stays as it is; where a sale moves, those of its levels, too."""
        bases = (each for each in self.sale.commissions if each.pk == stored.base)
        return stored.stays or (self.is_moved and any(each.stays for each in bases))

    def earn(self, stored: StoredCommission, rate: Rate, **values: Any) -> Earned:
        """Return what the line of a commission earns at a rate."""
        exact_amount = calculate_exact_amount(stored.sub_amount, rate.kind, rate.value, rate.fixed)
        amount = round_amount(exact_amount, self.sale.currency)
        is_earned = self._is_earned(stored)
        return stored.as_earned(rate=rate, amount=amount, is_earned=is_earned, **values)

    def _is_earned(self, stored: StoredCommission) -> bool:
        """Decisions of staff stay, unless the cap decides otherwise now."""
        is_disapproved = stored.status == DISAPPROVED
        if self.is_past == self.was_past:
            return not is_disapproved
        return not self.is_past and (stored.is_past_cap or not is_disapproved)


class SaleReplay:
    """Replays the sales of an account in the order in which they were stored.

    It remembers what one sale means for the later ones of its customer: another
    affiliate, and whether it counts toward the cap. `unknown` counts sales.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.changes = rules.changes
        self.unknown: Counter[Unknown] = Counter()
        self._unknown_of_sale: set[Unknown] = set()
        self._owners: dict[int, Candidate | None] = {}  # of customers, where it differs
        self._since: dict[int, datetime] = {}  # the times of these, where a sale creates them
        self._counts: dict[int, bool] = {}  # whether a sale counts, where it differs
        self._changed_customers: set[int] = set()

    def replay(self, sale: StoredSale, earlier: Sequence[tuple[int, bool]] = ()) -> Outcome:
        """Return the outcome of a sale.

        `earlier` are the sales of its customer that were stored before it, and whether
        they count toward the cap as they are stored now.
        """
        self._unknown_of_sale.clear()
        before = Decision(sale.program, sale.affiliate, sale.parameter)
        earned = [each.as_earned() for each in sale.commissions]
        if not all(each.is_readable for each in sale.commissions):
            self.unknown[Unknown.UNREADABLE] += 1
            return Outcome(before, before, earned, earned)
        after = self._attribute(sale, before)
        earned_after = earned
        if after != before or self._is_affected(sale):
            earned_after = list(self._calculate(sale, after, earlier))
            self._remember_count(sale, earned, earned_after)
        self.unknown.update(self._unknown_of_sale)
        return Outcome(before, after, earned, earned_after)

    def replay_customer(self, customer: int, inputs: Inputs, affiliate: str) -> None:
        """Attribute a customer of the period again; its sales follow it."""
        changed = self._change_inputs(inputs, None)
        if not _can_change(inputs) or changed == inputs:
            return
        before, after = replay_attribution({**inputs}), replay_attribution(changed)
        if before.winner is None or self._get_affiliate(before.winner) != affiliate:
            return  # somebody has changed it since
        was, winner = before.winner, after.winner
        if winner is None or after.rejection_reason:
            self._owners[customer] = None
        elif (winner.affiliate, winner.program) != (was.affiliate, was.program):
            self._owners[customer] = winner

    # Attribution

    def _attribute(self, sale: StoredSale, before: Decision) -> Decision:
        inputs, customer = sale.inputs, sale.customer
        if inputs is None or not _can_change(inputs):
            if inputs is not None and CLAIM in inputs["order"]:
                self._unknown_of_sale.add(Unknown.CLAIMS)
            return before
        changed = self._change_inputs(inputs, customer)
        if len(inputs["candidates"]) == 1:
            self._unknown_of_sale.add(Unknown.CLICKS)
        if changed == inputs:
            return before
        stored, result = replay_attribution({**inputs}), replay_attribution(changed)
        after = self._decide(before, stored, result)
        is_new = customer is not None and _has_new_customer(changed)
        if customer is not None and is_new and (after != before or customer in self._owners):
            self._owners[customer] = None if after.refusal else result.winner
            self._since[customer] = sale.created_at
        return after

    def _decide(
        self, before: Decision, stored: AttributionResult, result: AttributionResult
    ) -> Decision:
        was, winner = stored.winner, result.winner
        if was is None or (before.affiliate, before.program) != (
            self._get_affiliate(was),
            was.program,
        ):
            self._unknown_of_sale.add(Unknown.RECORDS)
            return before
        if winner is None or result.rejection_reason:
            return replace(before, refusal=str(result.rejection_reason))
        parameter = TRACKING_SOURCE_NAMES.get(winner.parameter, winner.parameter)
        if winner.parameter == was.parameter:
            parameter = before.parameter
        return Decision(winner.program or "", self._get_affiliate(winner), parameter)

    def _change_inputs(self, inputs: Inputs, customer: int | None) -> dict[str, Any]:
        order = inputs["order"]
        named = [name for name in self.changes.order if name in order]
        return {
            **inputs,
            "order": [*named, *(name for name in order if name not in named)],
            "candidates": [
                self._change_candidate(candidate, customer) for candidate in inputs["candidates"]
            ],
        }

    def _change_candidate(self, stored: dict[str, Any], customer: int | None) -> dict[str, Any]:
        changes = self.changes.programs.get(stored["program"] or "", NO_CHANGES)
        if stored["cookie_time_days"] is not None and COOKIE_TIME in changes.settings:
            return {**stored, "cookie_time_days": changes.settings[COOKIE_TIME]}
        if stored["parameter"] == CUSTOMER and stored["affiliate"] and customer in self._owners:
            owner = self._owners[customer] or Candidate(CUSTOMER, stored["value"])
            names = ("affiliate", "program", "enrollment_status", "is_program_archived")
            return {**stored, **{name: getattr(owner, name) for name in names}}
        return stored

    def _get_affiliate(self, candidate: Candidate) -> str:
        """Return the ID of an affiliate, also of one that was a prospect then."""
        name = candidate.affiliate or ""
        return self.rules.promoted.get(name, name)

    # Calculation

    def _is_affected(self, sale: StoredSale) -> bool:
        return (
            sale.program in self.changes.programs
            or sale.affiliate in self.changes.groups
            or self._is_changed(sale.customer)
        )

    def _is_changed(self, customer: int | None) -> bool:
        """Whether a cap of the customer may be reached earlier or later."""
        return customer in self._changed_customers or customer in self._since

    def _calculate(
        self, sale: StoredSale, after: Decision, earlier: Sequence[tuple[int, bool]]
    ) -> Iterator[Earned]:
        """Yield what the sale earns by the changed rules, in the order of what it earned."""
        others = [each for each in sale.commissions if not each.stays]
        was_past = bool(others) and others[0].is_past_cap
        is_past = self._find_past(sale, after, earlier, was_past=was_past)
        case = Case(sale, after, was_past, is_past)
        if case.is_moved:
            self._unknown_of_sale.add(Unknown.GROUPS)
        parents: list[Earned] = []
        for stored in sale.commissions:
            if case.stays(stored):
                yield stored.as_earned()
            elif stored.kind == REGULAR and not after.refusal:
                line = self._calculate_line(case, stored)
                yield line
                parents += self._calculate_parents(case, stored, line)
            elif not case.is_moved and not after.refusal:
                yield from self._calculate_level(case, stored)
        yield from parents

    def _calculate_line(self, case: Case, stored: StoredCommission) -> Earned:
        rules, identifier = self.rules.programs[case.after.program], stored.commission_type
        if case.is_moved and identifier not in rules.rates:
            self._unknown_of_sale.add(Unknown.RATES)
            identifier = rules.default_type
        rate = self._find_rule_rate(case, stored)
        if rate is None:
            rate = self._find_group_rate(case, stored, identifier)
        if rate is None:
            rate = self._find_type_rate(case, stored, identifier)
        return case.earn(
            stored,
            rate,
            affiliate=case.after.affiliate,
            commission_type=identifier,
            due_at=self._find_due(case, stored),
        )

    def _calculate_level(self, case: Case, stored: StoredCommission) -> Iterator[Earned]:
        number, rate = stored.source.level, stored.as_earned().rate
        if number in self._get_changes(case.after.program).levels:
            levels = self._get_levels(case.after.program)
            if number not in levels:
                return
            rate = levels[number]
        yield case.earn(stored, rate, due_at=self._find_due(case, stored))

    def _calculate_parents(
        self, case: Case, stored: StoredCommission, line: Earned
    ) -> Iterator[Earned]:
        """Yield level commissions of the present parents that are not stored.

        The parents of another affiliate all earn; of the same one, those of a level that
        the program did not have.
        """
        program = case.after.program
        if not self.rules.pays_levels or (
            line.commission_type in self.rules.programs[program].parentless_types
        ):
            return
        levels, changed = self._get_levels(program), self._get_changes(program).levels
        known = {each["level"] for each in stored.calculation.get("skipped", ())}
        known |= {each.source.level for each in case.sale.commissions if each.base == stored.pk}
        number, person = FIRST_LEVEL, self._get_parent(line.affiliate)
        while person and number in levels:
            if case.is_moved or (number in changed and number not in known):
                self._unknown_of_sale.add(Unknown.PARENTS)
                if self._can_earn(program, person):
                    yield case.earn(
                        stored,
                        levels[number],
                        affiliate=person,
                        kind=LEVEL,
                        commission_type=f"level-{number}",
                        due_at=line.due_at,
                    )
            number, person = number + 1, self._get_parent(person)

    def _get_parent(self, affiliate: str) -> str:
        return self.rules.people.get(affiliate, NOBODY).parent

    def _can_earn(self, program: str, affiliate: str) -> bool:
        is_deleted = self.rules.people.get(affiliate, NOBODY).is_deleted
        return not is_deleted and (program, affiliate) in self.rules.approved

    def _get_changes(self, program: str) -> ProgramChanges:
        return self.changes.programs.get(program, NO_CHANGES)

    def _get_levels(self, program: str) -> dict[int, Rate]:
        """The levels of a program by the changes, else the present ones."""
        levels = {**self.rules.programs[program].levels, **self._get_changes(program).levels}
        return {number: rate for number, rate in levels.items() if rate is not None}

    def _get_group(self, affiliate: str) -> str:
        """The group of an affiliate by the changes, else the present one."""
        person = self.rules.people.get(affiliate, NOBODY)
        return self.changes.groups.get(affiliate, person.group)

    def _has_new_group(self, case: Case) -> bool:
        return case.is_moved or case.after.affiliate in self.changes.groups

    def _find_rule_rate(self, case: Case, stored: StoredCommission) -> Rate | None:
        """Return the rate of a rule, which no change of plain rates touches; None: none."""
        if stored.source.kind not in (RateSourceKind.RULE, RateSourceKind.NONE):
            return None
        if case.is_moved or case.after.affiliate in self.changes.groups:
            self._unknown_of_sale.add(Unknown.RATES)
        return None if case.is_moved else stored.as_earned().rate

    def _find_group_rate(
        self, case: Case, stored: StoredCommission, identifier: str
    ) -> Rate | None:
        """Return the rate of the affiliate's group; None if there is none."""
        program, group = case.after.program, stored.source.group
        changed, is_new = self._get_changes(program).group_rates, self._has_new_group(case)
        if is_new or (not group and changed):
            group = self._get_group(case.after.affiliate)
        key = (identifier, group)
        if key in changed:
            if not is_new and not stored.source.group:
                self._unknown_of_sale.add(Unknown.GROUPS)
            return changed[key]
        if group == stored.source.group and case.is_same_program:
            return stored.as_earned().rate if group else None
        return self.rules.programs[program].group_rates.get(key) if is_new else None

    def _find_type_rate(self, case: Case, stored: StoredCommission, identifier: str) -> Rate:
        changed, source = self._get_changes(case.after.program).rates, stored.source
        if identifier in changed:
            return changed[identifier]
        is_stored = source.kind == RateSourceKind.COMMISSION_TYPE and case.is_same_program
        if is_stored and source.commission_type == identifier:
            return stored.as_earned().rate
        self._unknown_of_sale.add(Unknown.RATES)
        return self.rules.programs[case.after.program].rates[identifier]

    def _find_due(self, case: Case, stored: StoredCommission) -> datetime | None:
        hold = stored.calculation.get("hold", {"days": 0, "from": "program"})
        sold_at, program = case.sale.created_at, case.after.program
        if stored.due_at != sold_at + timedelta(days=hold["days"]):
            return stored.due_at  # released, or from before holds
        days, of_program = hold["days"], hold["from"] == "program"
        if self._has_new_group(case):
            group = self._get_group(case.after.affiliate)
            is_stored, of_program = of_program, group not in self.rules.group_holds
            if not of_program:
                days = self.rules.group_holds[group]
            elif not (is_stored and case.is_same_program):
                days = self.rules.programs[program].settings[HOLD_DAYS]
        if of_program:
            days = self._get_changes(program).settings.get(HOLD_DAYS, days)
        return sold_at + timedelta(days=days)

    # Caps

    def _find_past(
        self,
        sale: StoredSale,
        after: Decision,
        earlier: Sequence[tuple[int, bool]],
        *,
        was_past: bool,
    ) -> bool:
        """Whether the sale is past its customer's cap by the changed rules.

        The stored decision stays unless present rules and changed ones differ: statuses
        of that time are not stored.
        """
        changed = self._get_changes(after.program).settings
        is_other = after.program != sale.program or self._is_changed(sale.customer)
        if sale.customer is None or not (is_other or changed.keys() & RECURRING):
            return was_past
        present = self.rules.programs[sale.program].settings
        rules = {**self.rules.programs[after.program].settings, **changed}
        since = sale.confirmed_since
        before = _is_past(sale, present, since, (counts for _, counts in earlier))
        since = self._since.get(sale.customer, since)
        counts = (self._counts.get(pk, counts) for pk, counts in earlier)
        now = _is_past(sale, rules, since, counts)
        if before != was_past:
            self._unknown_of_sale.add(Unknown.CAPS)
        return was_past if now == before else now

    def _remember_count(
        self, sale: StoredSale, before: Iterable[Earned], after: Iterable[Earned]
    ) -> None:
        counted, counts = (any(it.is_earned for it in earned) for earned in (before, after))
        if sale.customer is not None and counted != counts:
            self._counts[sale.pk] = counts
            self._changed_customers.add(sale.customer)


def _can_change(inputs: Inputs) -> bool:
    """Whether rules decided, and not staff, another system or an earlier claim."""
    return not {STAFF, IMPORT, CLAIM}.intersection(inputs["order"])


def _has_new_customer(inputs: Inputs) -> bool:
    """Whether the sale names a customer that is not known yet."""
    return any(it["parameter"] == CUSTOMER and not it["affiliate"] for it in inputs["candidates"])


def _is_past(
    sale: StoredSale, settings: Mapping[str, Any], since: datetime | None, counts: Iterable[bool]
) -> bool:
    is_recurring, cap, days = (settings[name] for name in RECURRING)
    if days is not None and since is not None and sale.created_at > since + timedelta(days=days):
        return True
    limit = cap if is_recurring else 1
    if limit is None:
        return False
    number = 0
    for is_counted in counts:
        number += is_counted
        if number >= limit:
            return True
    return False


# What changes


@dataclass(frozen=True)
class RuleChange:
    """A rule that changes: its present value and the new one, as JSON data.

    `rule` is one of `rate`, `group_rate`, `level`, the names of settings, `group` of an
    affiliate, and `order`; `of` says which one.
    """

    program: str
    rule: str
    of: tuple[str, ...]
    before: Any
    after: Any


def list_rule_changes(rules: Rules) -> list[RuleChange]:
    """Return the rules that differ from the present ones, in the order of the changes."""
    found = [
        *(
            each
            for program, changes in rules.changes.programs.items()
            for each in _list_program_changes(program, rules.programs[program], changes)
        ),
        *(
            RuleChange("", "group", (name,), rules.people.get(name, NOBODY).group, group)
            for name, group in rules.changes.groups.items()
        ),
        RuleChange("", "order", (), [], list(rules.changes.order)),
    ]
    return [each for each in found if each.before != each.after]


def _list_program_changes(
    program: str, rules: ProgramRules, changes: ProgramChanges
) -> Iterator[RuleChange]:
    def compare(
        rule: str, of: tuple[str, ...], before: Rate | None, after: Rate | None
    ) -> RuleChange:
        return RuleChange(program, rule, of, _serialize_rate(before), _serialize_rate(after))

    for name, rate in changes.rates.items():
        yield compare("rate", (name,), rules.rates[name], rate)
    for key, group_rate in changes.group_rates.items():
        yield compare("group_rate", key, rules.group_rates.get(key), group_rate)
    for number, level in changes.levels.items():
        yield compare("level", (str(number),), rules.levels.get(number), level)
    for setting, value in changes.settings.items():
        yield RuleChange(program, setting, (), rules.settings[setting], value)


def _serialize_rate(rate: Rate | None) -> dict[str, str] | None:
    if rate is None:
        return None
    value = f"{rate.value:f}"
    value = value.rstrip("0").rstrip(".") if "." in value else value
    return {"kind": str(rate.kind), "value": value}
