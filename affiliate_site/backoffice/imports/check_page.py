"""Say what would happen to each row, and import all rows or the good ones."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.contrib import messages
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import Truncator

from accounts.errors import Conflict
from affiliate_site.backoffice.audit_sentences import APPROVAL_WORDS
from affiliate_site.backoffice.form_pages import FormPage, digest_text
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_datetime,
    format_totals,
)
from affiliate_site.backoffice.imports.columns_page import format_cell
from affiliate_site.backoffice.imports.upload_page import NOT_STORED_FILE
from affiliate_site.backoffice.object_pages import RowPage, Section
from affiliate_site.backoffice.theme import get_object_url
from affiliate_site.cells import render_csv
from affiliate_site.columns import Column
from affiliate_site.downloads import send_file
from affiliate_site.moving.tables.files import Cell
from affiliate_site.moving.tables.importing import TableImporter, TableReport
from affiliate_site.moving.tables.kinds import ImportColumn
from affiliate_site.moving.tables.problems import Problem
from affiliate_site.moving.tables.rows import (
    AMOUNT_TYPES,
    CREATED,
    KNOWN,
    NOT_STORED,
    Row,
    list_valid_rows,
)
from affiliate_site.moving.tables.uploads import load_importer
from tracking.services.affiliates import lock_hierarchy
from tracking.services.table_uploads import (
    TableUploadImported,
    finish_table_upload,
    lock_table_upload,
)

MAX_LISTED_PROBLEMS = 100
MAX_NAMED_ROWS = 10
MAX_GROUP_VALUES = 10  # of a column that are listed each for itself
ONLY_GOOD = "_only_good"  # the name of the button
OUTCOME_TEXTS = {CREATED: "new", KNOWN: "known already, stays as it is"}
COMMISSION_STATES = {
    "paid": "paid",
    "approved": "owed",
    "pending": "pending",
    "disapproved": "refused",
}
ADDED_COLUMNS = ("Row in the file", "What is wrong")


class OtherOutcome(Conflict):
    """The rows would do something else than the page said."""

    message = (
        "Something has changed since this page was opened. Nothing was stored: look at"
        " the rows again"
    )


class RowsRefused(Conflict):
    """The database refused rows that the check had found good."""

    message = "Nothing was stored, because of what cannot be stored: {rows}"


class CheckPage(FormPage):
    """Show what would happen to each row, then store all of them or the good ones."""

    template_name = "admin/imports/check.html"
    name = "check"
    title = "Check and import"
    permission = "tracking.change_tableupload"
    only_good = ONLY_GOOD
    leave_button = "Change the columns"

    @classmethod
    def is_offered(cls, upload):
        return upload.table_import_id is None

    def report_not_offered(self):
        messages.warning(self.request, f"{TableUploadImported.message}.")

    def get_explanation(self):
        if self.report.counts[CREATED]:
            return "Step 3 of 3. Nothing is stored yet: look at what would happen."
        if self.report.problems:
            return (
                "Step 3 of 3. No row can be imported: change the columns, or correct"
                " the file and upload it again."
            )
        return "Step 3 of 3. All rows are known already: there is nothing to import."

    def get_back_url(self):
        return get_result_url(self.row)

    @cached_property
    def importer(self) -> TableImporter:
        return load_importer(self.row, at=timezone.now())

    @cached_property
    def report(self) -> TableReport:
        return self.importer.preview()

    def get(self, request, *args, **kwargs):
        """Show the rows, or download those that cannot be stored."""
        if self.importer.list_questions():
            return redirect("admin:tracking_tableupload_columns", self.row.pk)
        if "problems" in request.GET:
            text = build_problem_table(self.importer, self.report)
            return send_file(text, NOT_STORED_FILE.format(self.row.pk))
        return super().get(request, *args, **kwargs)

    def perform(self, form, at):
        """Store the rows, if they still do what the page said."""
        upload = lock_table_upload(self.account, self.row)
        lock_hierarchy(self.account)  # as the import does: nothing changes meanwhile
        importer = load_importer(upload, at=at, only_good=ONLY_GOOD in self.request.POST)
        promised = importer.preview()
        outcome = digest_outcome(upload, promised)
        if form.data.get("outcome", outcome) != outcome:
            raise OtherOutcome
        report = importer.store()
        if report.table_import is None:
            raise RowsRefused(rows=describe_refused(report, promised))
        text = build_problem_table(importer, report) if report.problems else ""
        finish_table_upload(upload, report.table_import, left_out=text.encode())
        self.refused = describe_refused(report, promised)
        return report

    def form_invalid(self, form):
        """Leave the page if another click has imported the file meanwhile."""
        self.row.refresh_from_db(fields=["table_import"])
        if self.is_offered(self.row):
            return super().form_invalid(form)
        self.report_not_offered()
        return redirect(self.get_back_url())

    def list_warnings(self, report):
        return [f"Not stored: {self.refused}"] if self.refused else []

    def get_done_message(self, report):
        counts = report.counts
        texts = [f"{counts[CREATED]:,} new"]
        texts += [f"{counts[KNOWN]:,} known already"] if counts[KNOWN] else []
        texts += [f"{counts[NOT_STORED]:,} left out"] if counts[NOT_STORED] else []
        return f"The rows were imported: {', '.join(texts)}."

    def get_done_url(self, report):
        return get_object_url(report.table_import)

    def get_context_data(self, **kwargs) -> dict[str, Any]:
        """Add the outcome of the rows."""
        report, counts = self.report, self.report.counts
        context = super().get_context_data(**kwargs)
        good = list_valid_rows(report.rows)
        page = RowPage(self.request, good)
        return context | {
            "facts": [
                ("New", f"{counts[CREATED]:,}"),
                ("Known already, stay as they are", f"{counts[KNOWN]:,}"),
                ("Cannot be stored", f"{counts[NOT_STORED]:,}"),
                *list_totals(self.importer, good),
            ],
            "counts": counts,
            "outcome": digest_outcome(self.row, report),
            "report": report,
            "problem_sections": list_problem_sections(self.importer, report.problems),
            "rows": build_row_section(self.importer, page.rows),
            "row_page": page,
        }


def describe_refused(report: TableReport, promised: TableReport) -> str:
    """The rows that could not be stored, though the check had found them good."""
    known = set(promised.problems)
    found = [it for it in report.problems if it not in known]
    texts = [f"row {it.row}: {it.sentence}" for it in found[:MAX_NAMED_ROWS]]
    return " ".join(texts)


def get_result_url(upload) -> str:
    """The import of a file, else its columns."""
    if upload.table_import:
        return get_object_url(upload.table_import)
    return reverse("admin:tracking_tableupload_columns", args=[upload.pk])


def digest_outcome(upload, report: TableReport) -> str:
    return digest_text([upload.settings, *((it.number, it.outcome) for it in report.rows)])


def list_problem_sections(importer: TableImporter, problems: list[Problem]) -> list[Section]:
    """What is wrong, by kind and by row."""
    if not problems:
        return []
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    for problem in problems:
        values[problem.code, problem.column].add(problem.value)
    groups: dict[tuple[str, ...], list[Problem]] = defaultdict(list)
    for problem in problems:
        key = problem.code, problem.column
        has_few = len(values[key]) <= MAX_GROUP_VALUES
        groups[(*key, problem.value) if has_few else key].append(problem)
    sources = {row.number: row.cells for row in importer.table.rows}
    header = importer.table.header

    def show_cell(problem: Problem) -> str:
        """The cell as it is in the file."""
        if problem.column not in header:
            return EMPTY_VALUE
        cell = sources[problem.row][header.index(problem.column)]
        return shorten(format_cell(cell)) or EMPTY_VALUE

    by_size = sorted(groups.values(), key=len, reverse=True)
    more = len(problems) - MAX_LISTED_PROBLEMS
    return [
        Section(
            "What is wrong",
            columns=(
                Column("Column", lambda group: group[0].column or "All"),
                Column("Such as", lambda group: group[0].sentence),
                Column("Rows", lambda group: f"{len(group):,}", is_amount=True),
                Column(
                    "Which",
                    lambda group: (
                        ", ".join(str(it.row) for it in group[:MAX_NAMED_ROWS])
                        + (" …" if len(group) > MAX_NAMED_ROWS else "")
                    ),
                ),
            ),
            rows=by_size,
        ),
        Section(
            "Row by row",
            notes=[f"{more:,} more: download all below."] if more > 0 else [],
            columns=(
                Column("Row", lambda it: f"{it.row}"),
                Column("Column", lambda it: it.column or EMPTY_VALUE),
                Column("Value", show_cell),
                Column("Problem", lambda it: it.sentence),
            ),
            rows=problems[:MAX_LISTED_PROBLEMS],
        ),
    ]


def shorten(text: str) -> str:
    """A text that fits into a cell."""
    return Truncator(text).chars(80)


def list_totals(importer: TableImporter, good: list[Row]) -> list[tuple[str, str]]:
    """The sums of amounts, and how many affiliates cannot be paid, of new rows."""
    kind, new = importer.kind, [row for row in good if not row.is_known]
    if not new:
        return []
    totals: list[tuple[str, str]] = []
    for column in kind.columns:
        if column.type in AMOUNT_TYPES:
            sums: dict[str, Decimal] = defaultdict(Decimal)
            for row in new:
                sums[row.values["currency"]] += row.values.get(column.name) or 0
            totals.append((f"{column.label}, new rows", format_totals(sums)))
    totals += list_commissions_by_state(new)
    if kind.find_column("payout_method"):
        count = sum(not row.body.get("payout_method") for row in new)
        totals.append(("New, without payout method", f"{count:,}" if count else ""))
    return totals


def list_commissions_by_state(new: list[Row]) -> list[tuple[str, str]]:
    """What is paid, owed, pending and refused of the commissions of new sales."""
    sums: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for row in new:
        if commission := row.values.get("commission"):
            is_paid = "payment" in row.body
            status = "paid" if is_paid else row.values.get("status") or "pending"
            sums[status][row.values["currency"]] += commission
    return [
        (f"Commission, {text}", format_totals(sums[status]))
        for status, text in COMMISSION_STATES.items()
        if sums
    ]


def build_row_section(importer: TableImporter, rows: list[Row]) -> Section:
    """Rows as they would be stored, without columns that are empty."""
    names = dict.fromkeys([*importer.mapping, *importer.defaults, "status"])
    found = filter(None, map(importer.kind.find_column, names))
    return Section(
        "Rows without a problem",
        columns=(
            Column("Row", lambda row: f"{row.number}"),
            Column("What happens", lambda row: OUTCOME_TEXTS[row.outcome]),
            *(
                Column(
                    it.label,
                    lambda row, it=it: format_value(row, it) or EMPTY_VALUE,
                    is_amount=it.type in AMOUNT_TYPES,
                )
                for it in found
                if any(format_value(row, it) for row in rows)
            ),
        ),
        rows=rows,
    )


def format_value(row: Row, column: ImportColumn) -> str:
    """A value as it would be stored; empty without one."""
    value, kind = row.values.get(column.name), column.type
    if kind == "approval":
        source = "program" if column.name == "status" else column.name
        return APPROVAL_WORDS[value] if source in row.values else ""
    if kind in ("paid", "payment_status"):
        return "" if value is None else "paid" if value else "not paid"
    if kind == "status" and row.values.get("commission") is not None:
        return value or "pending"
    if value is None:
        return ""
    if isinstance(value, list):
        return shorten(", ".join(value))
    if kind == "date":
        text = format_datetime(datetime.fromisoformat(str(value)))
        return format_html('<span class="whitespace-nowrap">{}</span>', text)
    return f"{value:f}" if isinstance(value, Decimal) else shorten(str(value))


def build_problem_table(importer: TableImporter, report: TableReport) -> str:
    """Rows that cannot be stored as a CSV file, which can be corrected and imported.

    What is wrong stands first: a row with too few or too many cells stays one.
    """
    header = importer.table.header
    added = {i for i, name in enumerate(header) if name in ADDED_COLUMNS}
    sources = {row.number: row for row in importer.table.rows}

    def leave_added_out(cells: Sequence[Cell]) -> list[str]:
        """Without what an earlier download of this file added."""
        return [format_cell(it) for i, it in enumerate(cells) if i not in added]

    lines = [[*ADDED_COLUMNS, *leave_added_out(header)]]
    for row in report.rows:
        if row.problems:
            source = sources[row.number]
            texts = [f"{it.column}: {it.sentence}".lstrip(": ") for it in row.problems]
            cells = leave_added_out(source.raw if source.error else source.cells)
            lines.append([str(row.number), " ".join(texts), *cells])
    return render_csv(lines)
