"""What if: the commissions of a period by other rules, beside what is stored.

Reads one snapshot and writes nothing. `payouts/what_if.py` attributes and calculates.
"""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from heapq import heappush, heappushpop
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from accounts.days import A_DAY, start_of_day
from accounts.db_compat import split_into_batches, use_snapshot
from accounts.errors import name_error
from accounts.models.accounts import Account
from payouts.calculation import RateSource, RateSourceKind
from payouts.errors import PeriodTooLong
from payouts.models.commissions import Commission, CommissionStatus
from payouts.services.statements import FIRST_DAY, LAST_DAY
from payouts.services.what_if_changes import SETTINGS, read_changes
from payouts.statistics import Period
from payouts.what_if import (
    COOKIE_TIME,
    Changes,
    Outcome,
    Person,
    ProgramRules,
    Rate,
    Rules,
    SaleReplay,
    StoredCommission,
    StoredSale,
    Unknown,
)
from tracking.claims import ClaimStatus
from tracking.errors import CookieExpired
from tracking.money import ZERO

MAX_DAYS = 5 * 366
MAX_EXPLAINED = 100  # changed sales that a result explains


@dataclass
class Sums:
    """What is earned as it is stored, and by the changed rules."""

    before: Decimal = ZERO
    after: Decimal = ZERO


SumsByKey = dict[tuple[str, str], Sums]  # by an ID or month, and the currency


def _create_sums() -> SumsByKey:
    return defaultdict(Sums)


@dataclass
class WhatIf:
    """The commissions of the sales of a period, twice; disapproved ones are not earned.

    Months are those of the sale, or those in which a commission is due (`2026-11`).
    `largest` are the sales that change most: difference, negative ID, currency.
    """

    period: Period
    rules: Rules  # present ones, and their changes
    sales: int = 0
    moved: int = 0  # to another affiliate
    refused: int = 0
    changed: int = 0
    totals: SumsByKey = field(default_factory=_create_sums)
    affiliates: SumsByKey = field(default_factory=_create_sums)
    programs: SumsByKey = field(default_factory=_create_sums)
    months: SumsByKey = field(default_factory=_create_sums)
    due_months: SumsByKey = field(default_factory=_create_sums)
    largest: list[tuple[Decimal, int, str, Outcome]] = field(default_factory=list)  # a heap
    unknown: Mapping[Unknown, int] = field(default_factory=dict)  # numbers of sales

    @property
    def explained(self) -> list[tuple[int, str, Outcome]]:
        """The sales that change most: ID, currency and outcome, most first."""
        ordered = sorted(self.largest, key=lambda each: (-each[0], -each[1]))
        return [(-pk, currency, outcome) for _, pk, currency, outcome in ordered]

    @property
    def changed_affiliates(self) -> int:
        """How many affiliates earn more or less in some currency."""
        return len({key for (key, _), it in self.affiliates.items() if it.before != it.after})


def calculate_what_if(
    account: Account,
    *,
    period: Period,
    changes: Any,
    advance: Callable[[int], None] = lambda number: None,
    begin: Callable[[int], None] = lambda number: None,
) -> WhatIf:
    """Calculate the sales of a period by the `changes` of `read_changes`.

    `begin` gets the number of sales, `advance` that of a batch that is done. Raises
    `PeriodTooLong` and `InvalidChange`.
    """
    validate_period(period)
    with use_snapshot():
        rules = load_rules(account)
        rules = replace(rules, changes=read_changes(account, changes, rules))
        reader = _SaleReader(account, period, rules)
        replay, result = SaleReplay(rules), WhatIf(period, rules)
        begin(len(reader.pks))
        for sales in reader.read(replay):
            for sale, earlier in sales:
                _add_outcome(result, account, sale, replay.replay(sale, earlier))
            advance(len(sales))
        result.unknown = {**replay.unknown, **reader.count_unknown()}
    return result


def validate_period(period: Period) -> None:
    """Raise `PeriodTooLong` for days in the wrong order, or too many."""
    first, last = period.first, period.last
    if not FIRST_DAY <= first <= last <= LAST_DAY or (last - first).days >= MAX_DAYS:
        raise PeriodTooLong(days=MAX_DAYS)


