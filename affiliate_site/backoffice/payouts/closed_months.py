"""The closing of a period, and the months that staff close by it."""

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404
from django.urls import path, reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join

from accounts.days import A_DAY
from accounts.errors import DomainError
from affiliate_site.backoffice.audit_sentences import describe_actor, find_names
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import Label, format_datetime, format_money
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.lists.columns import build_status_column
from affiliate_site.backoffice.navigation import SubList
from affiliate_site.backoffice.object_pages import (
    LINK_TEMPLATE,
    Details,
    ObjectPageMixin,
    Section,
    link_to,
    list_page_links,
)
from affiliate_site.backoffice.payouts.report_pages import DayField, ReportPage
from affiliate_site.closing_files import (
    build_kept_tables,
    build_table,
    list_lines,
    render_closing_csv,
    render_closing_pdf,
)
from affiliate_site.columns import Column, list_places
from affiliate_site.downloads import send_file
from payouts.models.closed_months import ClosedMonth
from payouts.models.ledger import Transfer
from payouts.services.bookkeeping import get_period_closings
from payouts.services.closed_months import (
    close_month,
    ensure_can_close,
    list_closed,
    list_corrections,
    reopen_month,
)
from payouts.statistics import Period, get_last_month, get_month

FORMATS = ("csv", "pdf")
EXPLAINED = "Equal to the ledger: the movements lead to the balances at the end."
COUNTED_BY = (
    "Each movement counts on the day when it was recorded, whatever the day of the"
    " sale. The dashboard counts commissions by their own day, with the status of"
    " today, and balances of today."
)
CLOSES = (
    "{month} is closed with these figures, which are kept as files (CSV, PDF).\nThen nobody"
    " can add a sale, or import an opening balance, sale, commission or payment, with a day"
    " until {last}.\nNothing else is refused: what the API, shops and staff change of sales"
    " until then counts in the month in which it is recorded.\nAn owner can reopen the month."
)
LATER = (
    "They were recorded after it, and count in the closing of their own month. Approvals and"
    " payments are not among them."
)
CLOSES_EARLIER = "All months before it are closed with it, without files."


def build_closing_sections(account, period: Period) -> list[Section]:
    """The figures of a period by currency, as the ledger has them now."""
    closings = get_period_closings(account, start=period.first, end=period.last)
    return [
        build_table(
            Section,
            currency,
            list_lines(closing),
            [EXPLAINED if closing.is_explained else "Not equal: check the ledger."],
        )
        for currency, closing in closings.items()
    ]


class ClosingPage(ReportPage):
    """What all affiliates had before and after a period, and what changed it.

    Of a whole month, also whether it is closed, with the button that closes or reopens
    it.
    """

    name = "closing"
    title = "Closing of a period"
    note = f"What is owed to all affiliates. Days of {{}}. {COUNTED_BY}"

    def build_sections(self, **days):
        period = Period(days["start"], days["end"])
        sections = build_closing_sections(self.account, period)
        if period == get_month(period.first):
            state, self.link_buttons = describe_month(self.request.user, period)
            sections.insert(0, Section(f"{period.first:%B %Y}", notes=[state]))
        return sections


def describe_month(user, period: Period) -> tuple[str, list[tuple[str, str]]]:
    """Whether a month is open, ended or closed, and the buttons of what the user can do."""
    account = user.account
    closed = list_closed(account).filter(month=period.first).first()
    if closed is not None:
        text = format_html(
            "Closed by {} on {}: {}",
            describe_actor(closed.closed_by, find_names(user, [], [closed.closed_by])),
            format_datetime(closed.created_at),
            link_to(closed, "its figures then, and what has changed since"),
        )
        return text, [(page.title, url) for page, url in list_page_links(user, closed)]
    try:
        ensure_can_close(account, period, at=timezone.now())
    except DomainError as error:
        return error.text, []
    url = f"{reverse('admin:payouts_closedmonth_add')}?month={period.first}"
    buttons = [(CloseMonthPage.title, url)] if CloseMonthPage.is_allowed(user) else []
    return "The month has ended, and is not closed.", buttons


