"""Pages that only read: the statement of an affiliate, and those of bookkeeping."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.http import urlencode
from django.views import View

from affiliate_site.backoffice.effect_tables import LEDGER_ACCOUNT_NAMES
from affiliate_site.backoffice.formatters import format_money, format_person
from affiliate_site.backoffice.object_pages import Section, link_to
from affiliate_site.columns import Column
from affiliate_site.downloads import send_file
from affiliate_site.http_errors import error_response
from affiliate_site.statement_files import StatementFile
from payouts.errors import Unprintable
from payouts.services.bookkeeping import get_trial_balance
from payouts.services.statements import FIRST_DAY, LAST_DAY, StatementLine, get_statement
from payouts.statistics import get_last_month
from tracking.money import ZERO

BALANCED = "The sum is zero: debits equal credits."


class DayField(forms.DateField):
    """A day within the days that services take."""

    widget = forms.DateInput({"type": "date"}, format="%Y-%m-%d")

    def validate(self, value):
        super().validate(value)
        if value and not FIRST_DAY <= value <= LAST_DAY:
            raise forms.ValidationError("The day is out of range.")


class UntilForm(forms.Form):
    """The last day of a report."""

    end = DayField(label="Until the end of")


class PeriodForm(forms.Form):
    """The days of a report, both included."""

    start = DayField(label="From")
    end = DayField(label="To")

    def clean(self):
        first, last = map(self.cleaned_data.get, ("start", "end"))
        if first and last and first > last:
            self.add_error("end", "The last day is before the first one.")
        return super().clean()


def read_days(form) -> dict[str, Any]:
    """The days that were entered, or those that the form begins with; empty if they
    are none."""
    if not form.is_bound:
        return dict(form.initial)
    return form.cleaned_data if form.is_valid() else {}


def build_period_form(request, account, form_class=PeriodForm):
    """A form for days, which begins with the last month."""
    month = get_last_month(account.get_day(timezone.now()))
    form = form_class(request.GET if "start" in request.GET else None)
    form.initial = {"start": month.first, "end": month.last}
    return form


class LinkedStatement(StatementFile):
    """The statement on a page, with links to its sales and payments."""

    def describe(self, line: StatementLine) -> tuple[str, ...]:
        text, order_id, _ = super().describe(line)
        sale = line.commission and line.commission.conversion
        return text, link_to(sale, order_id), link_to(line.payment)


def statement_view(model_admin, request, object_id: int):
    """The statement of an affiliate, by default of the last month; also as a file."""
    affiliate = model_admin.get_object(request, object_id)
    if not request.user.has_perm("payouts.view_transfer"):
        raise PermissionDenied
    if affiliate is None:
        raise Http404
    account = affiliate.account
    form = build_period_form(request, account)
    days = read_days(form)
    statement = get_statement(account, affiliate, **days) if days else None
    formats = StatementFile.list_formats() if statement else []
    file_format = request.GET.get("format")
    if statement and file_format in formats:
        file = StatementFile(statement)
        try:
            content = file.render(file_format)
        except Unprintable as error:
            return error_response(request, 503, f"{error}.")
        return send_file(content, f"{file}.{file_format}")
    tables = LinkedStatement(statement).build_tables() if statement else []
    return render_report(
        model_admin,
        request,
        f"Statement: {format_person(affiliate)}",
        form,
        sections=[Section(it.title, it.columns, it.rows, it.notes) for it in tables],
        files=[(name.upper(), f"?{urlencode({**days, 'format': name})}") for name in formats],
        note=f"Days of {account.time_zone}.",
        original=affiliate,
    )


class ReportPage(View):
    """A page of bookkeeping: a form for days, and what it shows of them."""

    model_admin: Any = None
    name = ""  # of its URL
    title = ""
    note = ""  # with the zone of the account for `{}`
    button = ""
    link_buttons: Sequence[tuple[str, str]] = ()  # texts and addresses, above the tables

    @classmethod
    def list_ready(cls) -> Iterable[tuple[str, str, str]]:
        """Reports to find by search: title, query and other words."""
        return ()

    def get(self, request):
        self.account = request.user.account
        if self.account is None or not self.model_admin.has_view_permission(request):
            raise PermissionDenied
        return self.respond(self.build_form())

    def build_form(self) -> forms.Form:
        return build_period_form(self.request, self.account)

    def build_sections(self, **days: Any) -> list[Section]:
        return []

    def respond(self, form):
        days = read_days(form)
        return render_report(
            self.model_admin,
            self.request,
            self.title,
            form,
            sections=self.build_sections(**days) if days else [],
            link_buttons=self.link_buttons,
            note=self.note.format(self.account.time_zone),
            button=self.button,
            reports=self.model_admin.reports,
        )


class TrialBalancePage(ReportPage):
    """What each kind of ledger account has at the end of a day, by default today."""

    name = "trial_balance"
    title = "Trial balance"
    note = "Credits minus debits of all ledger entries. Days of {}."

    def build_form(self):
        return UntilForm(self.request.GET or None, initial={"end": timezone.localdate()})

    def build_sections(self, **days):
        sums = get_trial_balance(self.account, **days)
        return [build_trial_section(*item) for item in sums.items()]


def build_trial_section(currency: str, sums) -> Section:
    """The balances of a currency, which add up to zero."""
    total = sum(sums.values(), ZERO)
    rows = [
        *((LEDGER_ACCOUNT_NAMES[kind], amount) for kind, amount in sums.items()),
        ("Sum", total),
    ]
    return Section(
        currency,
        notes=[BALANCED if not total else "The sum is not zero: check the ledger."],
        columns=(
            Column("Ledger account", itemgetter(0)),
            Column("Balance", lambda it: format_money(it[1], currency), is_amount=True),
        ),
        rows=rows,
    )


def render_report(model_admin, request, title: str, form, **context):
    """A page with a form for the days, and tables."""
    context |= {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": title,
        "form": form,
    }
    return TemplateResponse(request, "admin/report.html", context)
