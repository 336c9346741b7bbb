"""Reports: what an account did in a period, by up to two fields.

Days that are over are read from the daily statistics if these know the fields and all
sums that the columns need; other days, and all other reports, are read from the rows.
Columns are in `payouts/report_columns.py`.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal, localcontext
from functools import partial
from itertools import groupby
from typing import Any

from django.db.models import Count, DurationField, ExpressionWrapper, F, Value, Window
from django.db.models.functions import RowNumber

from accounts.days import A_DAY, start_of_day
from accounts.errors import InvalidInput, raise_errors
from accounts.models.accounts import Account
from accounts.models.row_counts import CountedRow, get_day_end
from accounts.services.row_counts import CountedList
from payouts.errors import (
    PeriodTooLong,
    ReportReadsTooMuch,
    ReportTooLarge,
    UnknownReportWord,
)
from payouts.models.exchange_rates import ExchangeRate
from payouts.report_columns import (
    AGE_SUMS,
    AGED,
    AGES,
    AMOUNT_SUMS,
    COLUMNS,
    COUNTS,
    SPENT,
    TIMES,
    ReportColumn,
    Sums,
    Unit,
    add_sums,
)
from payouts.services.day_counts import NOT_REMOVED
from payouts.services.exchange_rates import ExchangeRates, load_rates
from payouts.services.report_fields import (
    COMMISSIONS,
    FIELDS,
    READINGS,
    SALES,
    STORED_DAYS,
    STORED_SUMS,
    Fact,
    Reading,
    ReportObject,
)
from payouts.services.statements import FIRST_DAY, LAST_DAY
from payouts.services.statistics import load_statistics
from payouts.statistics import Period, count_months
from tracking.money import ROUNDING_CONTEXT

A_SECOND = timedelta(seconds=1)
MAX_FIELDS = 2
MAX_DAYS = 5 * 366
MAX_GROUPS = 100_000  # that one statement may return
MAX_ROWS = 10_000  # of a report
MAX_READ_ROWS = 1_000_000  # of one kind, in one period
A_MOMENT = timedelta(microseconds=1)
FILTERS = [it.name for it in FIELDS.values() if not it.is_time]
UNITS: dict[str, Callable[[date], date]] = {  # from a day to the first one of its unit
    "day": lambda day: day,
    "week": lambda day: day - A_DAY * day.weekday(),
    "month": lambda day: day.replace(day=1),
    "quarter": lambda day: date(day.year, (day.month - 1) // 3 * 3 + 1, 1),
}
OTHER_SUMS = Reading(SALES, dict.fromkeys((*TIMES, *AGE_SUMS)))  # not of one statement
LONGEST_UNIT = A_DAY * 92


@dataclass(frozen=True)
class ReportQuery:
    """What is asked for: names of `FIELDS` and `COLUMNS`, days, and how rows are sorted.

    `filters` are texts by names of fields, of objects their API IDs; an empty one finds
    what has none. `sort` names a field or column, with a minus for the largest first;
    empty: by time, else by the first column, the largest first. Amounts of different
    currencies are not compared: each currency has its own order.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    period: Period
    filters: Mapping[str, str] = field(default_factory=dict)
    sort: str = ""
    compare: str = ""  # one of `COMPARISONS`

    def __post_init__(self) -> None:
        errors: list[InvalidInput] = []
        for kind, names, known in (
            ("rows", self.rows, FIELDS),
            ("columns", self.columns, COLUMNS),
            ("filter", self.filters, FILTERS),
            ("sort", [self.sort.removeprefix("-")] if self.sort else [], self.names),
            ("compare", [self.compare] if self.compare else [], COMPARISONS),
        ):
            unknown = [name for name in names if name not in known]
            errors += (
                UnknownReportWord(kind=kind, word=name, words=", ".join(known))
                for name in unknown[:1]
            )
        if not 1 <= len(self.rows) <= MAX_FIELDS or len({*self.rows}) < len(self.rows):
            words = "one or two different fields"
            errors += [UnknownReportWord(kind="rows", word=",".join(self.rows), words=words)]
        if not self.columns:
            errors += [UnknownReportWord(kind="columns", word="", words=", ".join(COLUMNS))]
        first, last = self.period.first, self.period.last
        is_known = FIRST_DAY <= first <= last <= LAST_DAY
        if not is_known or (last - first).days >= MAX_DAYS:
            errors += [PeriodTooLong(days=MAX_DAYS)]
        raise_errors(errors)

    @property
    def names(self) -> list[str]:
        """The fields and columns."""
        return [*self.rows, *self.columns]

    @property
    def is_converted(self) -> bool:
        """Whether all amounts are converted ones: then they are added up over currencies."""
        amounts = [it for it in map(COLUMNS.__getitem__, self.columns) if it.unit is Unit.AMOUNT]
        return bool(amounts) and all(it.is_converted for it in amounts)

    @property
    def order(self) -> str:
        """What it is sorted by: `sort`, or what stands for it."""
        ordered = [name for name in self.rows if FIELDS[name].has_order]
        return self.sort or (ordered or [f"-{self.columns[0]}"])[0]

    @property
    def times(self) -> list[str]:
        """The fields that are parts of the period."""
        return [name for name in self.rows if FIELDS[name].is_time]


