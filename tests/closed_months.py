"""Closing months in tests."""

from datetime import UTC, date, datetime

from affiliate_site.closing_files import render_closing_csv
from payouts.services.closed_months import close_month

CLOSED_AT = datetime(2026, 4, 2, 9, tzinfo=UTC)


def close(account, month=3, *, year=2026, at=CLOSED_AT, render_pdf=lambda _: b"%PDF-"):
    """Close a month, by default that in which scenarios begin."""
    return close_month(
        account,
        month=date(year, month, 1),
        render_csv=render_closing_csv,
        render_pdf=render_pdf,
        at=at,
    )
