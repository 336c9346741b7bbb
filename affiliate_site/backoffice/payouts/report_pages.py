"""Pages that only read: the statement of an affiliate, and the trial balance."""

from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.http import urlencode

from affiliate_site.backoffice.effect_tables import LEDGER_ACCOUNT_NAMES
from affiliate_site.backoffice.formatters import format_money, format_person
from affiliate_site.backoffice.lists.xlsx_exports import XLSX_CONTENT_TYPE
from affiliate_site.backoffice.object_pages import Column, Section
from affiliate_site.backoffice.payouts.statement_files import (
    RENDERERS,
    build_sections,
    list_formats,
)
from payouts.services.bookkeeping import get_trial_balance
from payouts.services.statements import FIRST_DAY, LAST_DAY, get_statement
from tracking.money import ZERO

CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": XLSX_CONTENT_TYPE,
    "pdf": "application/pdf",
}
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


def statement_view(model_admin, request, object_id: int):
    """The statement of an affiliate, by default of the last month; also as a file."""
    affiliate = model_admin.get_object(request, object_id)
    if not request.user.has_perm("payouts.view_transfer"):
        raise PermissionDenied
    if affiliate is None:
        raise Http404
    account = affiliate.account
    end = account.get_day(timezone.now()).replace(day=1) - timedelta(days=1)
    form = PeriodForm(request.GET if "start" in request.GET else None)
    form.initial = {"start": end.replace(day=1), "end": end}
    days = read_days(form)
    statement = get_statement(account, affiliate, **days) if days else None
    file_format = request.GET.get("format")
    if statement and file_format in list_formats():
        name = f"statement-{affiliate.slug}-{statement.start}-to-{statement.end}"
        disposition = f'attachment; filename="{name}.{file_format}"'
        return HttpResponse(
            RENDERERS[file_format](statement),
            content_type=CONTENT_TYPES[file_format],
            headers={"Content-Disposition": disposition},
        )
    return render_report(
        model_admin,
        request,
        f"Statement: {format_person(affiliate)}",
        form,
        sections=build_sections(statement, has_links=True) if statement else [],
        files=[
            (name.upper(), f"?{urlencode({**days, 'format': name})}")
            for name in (list_formats() if statement else ())
        ],
        note=f"Days of {account.time_zone}.",
    )


def trial_balance_view(model_admin, request):
    """What each kind of ledger account has at the end of a day, by default today."""
    account = request.user.account
    if account is None or not request.user.has_perm("payouts.view_transfer"):
        raise PermissionDenied
    form = UntilForm(request.GET or None, initial={"end": timezone.localdate()})
    days = read_days(form)
    sums = get_trial_balance(account, end=days["end"]) if days else {}
    return render_report(
        model_admin,
        request,
        "Trial balance",
        form,
        sections=[build_trial_section(*item) for item in sums.items()],
        note=(
            f"Credits minus debits of all ledger entries. Days of {account.time_zone}."
        ),
    )


def build_trial_section(currency: str, sums) -> Section:
    """The balances of a currency, which add up to zero."""
    total = sum(sums.values(), ZERO)
    rows = [(LEDGER_ACCOUNT_NAMES[kind], amount) for kind, amount in sums.items()]
    return Section(
        currency,
        notes=[BALANCED if not total else "The sum is not zero: check the ledger."],
        columns=(Column("Ledger account"), Column("Balance", is_amount=True)),
        rows=[
            (name, format_money(amount, currency))
            for name, amount in [*rows, ("Sum", total)]
        ],
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