def _get_year_before(period: Period) -> Period:
    def move(day: date) -> date:
        try:
            return day.replace(year=day.year - 1)
        except ValueError:  # 29 February
            return day.replace(year=day.year - 1, day=28)

    return Period(move(period.first), move(period.last))


COMPARISONS: dict[str, Callable[[Period], Period]] = {
    "previous": lambda period: period.comparable,
    "year": _get_year_before,
}


@dataclass(frozen=True)
class ReportRow:
    """A row: its values by field (IDs of objects), objects by field, and its columns.

    `before` has the columns in the period that the report is compared with.
    """

    keys: Mapping[str, Any]
    objects: Mapping[str, ReportObject]
    currency: str
    values: Mapping[str, Any]
    before: Mapping[str, Any] | None = None

    @property
    def has_none(self) -> bool:
        """Whether it is what has no value of a field."""
        return any(value is None or value == "" for value in self.keys.values())


@dataclass(frozen=True)
class Report:
    """The rows of a report, its totals by currency, and `limited`: what it leaves out.

    `currencies` are those of what it counts. If all amounts are converted, there is one row
    of each group and one total, in the currency of the account. `converted` is the sum of
    converted columns in it, without the currencies that are `missing` as they have no rate;
    None if no column is.
    """

    query: ReportQuery
    columns: Sequence[ReportColumn]
    rows: list[ReportRow]
    totals: list[ReportRow]
    before: Period | None
    limited: str | None
    rates: ExchangeRates
    converted: ReportRow | None
    currencies: Sequence[str]

    @property
    def missing(self) -> list[str]:
        return self.rates.list_missing(self.currencies)

    @property
    def used_rates(self) -> list[ExchangeRate]:
        return [rate for code, rate in self.rates.rates.items() if code in self.currencies]

    @property
    def conversion_note(self) -> str:
        """How converted columns were calculated."""
        rates = "; ".join(f"{it} of {it.set_on}" for it in self.used_rates)
        missing = ", ".join(self.missing)
        return (
            f"Converted at your own rates of the day named{f': {rates}' if rates else ''}."
            f"{f' Without a rate, so in no converted number: {missing}.' if missing else ''}"
        )


