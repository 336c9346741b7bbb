"""Reports of a random history are what a count of all rows in Python says, whether they
come from stored days or from rows."""

from collections import defaultdict
from dataclasses import replace
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import combinations

import pytest
import time_machine
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.days import A_DAY
from payouts.report_columns import COLUMNS, CONVERTED, SUMMED_AMOUNTS, TIMES
from payouts.services.bonuses import grant_bonuses
from payouts.services.exchange_rates import set_rate
from payouts.services.report_fields import FIELDS
from payouts.services.reports import ReportQuery, build_report
from payouts.services.statistics import store_past_days
from payouts.statistics import Period
from tests.properties.test_same_numbers import AT, History, steps

pytestmark = pytest.mark.integration

# Without them stored days suffice; with them rows are read.
OF_ROWS = {
    *("disputes", "first_sale", "last_sale", "coupon_conversions", "buyers", "repeat_rate"),
    *("clicks_per_coupon", "known_conversions", "known_rate"),
    *TIMES,
    *(name for name in COLUMNS if name.startswith("customer_value_")),
}
BY = ("month", "program", "affiliate", "group")
HALF, END = (AT + timedelta(days=number) for number in (62, 90))  # in May and June
ZERO = Decimal(0)
RATE = Decimal("0.91234567")  # of a dollar
CENT = Decimal("0.01")
EARNED = ("pending", "approved")


def get_program(row):
    if hasattr(row, "rate_kind"):
        return row.conversion.program if row.conversion else row.bonus.program
    return row.program


class LongHistory(History):
    """A history that goes on into the month after the next one."""

    def wait(self, days):
        self.at = min(self.at + A_DAY * 15 * days, END)


def get_key(row, names):
    day = row.account.get_day(row.created_at)
    found = {
        "month": day.replace(day=1),
        "day": day,
        "program": get_program(row).slug,
        "affiliate": row.affiliate.slug,
        "group": row.affiliate.group and row.affiliate.group.public_id,
    }
    return tuple(found[name] for name in names)


def count_rows(account, names):
    """The base columns of each group and currency, counted one row at a time."""
    amounts = defaultdict(lambda: defaultdict(Decimal))
    counts, programs = defaultdict(lambda: defaultdict(int)), defaultdict(set)
    for name, rows in (("clicks", account.clicks), ("customers", account.customers)):
        for row in rows.all():
            key = get_key(row, names)
            counts[key][name] += 1
            programs[key].add(row.program)
    for sale in account.conversions.all():
        found = amounts[get_key(sale, names), sale.currency]
        first = sale.amount if sale.first_amount is None else sale.first_amount
        left = ZERO if sale.deleted_at else sale.amount
        found["refunds"] += max(first - left, ZERO)
        found["sold"] += first
        if not sale.deleted_at:
            found["conversions"] += 1
            found["revenue"] += sale.amount
    for row in account.commissions.not_deleted():
        found = amounts[get_key(row, names), row.currency]
        found[f"commissions_{row.status}"] += row.amount
    for key in counts.keys() - {key for key, _ in amounts}:
        currency = min(programs[key], key=lambda it: it.pk).currency
        amounts[key, currency] = defaultdict(Decimal)
    return {
        (key, currency): sums
        | counts[key]
        | {"commissions": sum(sums[f"commissions_{it}"] for it in EARNED)}
        for (key, currency), sums in amounts.items()
    }


def read_report(account, query, columns):
    """The columns by group and currency, without rows in which nothing is."""
    report = build_report(account, replace(query, columns=columns), at=END)
    rows = {(tuple(row.keys.values()), row.currency): row.values for row in report.rows}
    assert len(rows) == len(report.rows)
    compare_converted(report)
    for total in report.totals:
        for name in {"revenue", "conversions"} & set(columns):
            of_currency = [it for it in report.rows if it.currency == total.currency]
            assert total.values[name] == sum(it.values[name] for it in of_currency)
    return rows


def convert(amounts):
    """The worth of amounts by currency, half a cent up; None without any."""
    if not amounts:
        return None
    worth = sum(amount * (RATE if it == "USD" else 1) for it, amount in amounts)
    return worth.quantize(CENT, ROUND_HALF_UP)


def compare_converted(report):
    """Compare converted columns with those they convert: of each row and of the total."""
    for row in report.rows:
        for name in SUMMED_AMOUNTS:
            expected = convert([(row.currency, row.values[name])])
            assert row.values[f"{name}_converted"] == expected
    for name in SUMMED_AMOUNTS:
        amounts = [(it.currency, it.values[name]) for it in report.totals]
        assert (report.converted.values[f"{name}_converted"] or 0) == (convert(amounts) or 0)


def read_customers(account, names):
    """Those who bought, of each group and of all (an empty key)."""
    customers = defaultdict(set)
    for sale in account.conversions.not_deleted().filter(customer__isnull=False):
        for key in (get_key(sale, names), ()):
            customers[key].add(sale.customer_id)
    return customers