def _add_outcome(result: WhatIf, account: Account, sale: StoredSale, outcome: Outcome) -> None:
    result.sales += 1
    result.moved += outcome.is_moved
    result.refused += bool(outcome.after.refusal)
    if outcome.is_changed:
        result.changed += 1
        entry = (outcome.difference, -sale.pk, sale.currency, outcome)
        add = heappush if len(result.largest) < MAX_EXPLAINED else heappushpop
        add(result.largest, entry)
    currency, month = sale.currency, _get_month(account, sale.created_at)
    for name, decision, earned in (
        ("before", outcome.before, outcome.earned_before),
        ("after", outcome.after, outcome.earned_after),
    ):
        for each in earned:
            if not each.is_earned:
                continue
            places = [
                result.totals["", currency],
                result.affiliates[each.affiliate, currency],
                result.programs[decision.program, currency],
                result.months[month, currency],
                result.due_months[_get_month(account, each.due_at or sale.created_at), currency],
            ]
            for sums in places:
                setattr(sums, name, getattr(sums, name) + each.amount)


def _get_month(account: Account, moment: datetime) -> str:
    return f"{account.get_day(moment):%Y-%m}"


# Present rules


def load_rules(account: Account) -> Rules:
    """Read the present rules of all programs, groups and affiliates, without changes."""
    rates: dict[str, dict[str, Rate]] = defaultdict(dict)
    group_rates: dict[str, dict[tuple[str, str], Rate]] = defaultdict(dict)
    levels: dict[str, dict[int, Rate]] = defaultdict(dict)
    parentless: dict[str, set[str]] = defaultdict(set)
    defaults: dict[str, str] = {}
    for row in account.commission_types.select_related("program").order_by("id"):
        program, name = row.program.slug, row.identifier
        rates[program][name] = _build_rate(row, RateSource(RateSourceKind.COMMISSION_TYPE, name))
        if row.is_default:
            defaults[program] = name
        if not row.mlm:
            parentless[program].add(name)
    plain = account.group_rates.filter(ends_at=None)
    for rate in plain.select_related("commission_type__program", "group"):
        name, group = rate.commission_type.identifier, rate.group.public_id
        source = RateSource(RateSourceKind.GROUP, name, group=group)
        group_rates[rate.commission_type.program.slug][name, group] = _build_rate(rate, source)
    for level in account.levels.select_related("program"):
        source = RateSource(RateSourceKind.LEVEL, level=level.level)
        levels[level.program.slug][level.level] = _build_rate(level, source)
    programs = {
        row.slug: ProgramRules(
            default_type=defaults.get(row.slug, ""),
            settings={name: getattr(row, name) for name in SETTINGS},
            rates=rates[row.slug],
            group_rates=group_rates[row.slug],
            levels=levels[row.slug],
            parentless_types=parentless[row.slug],
        )
        for row in account.programs.order_by("id")
    }
    groups = account.affiliate_groups.exclude(hold_days=None)
    people, promoted = _load_people(account)
    approved = account.enrollments.filter(approved=True)
    return Rules(
        changes=Changes(),
        programs=programs,
        group_holds={row.public_id: row.hold_days or 0 for row in groups},
        people=people,
        approved=set(approved.values_list("program__slug", "affiliate__slug")),
        promoted=promoted,
        pays_levels=account.plan.mlm,
    )


def _build_rate(row: Any, source: RateSource) -> Rate:
    return Rate(row.kind, row.value, source.describe())


def _load_people(account: Account) -> tuple[dict[str, Person], dict[str, str]]:
    affiliates = account.affiliates.values_list(
        "slug", "group__public_id", "parent__slug", "deleted_at"
    )
    people = {
        slug: Person(group or "", parent or "", deleted_at is not None)
        for slug, group, parent, deleted_at in affiliates.iterator()
    }
    promoted: dict[str, str] = {}
    prospects = account.prospects.values_list("public_id", "affiliate__slug", "group__public_id")
    for public_id, affiliate, group in prospects.iterator():
        if affiliate:
            promoted[public_id] = affiliate
        else:
            people[public_id] = Person(group or "")
    return people, promoted


# Stored sales

SALE_COLUMNS = {
    "program": "program__slug",
    "affiliate": "affiliate__slug",
    "currency": "currency",
    "created_at": "created_at",
    "parameter": "tracking_source",
}
EarlierSales = Sequence[tuple[int, bool]]


def _get_earlier(sales: list[tuple[int, bool]], pk: int) -> EarlierSales:
    """Return the sales before this one, of sales in the order of their primary keys."""
    return sales[: bisect_left(sales, (pk,))]