class _Group:
    """The sums of a row: those of all currencies, and those of each."""

    def __init__(self) -> None:
        self.counts: Sums = {}
        self.programs: set[int] = set()  # of what is counted
        self.by_currency: dict[str, Sums] = defaultdict(dict)

    def add(self, program: int | None, currency: str, sums: Mapping[str, Any]) -> None:
        if currency:
            of_currency = {name: it for name, it in sums.items() if name not in COUNTS}
            add_sums(self.by_currency[currency], of_currency)
        else:
            add_sums(self.counts, sums)
            self.programs |= {program} if program else set()

    def merge(self, group: "_Group", *, without: Collection[str] = ()) -> None:
        """Add what another one has."""
        self.programs |= group.programs
        for currency, sums in [("", group.counts), *group.by_currency.items()]:
            added = {name: it for name, it in sums.items() if name not in without}
            add_sums(self.by_currency[currency] if currency else self.counts, added)

    def rename(self, names: Mapping[str, str]) -> "_Group":
        """The sums with these names under others."""
        group = _Group()
        for currency, sums in [("", self.counts), *self.by_currency.items()]:
            renamed = {names[name]: it for name, it in sums.items() if name in names}
            add_sums(group.by_currency[currency] if currency else group.counts, renamed)
        return group

    def add_up(self, currencies: Iterable[str]) -> Sums:
        """The sums of these currencies, as if they were one."""
        sums = {**self.counts}
        for currency in currencies:
            add_sums(sums, self.by_currency.get(currency, {}))
        return sums

    def convert(self, currencies: Iterable[str], rates: ExchangeRates) -> Sums | None:
        """The exact worth of those currencies that have a rate; None if none has one."""
        sums, has_rate = {**self.counts}, False
        for currency in filter(rates.has_rate, currencies):
            has_rate = True
            worth = {
                name: rates.convert(it, currency) if name in AMOUNT_SUMS else it
                for name, it in self.by_currency.get(currency, {}).items()
            }
            add_sums(sums, worth)
        return sums if has_rate else None


_Groups = dict[tuple[Any, ...], _Group]


def build_report(account: Account, query: ReportQuery, *, at: datetime) -> Report:
    """Read and calculate a report.

    Raises `UnknownReportValue` for a filter that names no object, `ReportTooLarge` for
    one with too many groups, `ReportReadsTooMuch`.
    """
    filters = {name: FIELDS[name].find_value(account, text) for name, text in query.filters.items()}
    groups, total = _read_groups(account, query, query.period, filters, at=at)
    before: Period | None = None
    earlier: _Groups = {}
    earlier_total = _Group()
    if query.compare:
        before = COMPARISONS[query.compare](query.period)
        earlier, earlier_total = _read_groups(account, query, before, filters, at=at)
        earlier = _move(query, earlier, before)
    rates = load_rates(account)
    columns = _list_known(account, query, rates)
    keys = {*groups, *earlier}
    objects = [
        FIELDS[name].load_objects(account, {key[place] for key in keys})
        for place, name in enumerate(query.rows)
    ]
    is_converted = _is_converted(account, query)
    currencies = dict(account.programs.values_list("pk", "currency"))
    all_found: set[str] = set()
    rows = []
    for key in keys:
        now, then = groups.get(key, _Group()), earlier.get(key, _Group())
        programs = [currencies[it] for it in sorted(now.programs | then.programs)]
        found = {*now.by_currency, *then.by_currency} or {*programs[:1]}
        all_found |= {*found}
        found_objects = {
            name: known[value]
            for name, known, value in zip(query.rows, objects, key, strict=True)
            if value in known
        }
        ids = {name: it.id for name, it in found_objects.items()}
        rows += [
            ReportRow(
                dict(zip(query.rows, key, strict=True)) | ids,
                found_objects,
                currency or rates.into,
                _calculate(columns, now, currency, rates),
                _calculate(columns, then, currency, rates) if before else None,
            )
            for currency in ([""] if is_converted else sorted(found))
        ]
    limited = None
    _sort(rows, query)
    if len(rows) > MAX_ROWS:
        limited = (
            f"{len(rows):,} rows: these are the first {MAX_ROWS:,}, the totals are of all."
            " Take fewer days, a filter, or one field."
        )
    totals = [
        ReportRow(
            *({}, {}, currency or rates.into, _calculate(columns, total, currency, rates)),
            _calculate(columns, earlier_total, currency, rates) if before else None,
        )
        for currency in (([""] if rows else []) if is_converted else sorted(all_found))
    ]
    converted: ReportRow | None = None
    if summed := [it for it in columns if it.is_converted]:
        converted = ReportRow(
            *({}, {}, rates.into, _calculate(summed, total, "", rates)),
            _calculate(summed, earlier_total, "", rates) if before else None,
        )
    return Report(
        *(query, columns, rows[:MAX_ROWS], totals, before, limited, rates, converted),
        currencies=sorted(all_found),
    )