def compare_one_row(account, query, counted):
    """A report whose amounts are all converted: one row of each group, added up."""
    columns = ["clicks", "customers", "conversions", "buyers", "cost_ratio"]
    columns += [it for it in CONVERTED.values() if it not in OF_ROWS]
    report = build_report(account, replace(query, columns=columns), at=END)
    without_buyers = [it for it in columns if it != "buyers"]
    of_days = build_report(account, replace(query, columns=without_buyers), at=END)
    rows = {tuple(row.keys.values()): row.values for row in report.rows}
    customers = read_customers(account, query.rows)
    assert len(rows) == len(report.rows)
    assert {*rows} == {key for key, _ in counted}
    totals = [({*rows}, it.values, ()) for it in report.totals]
    for keys, values, place in [*(({key}, rows[key], key) for key in rows), *totals]:
        found = {it: sums for it, sums in counted.items() if it[0] in keys}
        for name in SUMMED_AMOUNTS:
            amounts = [(currency, sums[name]) for (_, currency), sums in found.items()]
            assert values[CONVERTED[name]] == convert(amounts), place
        clicks = {key: sums["clicks"] for (key, _), sums in found.items()}
        assert values["clicks"] == sum(clicks.values())
        assert values["conversions"] == sum(it["conversions"] for it in found.values())
        assert values["buyers"] == len(customers[place])
        paid, revenue = values["commissions_converted"], values["revenue_converted"]
        if revenue:
            assert abs(values["cost_ratio"] - 100 * paid / revenue) <= 3 * 100 * CENT / revenue + 1
    for row in of_days.rows:
        # Stored days may know that there is nothing.
        values = rows.get(
            tuple(row.keys.values()), row.values if not any(row.values.values()) else {}
        )
        assert row.values == {name: values[name] for name in without_buyers}
    assert {row.currency for row in report.rows + report.totals} <= {"EUR"}


def compare(account, names):
    period = Period(AT.date() - timedelta(days=9), account.get_day(END))
    query = ReportQuery(names, ["clicks"], period)
    counted = count_rows(account, names)
    of_rows = read_report(account, query, [*COLUMNS])
    assert {*of_rows} == {*counted}
    compare_one_row(account, query, counted)
    stored = [name for name in COLUMNS if name not in OF_ROWS]
    of_days = read_report(account, query, stored)
    for place, sums in counted.items():
        values = of_rows[place]
        bases = {name: sums[name] for name in COLUMNS if name in sums}
        assert {name: values[name] for name in bases} == bases, place
        # A group whose sales were all removed has nothing in stored days.
        if place in of_days:
            assert of_days[place] == {name: values[name] for name in stored}, place
        else:
            assert not any(values[name] for name in ("revenue", "commissions", "conversions"))
        if sums["clicks"]:
            sold = sum(it["conversions"] for (key, _), it in counted.items() if key == place[0])
            rate = Decimal(100 * sold) / sums["clicks"]
            assert values["conversion_rate"] == rate.quantize(Decimal("0.1"), ROUND_HALF_UP)
        if sums["sold"]:
            rate = 100 * sums["refunds"] / sums["sold"]
            assert values["refund_rate"] == rate.quantize(Decimal("0.1"))


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps, steps, st.sampled_from(("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago")))
def test_reports_are_a_full_count(db, steps, later_steps, time_zone):
    """Of days and whole months that are stored, stale, or of another time zone."""
    with time_machine.travel(END, tick=False), transaction.atomic():
        history = LongHistory()
        account = history.account
        account.default_currency = "EUR"
        account.save()
        set_rate(account, currency="USD", rate=RATE, at=END)
        group = account.affiliate_groups.create(public_id="ag_gold", title="Gold")
        history.people[0][1].affiliate.update_row(group=group)
        history.click(0, 0)
        for name, *arguments in steps:
            getattr(history, name)(*arguments)
        history.at = max(history.at, HALF)
        store(account, at=history.at)
        assert account.monthly_stats.exists()
        for name, *arguments in later_steps:
            getattr(history, name)(*arguments)
        grant_bonuses(account, at=END)
        account.time_zone = time_zone
        account.save()
        for names in [("day",), *((it,) for it in BY)]:
            compare(account, names)
        store(account, at=END)
        assert account.monthly_stats.exists()
        for names in [*((it,) for it in BY), *combinations(BY, 2)]:
            compare(account, names)
        transaction.set_rollback(True)


def store(account, *, at):
    for _ in store_past_days(account, at=at):
        pass


def test_all_fields_that_days_store_are_compared():
    stored = {name for name, field in FIELDS.items() if field.is_stored}
    assert stored == {*BY, "day", "week", "quarter"}
    assert isinstance(AT.date(), date)
