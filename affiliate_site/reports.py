"""Reports as files, one line for each row and currency."""

from collections.abc import Iterator
from typing import Any

from affiliate_site.cells import render_csv
from affiliate_site.columns import Column
from affiliate_site.workbooks import render_workbook
from payouts.report_columns import Unit
from payouts.services.report_fields import FIELDS
from payouts.services.reports import Report, ReportRow

FORMATS = ("csv", "xlsx")
UNIT_MARKS = {Unit.SHARE: " (%)", Unit.MOMENT: " (UTC)", Unit.SECONDS: " (s)"}
COMPARED = {"previous": "period before", "year": "year before"}


class ReportFile:
    """The rows of a report as a file, with the names of objects and their IDs."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def __str__(self) -> str:
        query = self.report.query
        return f"report-{'-'.join(query.rows)}-{query.period.first}-to-{query.period.last}"

    def list_titles(self) -> Iterator[str]:
        query = self.report.query
        for name in query.rows:
            field = FIELDS[name]
            yield from (field.title, f"{field.title}: ID") if field.objects else (field.title,)
        yield "Currency"
        for suffix in ("", *([f", {COMPARED[query.compare]}"] if query.compare else [])):
            for column in self.report.columns:
                mark = f" ({self.describe_rates()})" if column.is_converted else ""
                yield f"{column.title}{suffix}{mark}{UNIT_MARKS.get(column.unit, '')}"

    def describe_rates(self) -> str:
        """What converted amounts are in: `EUR, own rates of 2026-03-01`."""
        days = " and ".join(sorted({f"{it.set_on}" for it in self.report.used_rates}))
        return f"{self.report.rates.into}{f', own rates of {days}' if days else ''}"

    def list_cells(self, row: ReportRow) -> Iterator[Any]:
        for name, value in row.keys.items():
            if FIELDS[name].objects:
                yield row.objects[name].name if name in row.objects else None
            yield value
        yield row.currency
        yield from row.values.values()
        yield from (row.before or {}).values()

    def render(self, file_format: str) -> bytes:
        titles = [*self.list_titles()]
        lines = (self.list_cells(row) for row in self.report.rows)
        if file_format == "xlsx":
            return render_workbook("Report", [*map(Column, titles)], map(list, lines))
        return render_csv([titles, *map(list, lines)]).encode()