def serialize_report(report: Report) -> dict[str, Any]:
    """The report as JSON: an amount is a number, a share is per hundred."""
    return {
        "rows": [_serialize_row(row) for row in report.rows],
        "totals": [_serialize_row(row) for row in report.totals],
        "from": report.query.period.first,
        "to": report.query.period.last,
        "limited": report.limited,
        **(_serialize_conversion(report) if report.converted else {}),
    }


def _serialize_conversion(report: Report) -> dict[str, Any]:
    rates = [
        {"currency": it.currency, "rate": it.rate, "set_on": it.set_on} for it in report.used_rates
    ]
    row = _serialize_row(report.converted) if report.converted else {}
    return {"converted": row | {"rates": rates, "missing": report.missing}}


def _serialize_row(row: ReportRow) -> dict[str, Any]:
    before = row.before or {}
    return {
        **row.keys,
        **{f"{name}_name": it.name for name, it in row.objects.items()},
        "currency": row.currency,
        **row.values,
        **{f"{name}_before": value for name, value in before.items()},
    }


def _move(query: ReportQuery, groups: _Groups, before: Period) -> _Groups:
    """Move the groups of an earlier period: its first week becomes that of the query's.

    If it has more weeks (or months …), the rest become those that follow.
    """
    days = Period(query.period.first, query.period.last + LONGEST_UNIT).days
    moves = {
        name: dict(zip(_list_units(name, before.days), _list_units(name, days), strict=False))
        for name in query.times
    }
    return {
        tuple(
            moves[name][value] if name in moves else value
            for name, value in zip(query.rows, key, strict=True)
        ): group
        for key, group in groups.items()
    }


def _is_converted(account: Account, query: ReportQuery) -> bool:
    """Whether a report has no row of each currency."""
    return query.is_converted and bool(account.default_currency)


def _list_units(name: str, days: Sequence[date]) -> list[date]:
    return [*dict.fromkeys(map(UNITS[name], days))]


def _knows(account: Account, fact: Fact, names: Iterable[str]) -> bool:
    """Whether a fact has something to do with all these fields."""
    return all(FIELDS[name].get_expression(account, fact) is not None for name in names)


def _list_readings(account: Account, names: Iterable[str]) -> list[Reading]:
    """The readings of a report by these fields."""
    return [
        it for it in READINGS if it.stands_for is None or not _knows(account, it.stands_for, names)
    ]


def _list_known(account: Account, query: ReportQuery, rates: ExchangeRates) -> list[ReportColumn]:
    """Return the columns; of those of facts that a field has nothing to do with, one
    without a value."""
    names = (*query.rows, *query.filters)
    readings = [*_list_readings(account, names), OTHER_SUMS]
    known = {name for it in readings if _knows(account, it.fact, names) for name in it.sums}
    columns = [
        replace(it, currency=rates.into) if it.is_converted else it
        for it in map(COLUMNS.__getitem__, query.columns)
    ]
    return [
        it if known.issuperset(it.sums) else replace(it, calculate=lambda *_: None)
        for it in columns
    ]


