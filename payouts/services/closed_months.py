"""Closing of months: their figures are kept, and nobody can choose a date in them.

Months are closed in order, the first one is free; all days before its end are closed
with it. Only entries with a chosen date are refused: sales that staff add, and imports.
All others have the time at which they are posted, so what changes a sale of a closed
month counts in an open one.

Choosing a date, closing and reopening lock the account. Requests that began in a month
have ended when it can be closed (`is_closed`).
"""

import hashlib
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Count, Max, QuerySet

from accounts.actor import get_actor
from accounts.days import A_DAY, is_closed
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import ClosedMonthConflict, ClosedMonthNotFound, DayInClosedMonth
from payouts.models.closed_months import ClosedMonth
from payouts.models.ledger import TransferType
from payouts.services.bookkeeping import OwedMovement, PeriodClosing, get_period_closings
from payouts.services.statements import get_interval
from payouts.statistics import Period, get_month
from tracking.amounts import ExactSum

# What a later entry does to what a sale has earned; approvals change nothing.
CORRECTIONS = {
    TransferType.EARNED: OwedMovement.INCREASED,
    TransferType.WITHDRAWN: OwedMovement.WITHDRAWN,
}


def close_month(
    account: Account,
    *,
    month: date,
    render_csv: Callable[[Mapping[str, PeriodClosing]], str],
    render_pdf: Callable[[ClosedMonth], bytes | None],
    at: datetime,
) -> ClosedMonth:
    """Close the month of a day: keep its figures as files.

    The caller opens no transaction: files are made before the account is locked, and only
    made again if an entry was added meanwhile. Raises `ClosedMonthConflict`.
    """
    period = get_month(month)
    days = {"start": period.first, "end": period.last}

    def build_row() -> ClosedMonth:
        csv = render_csv(closings)
        row = ClosedMonth(
            account=account,
            month=period.first,
            before=get_interval(account, **days).before,
            csv=csv,
            digest=hashlib.sha256(csv.encode()).hexdigest(),
            closed_by=get_actor().name,
            created_at=at,
        )
        row.pdf = render_pdf(row)
        return row

    ensure_can_close(account, period, at=at)
    closings = get_period_closings(account, **days)
    row = build_row()
    with transaction.atomic():
        account.lock_row()
        ensure_can_close(account, period, at=at)
        if closings != (closings := get_period_closings(account, **days)):
            row = build_row()
        row.save(force_insert=True)
        log_event(account, "month.closed", row, at=at, month=row.title)
    return row


def reopen_month(account: Account, *, closed_month: int, reason: str, at: datetime) -> ClosedMonth:
    """Reopen the last closed month; its files stay.

    Raises `ClosedMonthNotFound` and `ClosedMonthConflict`.
    """
    with transaction.atomic():
        account.lock_row()
        row: ClosedMonth = get_or_raise(list_closed(account), ClosedMonthNotFound, pk=closed_month)
        last = list_closed(account)[0]
        if last != row:
            raise ClosedMonthConflict(reason=f"Reopen {last.title} before it.")
        row.update_row(reopened_at=at, reopened_by=get_actor().name, reason=reason)
        log_event(account, "month.reopened", row, at=at, month=row.title)
    return row


def list_closed(account: Account) -> QuerySet[ClosedMonth]:
    """Return the closings that count, that of the last month first."""
    rows = account.closed_months.filter(reopened_at=None).order_by("-month")
    return rows.defer("csv", "pdf")


def ensure_can_close(account: Account, period: Period, *, at: datetime) -> None:
    """Raise `ClosedMonthConflict` if a month cannot be closed now."""
    month, last = f"{period.first:%B %Y}", list_closed(account).first()
    following = last and get_month(get_month(last.month).last + A_DAY)
    if following and period.first < following.first:
        raise ClosedMonthConflict(reason=f"{month} is closed.")
    if not is_closed(period.last, account.zone, at=at):
        reason = f"{month} is open: it can be closed an hour after its last day."
        raise ClosedMonthConflict(reason=reason)
    if following and period != following:
        reason = f"Close {following.first:%B %Y} first: months are closed in order."
        raise ClosedMonthConflict(reason=reason)


def find_closed_before(account: Account) -> datetime | None:
    """Return the moment before which no date can be chosen, if there is one.

    It holds until the end of the transaction if the account is locked.
    """
    found: datetime | None = list_closed(account).aggregate(last=Max("before"))["last"]
    return found


def ensure_month_open(account: Account, at: datetime) -> None:
    """Lock the account; raise `DayInClosedMonth` if the month of a chosen date is closed."""
    account.lock_row()
    before = find_closed_before(account)
    if before is not None and at < before:
        first = account.get_day(before)
        raise DayInClosedMonth(month=f"{account.get_day(at):%B %Y}", first=first)


def list_corrections(row: ClosedMonth) -> list[tuple[OwedMovement, str, int, Decimal]]:
    """Return what later entries changed of the sales of a month.

    With the number of entries and their sum, by currency.
    """
    account, period = row.account, get_month(row.month)
    since = get_interval(account, period.first, period.last).since
    rows = account.transfers.filter(
        commission__conversion__created_at__gte=since,
        commission__conversion__created_at__lt=row.before,
        created_at__gte=row.before,
        kind__in=CORRECTIONS,
    )
    sums = rows.order_by("currency", "kind").values_list("currency", "kind")
    return [
        (CORRECTIONS[TransferType(kind)], currency, count, total)
        for currency, kind, count, total in sums.annotate(Count("pk"), ExactSum("amount"))
    ]