class _SaleReader:
    """Reads the sales of a period in batches, in the order in which they were stored."""

    def __init__(self, account: Account, period: Period, rules: Rules) -> None:
        self.account = account
        self.changes = rules.changes
        self.span = (
            start_of_day(period.first, account.zone),
            start_of_day(period.last + A_DAY, account.zone),
        )
        self.customers_seen: set[int] = set()
        self.pks = sorted(self._in_period(account.conversions).values_list("pk", flat=True))

    def _in_period(self, rows: Any) -> QuerySet[Any]:
        start, end = self.span
        found: QuerySet[Any] = rows.filter(created_at__gte=start, created_at__lt=end)
        return found.filter(deleted_at=None)

    def read(self, replay: SaleReplay) -> Iterator[list[tuple[StoredSale, EarlierSales]]]:
        """Yield batches of sales with the earlier ones of their customers.

        The customers of the period are replayed before their first sale.
        """
        for pks in split_into_batches(self.pks, is_large=True):
            sales = self._read_sales(pks)
            customers = {sale.customer for sale in sales if sale.customer is not None}
            if self.changes.affects_attribution:
                self._replay_customers(replay, customers)
            earlier: dict[int | None, list[tuple[int, bool]]] = {}
            if self.changes.affects_caps:
                earlier = self._read_counted(customers, pks[-1])
            yield [(sale, _get_earlier(earlier.get(sale.customer, []), sale.pk)) for sale in sales]

    def _read_sales(self, pks: Sequence[int]) -> list[StoredSale]:
        commissions: dict[int, list[StoredCommission]] = defaultdict(list)
        rows = self.account.commissions.not_deleted().filter(conversion__in=pks).order_by("id")
        for conversion, *values in rows.values_list(
            *("conversion", "pk", "base_commission", "affiliate__slug", "kind"),
            *("commission_type", "sub_amount", "amount", "rate_kind", "rate"),
            *("rate_fixed", "status", "is_extra", "due_at", "calculation"),
        ).iterator():
            commissions[conversion].append(StoredCommission(*values))
        inputs: dict[int, str] = {}
        if self.changes.affects_attribution:
            records = self.account.attribution_records.filter(conversion__in=pks).order_by("id")
            inputs = dict(records.values_list("conversion", "inputs"))
        sales = self.account.conversions.filter(pk__in=pks).order_by("id")
        return [
            StoredSale(
                pk=pk,
                commissions=commissions[pk],
                customer=customer,
                confirmed_since=since if is_confirmed else None,
                inputs=json.loads(inputs[pk]) if pk in inputs else None,
                **dict(zip(SALE_COLUMNS, values, strict=True)),
            )
            for pk, customer, since, is_confirmed, *values in sales.values_list(
                *("pk", "customer", "customer__created_at", "customer__is_confirmed"),
                *SALE_COLUMNS.values(),
            ).iterator()
        ]

    def _replay_customers(self, replay: SaleReplay, customers: set[int]) -> None:
        """Attribute the customers of the period again that a call of their own created."""
        new = sorted(customers - self.customers_seen)
        self.customers_seen |= customers
        created = self._in_period(self.account.customers).filter(pk__in=new)
        records = self.account.attribution_records.filter(customer__in=created.values("pk"))
        latest = {
            row.customer_id: row
            for row in records.select_related("customer__affiliate").order_by("id")
        }
        for row in latest.values():
            if row.customer is not None:
                inputs, affiliate = json.loads(row.inputs), row.customer.affiliate.slug
                replay.replay_customer(row.customer.pk, inputs, affiliate)

    def _read_counted(
        self, customers: set[int], last: int
    ) -> dict[int | None, list[tuple[int, bool]]]:
        """Return the sales of customers up to one, and whether they count toward a cap."""
        earning = Commission.objects.of(self.account).not_deleted()
        earning = earning.exclude(status=CommissionStatus.DISAPPROVED)
        rows = self.account.conversions.not_deleted().exclude(claim_status=ClaimStatus.OPEN)
        rows = rows.filter(customer__in=customers, pk__lte=last).order_by("id")
        counts = Exists(earning.filter(conversion=OuterRef("pk")))
        found: dict[int | None, list[tuple[int, bool]]] = defaultdict(list)
        for customer, pk, is_counted in rows.values_list("customer", "pk", counts).iterator():
            found[customer].append((pk, is_counted))
        return found

    def count_unknown(self) -> dict[Unknown, int]:
        """Count what was refused, and bonuses, which no sale shows."""
        if self.changes == Changes():
            return {}
        start, end = self.span
        attempts = self.account.conversion_attempts.filter(
            failed_at__gte=start, failed_at__lt=end, reason=name_error(CookieExpired)
        )
        counts = {
            Unknown.REFUSED_SALES: (
                attempts.count() if COOKIE_TIME in self.changes.settings else 0
            ),
            Unknown.BONUSES: self._in_period(self.account.commissions)
            .filter(conversion=None)
            .count(),
        }
        return {kind: number for kind, number in counts.items() if number}