def _calculate(
    columns: Sequence[ReportColumn], group: _Group, currency: str, rates: ExchangeRates
) -> dict[str, Any]:
    """The columns of a currency; without one those of all, whose amounts are converted."""
    own = [currency] if currency else [*group.by_currency] or [rates.into]
    with localcontext(ROUNDING_CONTEXT):
        of_all, sums = group.add_up(group.by_currency), group.add_up(own)
        worth = group.convert(own, rates)
        values: dict[str, Any] = {}
        for it in columns:
            if it.is_converted or (it.has_amounts and not currency):
                values[it.name] = None if worth is None else it.get_value(worth, rates.into)
            else:
                of_column = of_all if it.is_of_all_currencies else sums
                values[it.name] = it.get_value(of_column, currency)
    return values


def _sort(rows: list[ReportRow], query: ReportQuery) -> None:
    """By the texts of the rows first, what has none last: equal ones keep this order."""

    def get_texts(row: ReportRow) -> list[Any]:
        found = [getattr(row.objects.get(it), "name", "") or row.keys[it] for it in query.rows]
        texts = [it.casefold() if isinstance(it, str) else it for it in found]
        return [*((it is None or it == "", "" if it is None else it) for it in texts), row.currency]

    rows.sort(key=get_texts)
    by = query.order
    name = by.removeprefix("-")
    if name in query.columns:
        known = [row for row in rows if row.values[name] is not None]
        known.sort(key=lambda row: row.values[name], reverse=by != name)
        rows[:] = [*known, *(row for row in rows if row.values[name] is None)]
        # Amounts compare within a currency only.
        if COLUMNS[name].unit is Unit.AMOUNT and not COLUMNS[name].is_converted:
            rows.sort(key=lambda row: row.currency)
    else:
        place = query.rows.index(name)
        rows.sort(key=lambda row: get_texts(row)[place], reverse=by != name)


def _read_groups(
    account: Account,
    query: ReportQuery,
    period: Period,
    filters: Mapping[str, Any],
    *,
    at: datetime,
) -> tuple[_Groups, _Group]:
    """Read the sums that the columns need, by the values of the fields, and their total."""
    needed = {name for column in query.columns for name in COLUMNS[column].sums}
    groups: _Groups = defaultdict(_Group)
    names = {*query.rows, *filters}
    readings, is_converted = _list_readings(account, names), _is_converted(account, query)
    others = [name for name in (*query.rows, *filters) if not FIELDS[name].is_stored]
    others += [name for name in query.columns if not STORED_SUMS.keys() >= {*COLUMNS[name].sums}]
    if others:
        periods = [period]
        all_readings = [*readings, OTHER_SUMS]
        facts = {it.fact for it in all_readings if needed & it.sums.keys()}
        known = [it for it in sorted(facts) if _knows(account, it, names)]
        _check_numbers(account, known, period, filters, others, at=at)
    else:
        periods = _read_stored(account, query, period, needed, filters, groups, at=at)
    whole = defaultdict[tuple[Any, ...], _Group](_Group)
    own = {*OTHER_SUMS.sums}  # sums that the whole has of its own
    for reading, of_whole in _list_statements(readings, needed, is_converted=is_converted):
        own |= reading.sums.keys() if of_whole else set()
        by, found = ([], whole) if of_whole else (query.rows, groups)
        for each in periods:
            rows = reading.fact.select(account, each).filter(reading.condition)
            _read(account, by, rows, reading, filters, found)
    total = whole[()]
    read_others = [
        partial(_read_times, Reading(SALES, {name: TIMES[name]}, by_currency=not is_converted))
        for name in sorted(TIMES.keys() & needed)
    ]
    if needed & {*AGE_SUMS}:
        read_others.append(partial(_read_ages, is_converted=is_converted))
    for read in read_others:
        total.merge(read(account, [], period, filters)[()])
        for key, group in read(account, query.rows, period, filters).items():
            groups[key].merge(group)
    for group in groups.values():
        total.merge(group, without=own)
    return groups, total