class CloseMonthPage(FormPage):
    """Says what closing a month does, with its figures; by default the next month."""

    model = ClosedMonth
    action = "add"
    title = button = "Close month"
    done_message = "{result.title} is closed."
    is_atomic = False  # files are made before the account is locked

    class Form(ServiceForm):
        month = DayField(widget=forms.HiddenInput)

    @cached_property
    def period(self) -> Period:
        """The month that the address or the form names."""
        sent = self.request.POST or self.request.GET
        try:
            return get_month(DayField().clean(sent.get("month", "")))
        except ValidationError:
            last = list_closed(self.account).first()
            today = self.account.get_day(timezone.now())
            return get_month(last.month + A_DAY * 31) if last else get_last_month(today)

    def get_initial(self):
        return super().get_initial() | {"month": self.period.first}

    def get_explanation(self):
        text = CLOSES.format(month=f"{self.period.first:%B %Y}", last=self.period.last)
        is_first = not list_closed(self.account).exists()
        return f"{text}\n{CLOSES_EARLIER}" if is_first else text

    def list_alerts(self):
        try:
            ensure_can_close(self.account, self.period, at=timezone.now())
        except DomainError as error:
            return [error.text]
        return []

    def list_sections(self):
        return build_closing_sections(self.account, self.period)

    def save(self, form, at):
        return close_month(
            self.account,
            month=form.values["month"],
            render_csv=render_closing_csv,
            render_pdf=render_closing_pdf,
            at=at,
        )


class ReopenMonthPage(FormPage):
    model = ClosedMonth
    name = "reopen"
    title = button = "Reopen month"
    permission = "accounts.change_account"
    row_argument = ("closed_month", "pk")
    explanation = (
        "Then entries with a day in this month can be added and imported again, and change"
        " its figures. The files of this closing stay; closing the month again makes others."
    )
    service = staticmethod(reopen_month)
    done_message = "{row.title} is open again."
    is_dangerous = True

    class Form(ServiceForm):
        reason = forms.CharField(max_length=500, help_text="Why; colleagues read it here.")

    @classmethod
    def is_offered(cls, row):
        return row.reopened_at is None


def get_status(row) -> Label:
    return Label("reopened", "warning") if row.reopened_at else Label("closed", "success")


@admin.register(ClosedMonth)
class ClosedMonthAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Closed months with their files, the last one first."""

    sub_list = SubList(Transfer, "Closed months")
    empty_state = (
        "No month is closed yet. Choose “Close month” to keep the figures of the last month."
    )
    columns = (
        Column("Month", lambda row: row.title, name="title", order="month", export="month"),
        build_status_column(get_status),
        "created_at",
        "digest",
    )
    ordering = ("-month", "-pk")
    title_field = "title"
    add_title = CloseMonthPage.title
    add_page = CloseMonthPage
    row_pages = (ReopenMonthPage,)

    def get_queryset(self, request):
        return super().get_queryset(request).defer("pdf")

    def get_urls(self):
        """Add the files."""
        view = self.admin_site.admin_view(self.file_view)
        return [
            path("<int:object_id>/file/<str:file_format>/", view, name="closed_month_file"),
            *super().get_urls(),
        ]

    def file_view(self, request, object_id, file_format: str):
        """A file as it was made when the month was closed."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_object(request, object_id)
        content = getattr(row, file_format, None) if file_format in FORMATS else None
        if content is None:
            raise Http404
        content = content.encode() if file_format == "csv" else bytes(content)
        return send_file(content, f"closing-{row}.{file_format}")

    def get_details(self, request, row):
        actors = [row.closed_by, row.reopened_by]
        names = find_names(request.user, [], actors)
        closed_by, reopened_by = (describe_actor(it, names) for it in actors)
        files = [
            format_html(
                LINK_TEMPLATE, reverse("admin:closed_month_file", args=[row.pk, it]), it.upper()
            )
            for it in FORMATS
            if getattr(row, it)
        ]
        facts = [
            ("Closed by", closed_by),
            ("Closed", format_datetime(row.created_at)),
            ("Files", format_html_join(", ", "{}", ((it,) for it in files))),
            ("SHA-256 of the CSV file", row.digest),
            ("Reopened by", reopened_by),
            ("Reopened", format_datetime(row.reopened_at)),
            ("Reason", row.reason),
        ]
        return Details(
            headline=row.title,
            labels=[get_status(row)],
            sections=[
                Section("Closing", facts=facts),
                *build_kept_tables(row, Section),
                build_corrections_section(row),
            ],
        )


def build_corrections_section(row) -> Section:
    """What entries since have changed of the sales of the month."""
    return Section(
        "Later entries about sales of this month",
        notes=[LATER],
        columns=list_places("What", "Entries", "Amount", amounts_from=1),
        rows=[
            (kind.label, f"{count:,}", format_money(amount, currency))
            for kind, currency, count, amount in list_corrections(row)
        ],
    )
