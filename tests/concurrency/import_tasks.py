"""Tasks of operators and finance: imports of tables, closing of months, and `prune`."""

import io
from contextlib import suppress
from datetime import UTC, date, datetime

from django.core.management import call_command

from accounts.days import start_of_day
from affiliate_site.moving.tables.undo import undo_table_import
from payouts.errors import DayInClosedMonth
from payouts.services.closed_months import reopen_month
from payouts.services.conversion_creation import ConversionData, create_conversion
from tests.affiliate_site.moving.tables.building import build
from tests.closed_months import close
from tests.program_scenario import build_line_items
from tracking.attribution import TrackingParameters
from tracking.services import click_retention

AT = datetime(2026, 9, 1, 12, tzinfo=UTC)


def import_table(account, *, kind, text, program):
    """Import a table; return how many rows were stored."""
    defaults = {"program": program} if kind == "conversions" else {}
    report = build(account, kind, text, at=AT, defaults=defaults).store()
    return f"{report.counts['created']} stored"


def import_tables(account, *, texts, program):
    """Import tables of sales; return how many were stored."""
    results = [import_table(account, kind="conversions", text=it, program=program) for it in texts]
    return [int(it.split()[0]) for it in results]


def add_dated_sales(account, *, day, coupon, times):
    """Add sales of a day as staff do; return how many were stored."""
    added = [0]
    for _ in range(times):
        data = ConversionData(
            parameters=TrackingParameters(coupon=coupon),
            line_items=build_line_items("10"),
            created_at=start_of_day(date.fromisoformat(day), account.zone),
        )
        with suppress(DayInClosedMonth):
            create_conversion(account, data=data, at=AT)
            added.append(1)
    return added


def close_month(account, *, month, coupon, times):
    """Add sales of a month, then close it; return how many of its sales there are then."""
    add_dated_sales(account, day=month, coupon=coupon, times=times)
    row = close(account, at=AT, month=int(month[5:7]), year=int(month[:4]))
    first = start_of_day(row.month, account.zone)
    sales = account.conversions.filter(created_at__gte=first, created_at__lt=row.before)
    return f"{sales.count()} sales"


def reopen(account, *, closed_month):
    reopen_month(account, closed_month=closed_month, reason="test", at=AT)


def undo_import(account, *, public_id):
    undo_table_import(account, public_id=public_id, at=AT)


def prune(account, *, batch_size):
    """Remove what is expired in all accounts, a few clicks at once."""
    click_retention.DELETE_BATCH_SIZE = batch_size
    call_command("prune", stdout=io.StringIO())


IMPORT_TASKS = {
    "add_dated_sales": add_dated_sales,
    "close_month": close_month,
    "reopen_month": reopen,
    "import_table": import_table,
    "import_tables": import_tables,
    "undo_import": undo_import,
    "prune": prune,
}