def _list_statements(
    readings: Iterable[Reading], needed: Collection[str], *, is_converted: bool
) -> Iterator[tuple[Reading, bool]]:
    """Yield the statements for the sums that are needed, and whether one is for the whole.

    What adds up to no whole is read of all currencies at once if amounts are converted.
    """
    for reading in readings:
        sums = {name: reading.sums[name] for name in sorted(reading.sums.keys() & needed)}
        distinct = {name: it for name, it in sums.items() if name in reading.distinct}
        of_distinct = reading._replace(sums=distinct, by_currency=not is_converted)
        if distinct:
            yield of_distinct, True
        if distinct and is_converted:
            yield of_distinct, False
            sums = {name: it for name, it in sums.items() if name not in distinct}
        if sums:
            yield reading._replace(sums=sums), False


def _read_stored(
    account: Account,
    query: ReportQuery,
    period: Period,
    needed: Collection[str],
    filters: Mapping[str, Any],
    groups: _Groups,
    *,
    at: datetime,
) -> list[Period]:
    """Add what stored days have to the groups. Returns the days that are not stored."""
    statistics = load_statistics(account, period.days, at=at, kinds=())
    has_days = not {"day", "week"}.isdisjoint(query.rows)
    reading = Reading(STORED_DAYS, {name: STORED_SUMS[name] for name in sorted(needed)})
    for rows in statistics.select_sums(period.days, has_days=has_days):
        _read(account, query.rows, rows, reading, filters, groups)
    return _list_runs([counted.day for counted in statistics.counted])


def _check_numbers(
    account: Account,
    facts: Iterable[Fact],
    period: Period,
    filters: Mapping[str, Any],
    others: Sequence[str],
    *,
    at: datetime,
) -> None:
    """Refuse to read too many rows; `others` are not in daily statistics.

    The rows of days that are over were counted ahead, as for lists.
    """
    # Counts are of days of UTC.
    since = get_day_end(start_of_day(period.first, account.zone)) - A_DAY
    until = get_day_end(start_of_day(period.last + A_DAY, account.zone) - A_MOMENT)
    affiliate = filters.get("affiliate")
    lookup = "affiliate" if affiliate else ""
    models = [getattr(account, fact.rows).model for fact in facts]
    for model in models:
        if not issubclass(model, CountedRow):
            continue
        count = CountedList(account, model, lookup, affiliate or 0, since, until).count(at)
        number = count.stored + count.later
        if number > MAX_READ_ROWS:
            raise ReportReadsTooMuch(
                number=f"{number:,}",
                what=f"{model._meta.verbose_name_plural}",
                limit=f"{MAX_READ_ROWS:,}",
                days=f"{max(1, len(period.days) * MAX_READ_ROWS // number)}",
                others=f", or leave out {', '.join(others)}, which daily statistics do not know",
            )


def _list_runs(days: Sequence[date]) -> list[Period]:
    """Return the periods that consecutive days make."""
    runs = groupby(enumerate(sorted(days)), lambda pair: pair[1] - A_DAY * pair[0])
    found = [[day for _, day in pairs] for _, pairs in runs]
    return [Period(run[0], run[-1]) for run in found]


def _select(
    account: Account, rows: Any, fact: Fact, names: Sequence[str], filters: Mapping[str, Any]
) -> tuple[Any, list[str]]:
    """Return the rows that the filters leave, with the fields as columns, and the names
    of these; None if the fact has nothing to do with one of them."""
    by = {name: FIELDS[name].get_expression(account, fact) for name in (*names, *filters)}
    if any(expression is None for expression in by.values()):
        return None, []
    for name, value in filters.items():
        rows = rows.alias(**{f"of_{name}": by[name]}).filter(**{f"of_{name}": value})
    return rows.annotate(**{f"by_{it}": by[it] for it in names}), [f"by_{it}" for it in names]


