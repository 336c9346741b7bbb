"""The statements of all affiliates of a payout run, streamed as a ZIP file."""

from collections.abc import Iterable, Iterator
from datetime import date
from io import RawIOBase
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, StreamingHttpResponse

from affiliate_site.backoffice.lists.exports import iterate_chunks_of_ids
from affiliate_site.backoffice.payouts.report_pages import (
    PeriodForm,
    build_period_form,
    render_report,
)
from affiliate_site.downloads import stream_file
from affiliate_site.statement_files import StatementFile
from payouts.errors import Unprintable
from payouts.models.runs import LEFT_OUT_STATES, PayoutRun
from payouts.services.statements import Statement, get_statement
from tracking.models.affiliates import Affiliate


class RunStatementsForm(PeriodForm):
    format = forms.ChoiceField()

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # PDF first, where it can be made.
        names = sorted(StatementFile.list_formats(), key=["pdf", "csv", "xlsx"].index)
        field: Any = self.fields["format"]
        field.choices = [(name, name.upper()) for name in names]


def run_statements_view(model_admin, request, object_id: int):
    """The form for the statements of a run, and the file.

    The days begin with the month that is paid, and end with the payments.
    """
    run = model_admin.get_object(request, object_id)
    if not request.user.has_perm("payouts.view_transfer"):
        raise PermissionDenied
    if run is None or run.confirmed_at is None:
        raise Http404
    form = build_period_form(request, run.account, RunStatementsForm)
    form.initial["end"] = run.account.get_day(run.confirmed_at)
    if form.is_valid():
        return download_statements(run, **form.cleaned_data)
    return render_report(
        model_admin,
        request,
        f"Statements of payout run {run}",
        form,
        button="Download",
        has_progress=True,
        note=(
            "One statement for each affiliate that the run pays, in a ZIP file. Days of"
            f" {run.account.time_zone}."
        ),
    )


def download_statements(
    run: PayoutRun, *, start: date, end: date, format: str
) -> StreamingHttpResponse:
    """The ZIP file; statements are made while it is sent, one after the other."""
    parts = iterate_zip(iterate_statements(run, start, end), format)
    response = stream_file(parts, f"statements-{run}-{start}-to-{end}.zip")
    response["X-File-Count"] = str(filter_affiliates(run).count())  # for the progress
    return response


def filter_affiliates(run: PayoutRun) -> QuerySet[Affiliate]:
    """The affiliates that a run pays."""
    lines = run.account.payout_lines.filter(run=run).exclude(state__in=LEFT_OUT_STATES)
    return run.account.affiliates.filter(pk__in=lines.values("affiliate"))


def iterate_statements(run: PayoutRun, start: date, end: date) -> Iterator[Statement]:
    affiliates = filter_affiliates(run)
    for pks in iterate_chunks_of_ids(affiliates.order_by("pk")):
        for affiliate in affiliates.filter(pk__in=pks).order_by("pk"):
            affiliate.account = run.account
            yield get_statement(run.account, affiliate, start=start, end=end)


class Buffer(RawIOBase):
    """What was written of a file and not taken yet."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, data) -> int:
        self.parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """Return it, and forget it."""
        content = b"".join(self.parts)
        self.parts.clear()
        return content


def iterate_zip(statements: Iterable[Statement], file_format: str) -> Iterator[bytes]:
    """The bytes of a ZIP file, of which one statement is in memory."""
    buffer = Buffer()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for statement in statements:
            file = StatementFile(statement)
            name = f"{file}.{file_format}"
            try:
                archive.writestr(name, file.render(file_format))
            except Unprintable as error:
                archive.writestr(f"{name}.txt", f"{error}.\n")
            yield buffer.take()
    yield buffer.take()
