"""What a list of affiliates is sorted by: their figures of a period, and balances.

The expressions are of affiliates of one account. They look up the stored days of each
affiliate, so only lists of limited length are sorted by them. Values are floats, which
is exact enough for an order, and sums of integers fail on SQLite beyond 64 bits.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

from django.db.models import FloatField, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Cast, Coalesce, NullIf

from accounts.days import A_DAY, start_of_day
from accounts.models.accounts import Account
from payouts.models.commissions import Commission, CommissionStatus
from payouts.models.ledger import LedgerAccountType
from payouts.report_columns import EARNED
from payouts.services.day_counts import (
    FIRST_AMOUNT,
    KEPT_AMOUNT,
    NOT_REMOVED,
    find_program_of_commission,
)
from payouts.services.statistics import Statistics

FLOAT = FloatField()


class Figure(NamedTuple):
    """A number of an affiliate: columns of the stored days, and the rows of other days."""

    columns: tuple[str, ...]
    rows: str  # the manager of the account
    condition: Q = Q()
    value: Any = Value(1)  # of a row


FIGURES = {
    "clicks": Figure(("clicks",), "clicks"),
    "conversions": Figure(("conversions",), "conversions", NOT_REMOVED),
    "revenue": Figure(("revenue",), "conversions", NOT_REMOVED, "amount"),
    "sold": Figure(("sold",), "conversions", Q(), FIRST_AMOUNT),
    "kept": Figure(("kept",), "conversions", NOT_REMOVED, KEPT_AMOUNT),
    "commissions": Figure(
        *(EARNED, "commissions", NOT_REMOVED & ~Q(status=CommissionStatus.DISAPPROVED)),
        "amount",
    ),
}
COUNTS = ("clicks", "conversions")


def get_figure(
    statistics: Statistics,
    days: Sequence[date],
    name: str,
    *,
    currency: str,
    program: int | None = None,
) -> Any:
    """Return the expression for a figure of consecutive days, in one program (None: in all).

    `name` is one of `FIGURES` or "refund_rates"; amounts are those in the `currency`.
    """
    if name == "refund_rates":
        sold, kept = (
            get_figure(statistics, days, it, currency=currency, program=program)
            for it in ("sold", "kept")
        )
        return (sold - kept) / NullIf(sold, Value(0.0))
    account, figure = statistics.account, FIGURES[name]
    counted = [it.day for it in statistics.counted if it.day in days]
    stored = account.daily_stats.filter(day__range=(days[0], days[-1])).exclude(day__in=counted)
    parts: list[tuple[QuerySet[Any], Any]] = [(stored, it) for it in figure.columns]
    for day in counted:
        rows = getattr(account, figure.rows).filter(
            figure.condition,
            created_at__gte=start_of_day(day, account.zone),
            created_at__lt=start_of_day(day + A_DAY, account.zone),
        )
        if program is not None and rows.model is Commission:
            rows = rows.annotate(program=find_program_of_commission(account))
        parts.append((rows, figure.value))
    total: Any = Value(0.0)
    for rows, value in parts:
        if program is not None:
            rows = rows.filter(program=program)
        if name not in COUNTS:
            rows = rows.filter(currency=currency)
        total += _sum(rows, value)
    return total


def get_balance_due(account: Account, currency: str) -> Any:
    """Return the expression for the balance due in a currency."""
    rows = account.ledger_accounts.filter(kind=LedgerAccountType.PAYABLE, currency=currency)
    return _sum(rows, "balance")


def _sum(rows: QuerySet[Any], value: Any) -> Coalesce:
    own = rows.filter(affiliate=OuterRef("pk")).order_by().values("affiliate")
    sums = own.annotate(total=Sum(Cast(value, FLOAT))).values("total")
    return Coalesce(Subquery(sums, output_field=FLOAT), Value(0.0))