def _read(
    account: Account,
    names: Sequence[str],
    rows: Any,
    reading: Reading,
    filters: Mapping[str, Any],
    groups: _Groups,
) -> None:
    """Add the sums of one statement to the groups."""
    fact = reading.fact
    rows, keys = _select(account, rows, fact, names, filters)
    if rows is None:
        return
    has_currency = reading.by_currency and fact in (SALES, COMMISSIONS, STORED_DAYS)
    others = {"by_currency": F("currency") if has_currency else Value("")}
    # Only what has no currency needs that of its program.
    others["program_of_row"] = Value(0) if fact in (SALES, COMMISSIONS) else F("program")
    sums = {f"sum_{name}": expression for name, expression in reading.sums.items()}
    found = rows.order_by().annotate(**others).values_list(*keys, *others)
    for values in _limit(found.annotate(**sums)):
        *key, currency, program = values[: len(keys) + len(others)]
        numbers = values[len(keys) + len(others) :]
        # Rows of stored days may have nothing in the columns that are asked for.
        if any(number or isinstance(number, Decimal) for number in numbers):
            named = dict(zip(reading.sums, numbers, strict=True))
            groups[tuple(key)].add(program, currency, named)


def _read_ages(
    account: Account,
    names: Sequence[str],
    period: Period,
    filters: Mapping[str, Any],
    *,
    is_converted: bool,
) -> _Groups:
    """Read `AGE_SUMS` by the values of these fields: of customers whose first month is in
    the period, and as many months before its last day."""
    by = [*names, *(it for it in ("cohort", "months_since") if it not in names)]
    rows = SALES.select(account, period).filter(NOT_REMOVED)
    cohorts: _Groups = defaultdict(_Group)
    statements = _list_statements(READINGS, {"revenue", "buyers"}, is_converted=is_converted)
    for reading, of_whole in statements:
        if reading.fact is SALES and not of_whole:
            _read(account, by, rows, reading, filters, cohorts)
    groups: _Groups = defaultdict(_Group)
    for key, group in cohorts.items():
        values = dict(zip(by, key, strict=True))
        first, months = values["cohort"], values["months_since"]
        if first is None or first < period.first:
            continue
        for age in AGES:
            if months <= age <= count_months(first, period.last):
                titles = {"revenue": SPENT[age]} | ({"buyers": AGED[age]} if not months else {})
                groups[key[: len(names)]].merge(group.rename(titles))
    return groups


def _read_times(
    reading: Reading,
    account: Account,
    names: Sequence[str],
    period: Period,
    filters: Mapping[str, Any],
) -> _Groups:
    """Read one of `TIMES` by the values of these fields, by nearest rank."""
    groups: _Groups = defaultdict(_Group)
    rows = SALES.select(account, period).filter(NOT_REMOVED, click__affiliate=F("affiliate"))
    rows, keys = _select(account, rows, SALES, names, filters)
    if rows is None:
        return groups
    time = ExpressionWrapper(F("created_at") - F("click__created_at"), DurationField())
    [(name, percent)] = reading.sums.items()
    parts = [*map(F, keys), *([F("currency")] if reading.by_currency else [])]
    ranked = rows.annotate(
        time=time,
        by_currency=F("currency") if reading.by_currency else Value(""),
        rank=Window(RowNumber(), partition_by=parts, order_by="time"),
        number=Window(Count("*"), partition_by=parts),
    )
    found = ranked.filter(rank=(F("number") * percent + 99) / 100).order_by()
    for *key, currency, time_to_sale in _limit(found.values_list(*keys, "by_currency", "time")):
        seconds = {name: time_to_sale // A_SECOND}
        groups[tuple(key)].add(None, currency, seconds)
    return groups


def _limit(rows: Any) -> Iterator[Any]:
    found = list(rows[: MAX_GROUPS + 1])
    if len(found) > MAX_GROUPS:
        raise ReportTooLarge(groups=f"{MAX_GROUPS:,}")
    yield from found
