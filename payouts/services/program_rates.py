"""All rates of a program: printed as a file, and replaced by one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.errors import InvalidSetting
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.calculation import CommissionRate, describe_rule
from payouts.errors import InvalidRate, PastDay, RateNotFound
from payouts.models.commission_types import CommissionType, GroupRate, not_ended
from payouts.models.rates import Rate
from payouts.rates import SaleFacts
from payouts.services.calculation_input import list_rates
from payouts.services.programs import create_commission_type, serialize_rate
from payouts.services.rate_files import (
    MAX_RATES,
    PARTS,
    RateEntry,
    describe_row,
    read_rate,
    read_rates,
    write_words,
)
from tracking.models.programs import Program
from tracking.services.hierarchy import get_group
from tracking.services.programs import get_program

PlainRow = CommissionType | GroupRate
Words = dict[str, Any]


@dataclass
class RateChange:
    """What a file changes: the rates that begin and that end, in words, and warnings."""

    added: list[Words] = field(default_factory=list)
    ended: list[Words] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def list_program_rates(account: Account, program: Program, *, at: datetime) -> list[Words]:
    """Return the rates of a program that hold now or begin later, as `set_rates` takes them."""

    def write_days(starts_at: datetime | None, ends_at: datetime | None) -> Words:
        days = {"starts_at": starts_at, "ends_at": ends_at}
        return {name: account.get_day(it).isoformat() for name, it in days.items() if it}

    plain = [
        describe_plain(row) | write_days(None, row.ends_at)
        for rows in list_plain_rows(account, program, at)
        for row in rows
    ]
    return plain + [
        describe_row(row) | write_days(find_start(row, at), row.ends_at)
        for row in list_further_rates(account, program, at)
    ]


def find_start(row: Rate, at: datetime) -> datetime | None:
    """Return when a rate begins: its stated start, or a later one that was set."""
    starts = [row.starts_at, row.counts_from if row.counts_from > at else None]
    return max(filter(None, starts), default=None)


def describe_plain(row: PlainRow) -> Words:
    """Return the rate of a commission type, or of a group for one, as a file has it."""
    if isinstance(row, GroupRate):
        identifier, group = row.commission_type.identifier, row.group.public_id
        return write_words(row.kind, row.value, type=identifier, group=group)
    return write_words(row.kind, row.value, type=row.identifier)


def list_further_rates(account: Account, program: Program, at: datetime) -> list[Rate]:
    """Return the further rates of a program that hold now, in order, then planned ones."""
    rows = account.rates.filter(not_ended(at), program=program)
    related = rows.select_related("program", "commission_type", "group", "affiliate")
    return sorted(related.order_by("position", "id"), key=lambda row: row.counts_from > at)


def list_plain_rows(
    account: Account, program: Program, at: datetime
) -> tuple[QuerySet[CommissionType], QuerySet[GroupRate]]:
    """Return the rates of commission types, and of groups for them, that have not ended."""
    types = account.commission_types.filter(not_ended(at), program=program).in_definition_order()
    groups = account.group_rates.filter(not_ended(at), commission_type__program=program)
    related = groups.select_related("commission_type__program", "group")
    return types.select_related("program"), related.order_by("id")


def set_rates(
    account: Account,
    program_id: str,
    data: Any,
    *,
    starts_at: datetime | None = None,
    is_dry_run: bool = False,
    at: datetime,
) -> RateChange:
    """Replace the rates of a program by those of a file, from a moment on.

    `starts_at` is now unless it is stated. What the file leaves out ends then. Commission
    types that the file names are made; none is removed. With `is_dry_run` nothing is
    stored. Raises `ErrorList` with the faults of the file, and `PastDay`.
    """
    if starts_at is not None and starts_at <= at:
        raise PastDay
    with transaction.atomic():
        program = get_program(account, program_id, lock=True)
        entries = read_rates(account, program, data)
        change = _Replacement(account, program, starts_at, at).run(entries)
        if is_dry_run:
            transaction.set_rollback(True)
    change.warnings = list(find_overlaps(entries))
    return change


def add_rate(
    account: Account, program_id: str, data: Words, *, starts_at: datetime | None, at: datetime
) -> Rate:
    """Add a rate to those of a program, from a moment on; None: from now.

    `data` is a rate as a file has it. Raises `ErrorList` with its faults, by the names of
    the file without a place, `PastDay` and `InvalidSetting` for too many.
    """
    if starts_at is not None and starts_at <= at:
        raise PastDay
    with transaction.atomic():
        program = get_program(account, program_id, lock=True)
        entry = read_rate(account, program, data)
        if entry.ends_at is not None and entry.ends_at <= (starts_at or at):
            raise InvalidRate(rule="Must be a day to come", path="ends_at")
        present = list_further_rates(account, program, at)
        if len(present) >= MAX_RATES:
            raise InvalidSetting(setting="The number of rates", rule=f"{MAX_RATES} at most")
        number = max((row.position for row in present), default=0)
        return _Replacement(account, program, starts_at, at).add_rule(number, entry)


def end_rate(account: Account, *, pk: int, ends_at: datetime | None = None, at: datetime) -> Rate:
    """End a rate at a moment to come, or now; one that has not begun by then is gone.

    Raises `RateNotFound` and `PastDay`.
    """
    if ends_at is not None and ends_at <= at:
        raise PastDay(path="ends_at")
    with transaction.atomic():
        rows = account.rates.select_related("program")
        found = get_or_raise(rows, RateNotFound, pk=pk)
        program = get_program(account, found.program.slug, lock=True)
        row = get_or_raise(rows.filter(not_ended(at)), RateNotFound, pk=pk)
        _Replacement(account, program, ends_at, at).end(row)
    return row


def with_further_rates(account: Account) -> Any:
    """The programs with `has_further_rates`: whether other rates than plain ones count."""
    types = CommissionType.objects.of(account).exclude(ends_at=None)
    groups = GroupRate.objects.of(account).exclude(ends_at=None)
    return account.programs.annotate(
        has_further_rates=Exists(Rate.objects.of(account).filter(program=OuterRef("pk")))
        | Exists(types.filter(program=OuterRef("pk")))
        | Exists(groups.filter(commission_type__program=OuterRef("pk")))
    )


def list_first_order_rates(
    account: Account, program: Program, *, group_id: int | None = None, at: datetime
) -> Mapping[str, CommissionRate]:
    """Return what a first order without condition earns, by commission type.

    `group_id` is that of the affiliate; rates of one affiliate do not count.
    """
    rates = list_rates(account, program, group_id=group_id, affiliate=None, at=at)
    rules = [rule for rule in rates.rules if not rule.conditions]
    if not rules:
        return rates.types
    return replace(rates, rules=rules).choose(SaleFacts(day=account.get_day(at)))


def find_overlaps(entries: Sequence[RateEntry]) -> Iterator[str]:
    """Yield what a file says twice: of rates for the same sales the last one counts."""
    places: dict[str, int] = {}
    for number, entry in enumerate(entries):
        words = {name: it for name, it in entry.words.items() if name not in PARTS}
        place = f"{sorted(words.items())} {entry.starts_at} {entry.ends_at}"
        if place in places:
            yield (
                f"rates[{places[place]}] never counts: rates[{number}] is for the same sales"
                f" ({describe_rule(words)}) and comes later"
            )
        places[place] = number


class _Replacement:
    """One change of all rates of a program, which is locked; `starts_at` None: now."""

    def __init__(
        self, account: Account, program: Program, starts_at: datetime | None, at: datetime
    ) -> None:
        self.account = account
        self.program = program
        self.is_now = starts_at is None
        self.starts_at = starts_at or at
        self.at = at
        self.change = RateChange()

    def run(self, entries: Sequence[RateEntry]) -> RateChange:
        """Keep what the file has already, end the rest, and add what is new."""
        rows = self.account.commission_types.filter(program=self.program)
        list(rows.select_for_update(no_key=True).order_by("pk"))  # forms change their rates
        left = dict(enumerate(entries))
        for rule in list_further_rates(self.account, self.program, self.at):
            self._keep_or_end(rule, left)
        self._keep_or_end_plain(left)
        for number, entry in left.items():
            self._add(number, entry)
        return self.change

    def _keep_or_end(self, row: Rate, left: dict[int, RateEntry]) -> None:
        words, starts = describe_row(row), (row.starts_at, find_start(row, self.at))
        for number, entry in left.items():
            is_begun = row.counts_from <= self.starts_at or entry.starts_at is not None
            if (
                (entry.words, entry.ends_at) == (words, row.ends_at)
                and entry.starts_at in starts
                and is_begun
            ):
                del left[number]
                if row.position != number + 1:
                    row.update_row(position=number + 1)
                return
        if self.end(row):
            self.change.ended.append(words)

    def end(self, row: Rate) -> bool:
        """End a rate, or remove it if it never counted; return whether that is a change."""
        if max(filter(None, (row.counts_from, row.starts_at))) >= self.starts_at:
            self._log("rate.ended", row, {})
            self.account.rates.filter(pk=row.pk).delete()  # it never counted
        elif row.ends_at is None or row.ends_at > self.starts_at:
            row.update_row(ends_at=self.starts_at)
            self._log("rate.ended", row, {"ends_at": self.starts_at.isoformat()})
        else:
            return False
        return True

    def _keep_or_end_plain(self, left: dict[int, RateEntry]) -> None:
        plain = {
            (entry.words["type"], entry.words.get("group")): number
            for number, entry in left.items()
            if entry.is_plain
        }
        for number, entry in list(left.items()):
            if entry.is_plain and number not in plain.values():
                del left[number]  # a later one is for the same sales
        for rows in list_plain_rows(self.account, self.program, self.at):
            for row in rows:
                words = describe_plain(row)
                stored = RateEntry(words, ends_at=row.ends_at)
                kept = next((n for n, entry in left.items() if entry == stored), None)
                is_set_again = (words["type"], words.get("group")) in plain and self.is_now
                if kept is not None:
                    del left[kept]
                elif not is_set_again:
                    self._end_plain(row, words)

    def _end_plain(self, row: PlainRow, words: Words) -> None:
        if row.ends_at is None or row.ends_at > self.starts_at:
            self._update(row, ends_at=self.starts_at)
            self.change.ended.append(words)

    def _add(self, number: int, entry: RateEntry) -> None:
        if entry.ends_at is not None and entry.ends_at <= self.starts_at:
            return  # it is over before it counts
        self.change.added.append(dict(entry.words))
        if entry.is_plain and self.is_now:
            self._set_plain(entry)
        else:
            self.add_rule(number, entry)

    def add_rule(self, number: int, entry: RateEntry) -> Rate:
        """Store a rate at this place of the file, counted from 0."""
        identifier, group_id = entry.words.get("type"), entry.words.get("group")
        kind = self._get_type(identifier, entry) if identifier else None
        group = get_group(self.account, group_id, lock=True) if group_id else None
        orders = entry.words.get("orders", {})
        affiliates = self.account.affiliates.filter(slug=entry.words.get("affiliate"))
        row = self.account.rates.create(
            program=self.program,
            commission_type=kind,
            group=group,
            affiliate=affiliates.first(),
            kind=entry.kind,
            value=entry.value,
            fixed=entry.fixed,  # type: ignore[misc]
            first_order=orders.get("from"),
            last_order=orders.get("to"),
            order_months=orders.get("months"),
            conditions=entry.words.get("when"),
            starts_at=entry.starts_at,
            ends_at=entry.ends_at,
            counts_from=self.starts_at,
            position=number + 1,
        )
        days = {"starts_at": find_start(row, self.at), "ends_at": row.ends_at}
        details = {name: it.isoformat() for name, it in days.items() if it}
        self._log("rate.created", row, details)
        return row

    def _get_type(self, identifier: str, entry: RateEntry) -> CommissionType:
        """Return the type of a rate; a new one has no rate but this."""
        rows = self.account.commission_types.filter(program=self.program)
        row = rows.filter(identifier=identifier).first()
        if row is None:
            row = create_commission_type(
                self.account,
                program=self.program,
                identifier=identifier,
                title=identifier,
                kind=entry.kind,
                value=entry.value,
                at=self.at,
            )
            row.update_row(ends_at=self.at)
        return row

    def _set_plain(self, entry: RateEntry) -> None:
        kind = self._get_type(entry.words["type"], entry)
        values: Words = {"kind": entry.kind, "value": entry.value}
        if "group" not in entry.words:
            self._update(kind, ends_at=None, **values)
            return
        group = get_group(self.account, entry.words["group"], lock=True)
        rows = self.account.group_rates.filter(commission_type=kind, group=group)
        row = rows.select_related("commission_type__program", "group").first()
        if row is not None:
            self._update(row, ends_at=None, **values)
            return
        row = self.account.group_rates.create(
            commission_type=kind, group=group, kind=entry.kind, value=entry.value
        )
        log_event(self.account, "group_rate.created", row, at=self.at, **serialize_rate(row))

    def _update(self, row: PlainRow, **values: Any) -> None:
        changed = {name: it for name, it in values.items() if it != getattr(row, name)}
        if not changed:
            return
        event = "group_rate" if isinstance(row, GroupRate) else "commission_type"
        details = {name: [_write(getattr(row, name)), _write(it)] for name, it in changed.items()}
        row.update_row(**changed)
        log_event(self.account, f"{event}.updated", row, at=self.at, **details)

    def _log(self, event: str, row: Rate, details: Words) -> None:
        rate = serialize_rate(row) | ({"fixed": str(row.fixed)} if row.fixed else {})
        log_event(self.account, event, row, at=self.at, **rate, **details)


def _write(value: Any) -> str | None:
    return value.isoformat() if isinstance(value, datetime) else value and str(value)
