"""Reports: what an account did in a period, by up to two fields.

Days that are over are read from the daily statistics if these know the fields and all
sums that the columns need; other days, and all other reports, are read from the rows.
Columns are in `payouts/report_columns.py`.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from itertools import groupby
from typing import Any, Self

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
from payouts.report_columns import COLUMNS, COUNTS, TIMES, ReportColumn, Sums, Unit, add_sums
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
from payouts.statistics import Period
from tracking.money import ROUNDING_CONTEXT, round_amount

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


@dataclass(frozen=True)
class Report:
    """The rows of a report, its totals by currency, and `limited`: what it leaves out.

    `converted` is the sum of converted columns in the currency of the account, without
    the currencies that are `missing` as they have no rate; None if no column is.
    """

    query: ReportQuery
    columns: Sequence[ReportColumn]
    rows: list[ReportRow]
    totals: list[ReportRow]
    before: Period | None
    limited: str | None
    rates: ExchangeRates
    converted: ReportRow | None

    @property
    def missing(self) -> list[str]:
        return self.rates.list_missing(row.currency for row in self.totals)

    @property
    def used_rates(self) -> list[ExchangeRate]:
        currencies = {row.currency for row in self.totals}
        return [rate for code, rate in self.rates.rates.items() if code in currencies]

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

    def merge(self, group: Self, *, without: Collection[str] = ()) -> None:
        """Add what another one has."""
        add_sums(self.counts, group.counts)
        self.programs |= group.programs
        for currency, sums in group.by_currency.items():
            added = {name: it for name, it in sums.items() if name not in without}
            add_sums(self.by_currency[currency], added)


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
    currencies = dict(account.programs.values_list("pk", "currency"))
    rows = []
    for key in keys:
        now, then = groups.get(key, _Group()), earlier.get(key, _Group())
        programs = [currencies[it] for it in sorted(now.programs | then.programs)]
        found = {*now.by_currency, *then.by_currency} or {*programs[:1]}
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
                currency,
                _calculate(columns, now, currency, rates),
                _calculate(columns, then, currency, rates) if before else None,
            )
            for currency in sorted(found)
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
            *({}, {}, currency, _calculate(columns, total, currency, rates)),
            _calculate(columns, earlier_total, currency, rates) if before else None,
        )
        for currency in sorted({row.currency for row in rows})
    ]
    converted: ReportRow | None = None
    if summed := [it for it in columns if it.is_converted]:
        converted = ReportRow(
            *({}, {}, rates.into, _convert_total(summed, total, rates)),
            _convert_total(summed, earlier_total, rates) if before else None,
        )
    return Report(query, columns, rows[:MAX_ROWS], totals, before, limited, rates, converted)


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
    readings = [*_list_readings(account, names), Reading(SALES, TIMES)]
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
    sums = group.counts | group.by_currency.get(currency, {})
    of_all: Sums = {**group.counts}
    if any(column.is_of_all_currencies for column in columns):
        for each in group.by_currency.values():
            add_sums(of_all, each)
    values: dict[str, Any] = {}
    for column in columns:
        value = column.get_value(of_all if column.is_of_all_currencies else sums, currency)
        if column.is_converted:
            value = _round(rates.convert(value, currency), rates.into)
        values[column.name] = value
    return values


def _convert_total(
    columns: Sequence[ReportColumn], total: _Group, rates: ExchangeRates
) -> dict[str, Decimal | None]:
    """The sums of all currencies that have a rate, rounded once; None without any."""
    values = {}
    for column in columns:
        worth = [
            rates.convert(column.get_value(sums, currency), currency)
            for currency, sums in total.by_currency.items()
        ]
        known = [amount for amount in worth if amount is not None]
        exact = reduce(ROUNDING_CONTEXT.add, known) if known else None
        values[column.name] = _round(exact, rates.into)
    return values


def _round(amount: Decimal | None, currency: str) -> Decimal | None:
    return None if amount is None else round_amount(amount, currency)


def _sort(rows: list[ReportRow], query: ReportQuery) -> None:
    """By the texts of the rows first, what has none last: equal ones keep this order."""

    def get_texts(row: ReportRow) -> list[Any]:
        found = [getattr(row.objects.get(it), "name", "") or row.keys[it] for it in query.rows]
        texts = [it.casefold() if isinstance(it, str) else it for it in found]
        return [*((it is None or it == "", "" if it is None else it) for it in texts), row.currency]

    rows.sort(key=get_texts)
    ordered = [name for name in query.rows if FIELDS[name].has_order]
    by = query.sort or (ordered or [f"-{query.columns[0]}"])[0]
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
    readings = _list_readings(account, names)
    others = [name for name in (*query.rows, *filters) if not FIELDS[name].is_stored]
    others += [name for name in query.columns if not STORED_SUMS.keys() >= {*COLUMNS[name].sums}]
    if others:
        periods = [period]
        all_readings = [*readings, Reading(SALES, TIMES)]
        facts = {it.fact for it in all_readings if needed & it.sums.keys()}
        known = [it for it in sorted(facts) if _knows(account, it, names)]
        _check_numbers(account, known, period, filters, others, at=at)
    else:
        periods = _read_stored(account, query, period, needed, filters, groups, at=at)
    whole = defaultdict[tuple[Any, ...], _Group](_Group)
    own = {*TIMES}  # sums that the whole has of its own
    for reading in readings:
        sums = {name: reading.sums[name] for name in sorted(needed & reading.sums.keys())}
        for each in periods if sums else ():
            rows = reading.fact.select(account, each).filter(reading.condition)
            part = reading._replace(sums=sums)
            _read(account, query.rows, rows, part, filters, groups)
            if distinct := sums.keys() & {*reading.distinct}:
                of_whole = part._replace(sums={name: sums[name] for name in sorted(distinct)})
                _read(account, [], rows, of_whole, filters, whole)
                own |= distinct
    total = whole[()]
    for name in TIMES.keys() & needed:
        total.merge(_read_times(account, [], name, period, filters)[()])
        for key, group in _read_times(account, query.rows, name, period, filters).items():
            groups[key].merge(group)
    for group in groups.values():
        total.merge(group, without=own)
    return groups, total


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
    rows = statistics.select_stored(account.daily_stats.all(), period.days)
    reading = Reading(STORED_DAYS, {name: STORED_SUMS[name] for name in sorted(needed)})
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
    has_currency = fact in (SALES, COMMISSIONS, STORED_DAYS)
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


def _read_times(
    account: Account,
    names: Sequence[str],
    percentile: str,
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
    parts = [*map(F, keys), F("currency")]
    ranked = rows.annotate(
        time=time,
        rank=Window(RowNumber(), partition_by=parts, order_by="time"),
        number=Window(Count("*"), partition_by=parts),
    )
    found = ranked.filter(rank=(F("number") * TIMES[percentile] + 99) / 100).order_by()
    for *key, currency, time_to_sale in _limit(found.values_list(*keys, "currency", "time")):
        seconds = {percentile: time_to_sale // A_SECOND}
        groups[tuple(key)].add(None, currency, seconds)
    return groups


def _limit(rows: Any) -> Iterator[Any]:
    found = list(rows[: MAX_GROUPS + 1])
    if len(found) > MAX_GROUPS:
        raise ReportTooLarge(groups=f"{MAX_GROUPS:,}")
    yield from found
