"""Saved reports on the dashboard, and mailed to those who saved them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import QueryDict
from django.urls import reverse
from django.utils.html import strip_tags

from accounts.days import start_of_day
from accounts.models.accounts import Account
from accounts.models.users import MailRhythm, SavedView, User
from accounts.services.notifications import can_send_mail
from accounts.services.saved_views import list_pinned_views
from affiliate_site.backoffice.conversions.partner_reports import (
    PartnerReportPage,
    ReportForm,
    build_sections,
)
from affiliate_site.backoffice.object_pages import Section
from payouts.services.reports import UNITS, Report
from tracking.services.mails import queue_mail_to

REPORT_MAIL = "report"
PINNED_ROWS = 5
MAILED_ROWS = 20


@dataclass(frozen=True)
class SavedReport:
    """A saved view of the page of reports, and its report as of a moment.

    Without a report, `problem` says why: a program is gone, or it would read too much.
    """

    view: SavedView
    report: Report | None
    problem: str = ""

    @property
    def url(self) -> str:
        return f"{reverse(f'admin:{PartnerReportPage.name}')}?{self.view.query}"

    @property
    def days(self) -> str:
        period = self.report and self.report.query.period
        return f"{period.first} to {period.last}" if period else ""

    def get_rows(self, limit: int) -> Section | None:
        """The first rows of each currency, as the page shows them."""
        sections = build_sections(self.report) if self.report else []
        if not sections:
            return None
        numbers: Counter[str] = Counter()
        shown = []
        for row in sections[0].rows:
            numbers[row.currency] += 1
            if numbers[row.currency] <= limit:
                shown.append(row)
        return replace(sections[0], rows=shown)


def read_saved_report(account: Account, view: SavedView, *, at: datetime) -> SavedReport:
    """Build the report of a saved view."""
    form = ReportForm(account, QueryDict(view.query), today=account.get_day(at))
    report = form.build_report(at=at)
    return SavedReport(view, report, " ".join(form.list_problems()))


def list_pinned_reports(user: User, account: Account, *, at: datetime) -> list[dict[str, Any]]:
    """The reports on the user's dashboard, with their first rows."""
    reports = (
        read_saved_report(account, view, at=at) for view in list_pinned_views(account, user=user)
    )
    return [{"saved": it, "section": it.get_rows(PINNED_ROWS)} for it in reports]


def queue_report_mails(account: Account, *, at: datetime) -> int:
    """Store the mails of saved reports whose week or month has begun since they were
    saved, once for each. Returns their number."""
    if not can_send_mail():
        return 0
    count, today = 0, account.get_day(at)
    for rhythm in MailRhythm:
        first = UNITS[rhythm.value](today)
        views = account.saved_views.filter(
            mailed_every=rhythm,
            user__is_active=True,
            created_at__lt=start_of_day(first, account.zone),
        )
        for view in views.select_related("user").order_by("pk"):
            about = f"{view.pk}-{first}"
            if account.mails.filter(kind=REPORT_MAIL, about=about).exists():
                continue
            saved = read_saved_report(account, view, at=at)
            count += queue_mail_to(
                account,
                view.user.email,
                affiliate=None,
                kind=REPORT_MAIL,
                about=about,
                subject=f"{view.name}: {saved.days}",
                text="\n".join(write_mail(account, saved)),
                at=at,
            )
    return count


def write_mail(account: Account, saved: SavedReport) -> Iterator[str]:
    """Yield the lines of a mail."""
    url = f"{settings.PUBLIC_URL}{saved.url}"
    section = saved.get_rows(MAILED_ROWS)
    if saved.report is None:
        yield f"This report cannot be built any more. {saved.problem}"
    elif section is None:
        yield f"{account.name}, {saved.days}: nothing in these days."
    else:
        yield f"{account.name}, {saved.days}:\n"
        names = len(saved.report.query.rows)
        for row in section.rows:
            cells = [strip_tags(f"{column(row)}") for column in section.columns]
            titled = zip(section.columns[names:], cells[names:], strict=True)
            values = ", ".join(f"{column.title} {cell}" for column, cell in titled)
            yield f"{', '.join(cells[:names])}: {values}"
        if len(saved.report.rows) > len(section.rows):
            yield f"… {len(saved.report.rows):,} rows in all"
    yield f"\nThe whole report:\n{url}\n\nTo end these mails, remove the report there."
