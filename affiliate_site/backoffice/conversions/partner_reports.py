"""The page that builds reports: its address holds the whole report."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from django import forms
from django.db.models import Value
from django.db.models.functions import Concat
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, strip_tags

from accounts.errors import DomainError, ErrorList
from accounts.models.accounts import Account
from affiliate_site.backoffice.conversions.report_questions import (
    BEST,
    DAYS,
    QUESTIONS,
    ReadyReport,
    convert_address,
    unconvert_address,
)
from affiliate_site.backoffice.dashboard.charts import Chart, build_bar_chart
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_datetime,
    format_money,
    format_person,
)
from affiliate_site.backoffice.lists.saved_views import normalize_query
from affiliate_site.backoffice.navigation import get_model_name
from affiliate_site.backoffice.object_pages import LINK_TEMPLATE, Section
from affiliate_site.backoffice.payouts.report_pages import (
    PeriodForm,
    ReportPage,
    render_report,
)
from affiliate_site.backoffice.theme import reverse_changelist
from affiliate_site.columns import Column
from affiliate_site.downloads import send_file
from affiliate_site.reports import COMPARED, FORMATS, ReportFile
from payouts.report_columns import (
    AGE_SUMS,
    COLUMNS,
    CONVERTED,
    COUNTS,
    DISTINCT,
    ReportColumn,
    Unit,
    divide,
)
from payouts.services.report_fields import FIELDS
from payouts.services.reports import Report, ReportQuery, ReportRow, build_report
from payouts.statistics import NAMED_PERIODS, Period, calculate_share, count_months
from tracking.money import get_exponent

SHOWN_ROWS = 500
MAX_CHARTS = 3  # of currencies
CHART_ROWS = 31
MATRIX_COLUMNS = 25
MODELS = {"group": "affiliategroup"}
PERIOD_TEXTS = {
    "month": "{:%Y-%m}",
    "cohort": "{:%Y-%m}",
    "quarter": "{:%Y} Q{quarter}",
    "week": "week of {:%Y-%m-%d}",
}
NO_RATE = (
    "Rows without a value show no numbers by click: the clicks of their sales are in other rows."
)
VALUE_NOTE = (
    "Revenue per customer is of customers whose first month is in these days and as many calendar"
    " months before the last day: “-” where no customer is that old. The month of the last day"
    " counts until then."
)
COUNTED_ONCE = "Clicks and new customers have no currency: each line has all of them."
ERROR_FIELDS = {"filter": "affiliate", "date_to": "end"}
FILTERS = ("program", "group", "affiliate")
NO_CURRENCY = "Nothing is converted: choose the currency of the account in its settings first"
MAX_NAMED = 5  # affiliates of an error
SUMMED = ("conversions", "revenue", "commissions")
AGES = (0, 1, 3, 6, 12, 24)  # the months after which sums of customers are shown
ENDS = ("", ", before")  # of the titles of columns
MAX_MATRICES = 3  # of each currency
YOUNGER = "Customers who are not that old count with what they have bought until now."
MONTHS = "Month 0 is that of a customer's first sale; the month of the last day counts until then."
FIRST_DAYS = {"days": "last_month"}
FIRST_OF_OPTIONS = "rows"  # the fields from it on are folded up


class ReportForm(PeriodForm):
    """What a report has; its fields are parts of the address."""

    days = forms.ChoiceField(
        label="Period",
        required=False,
        choices=[
            ("", "From … to …"),
            *((name, name.replace("_", " ").capitalize()) for name in NAMED_PERIODS),
        ],
    )
    rows = forms.ChoiceField(label="Rows", choices=[(it.name, it.title) for it in FIELDS.values()])
    then = forms.ChoiceField(
        label="Then by",
        required=False,
        choices=[("", "-"), *((it.name, it.title) for it in FIELDS.values())],
    )
    compare = forms.ChoiceField(
        label="Beside",
        required=False,
        choices=[("", "-"), *((name, f"the {text}") for name, text in COMPARED.items())],
    )
    sort = forms.ChoiceField(label="Order", required=False)
    program = forms.ChoiceField(label="Only program", required=False)
    group = forms.ChoiceField(label="Only group", required=False)
    affiliate = forms.CharField(
        label="Only affiliate",
        required=False,
        max_length=64,
        widget=forms.TextInput({"placeholder": "Name or ID"}),
    )
    columns = forms.MultipleChoiceField(
        label="Columns",
        choices=[(it.name, it.title) for it in COLUMNS.values()],
        widget=forms.CheckboxSelectMultiple,
    )
    field_order = ("days", "start", "end", "rows", "then", "compare", "sort")

    def __init__(self, account: Account, data: QueryDict, *, today: date) -> None:
        """Take an address; a named period fills in its days, which are no part of it."""
        self.address = data = data.copy()
        if period := NAMED_PERIODS.get(data.get("days", "")):
            days, self.address = period(today), data.copy()
            for name, day in (("start", days.first), ("end", days.last)):
                self.address.pop(name, None)
                data[name] = f"{day}"
        super().__init__(data)
        for name, rows, key in (
            ("program", account.programs.order_by("title"), "slug"),
            ("group", account.affiliate_groups.order_by("title"), "public_id"),
        ):
            field: Any = self.fields[name]
            field.choices = [("", "-"), *rows.values_list(key, "title")]
        # Browsers send them in the order of the page: the chosen ones keep theirs.
        columns: Any = self.fields["columns"]
        chosen = data.getlist("columns")
        hidden = {*(CONVERTED if {*chosen} & {*CONVERTED.values()} else CONVERTED.values())}
        columns.choices = sorted(
            (it for it in columns.choices if it[0] in chosen or it[0] not in hidden),
            key=lambda it: chosen.index(it[0]) if it[0] in chosen else len(chosen),
        )
        known = [FIELDS[it] for it in (data.get("rows"), data.get("then")) if it in FIELDS]
        sort: Any = self.fields["sort"]
        sort.choices = [
            ("", "by the first column"),
            *((f"-{name}", f"{title}, most first") for name, title in columns.choices),
            *((name, f"{title}, least first") for name, title in columns.choices),
            *((it.name, f"{it.title}, first to last") for it in known),
            *((f"-{it.name}", f"{it.title}, last to first") for it in known),
        ]
        self.account = account

    def clean_affiliate(self) -> str:
        """The ID of the affiliate that a name or an ID means."""
        text, rows = self.cleaned_data["affiliate"], self.account.affiliates.not_deleted()
        if not text or rows.filter(slug=text).exists():
            return text
        named = rows.annotate(name=Concat("firstname", Value(" "), "lastname"))
        found = list(named.filter(name__icontains=text).order_by("pk")[: MAX_NAMED + 1])
        if len(found) <= 1:
            return found[0].slug if found else text
        names = ", ".join(map(format_person, found[:MAX_NAMED]))
        raise forms.ValidationError(f"Several affiliates have this name: {names}. Enter an ID.")

    def build_report(self, *, at: datetime, is_file: bool = False) -> Report | None:
        """The report as pages show it, or as files have it; None if it cannot be built,
        which the form says then."""
        if not self.is_valid():
            return None
        values = self.cleaned_data
        try:
            query = ReportQuery(
                [values["rows"], *filter(None, [values["then"]])],
                values["columns"],
                Period(values["start"], values["end"]),
                {it: values[it] for it in FILTERS if values[it]},
                values["sort"],
                values["compare"],
            )
            report = build_report(self.account, query, at=at)
        except DomainError as error:
            for each in error.errors if isinstance(error, ErrorList) else [error]:
                self.add_error(ERROR_FIELDS.get(each.path or "", each.path), each.text)
            return None
        return put_none_last(report, has_rates=is_file)

    def list_problems(self) -> Iterator[str]:
        """Yield why there is no report."""
        for messages in self.errors.values():
            yield from map(str, messages)


class PartnerReportPage(ReportPage):
    """A report of the days, rows and columns that were chosen; also as a file."""

    name = "report"
    title = "Reports"
    note = (
        "Sales count on their day, with the amounts and states of today; commissions are"
        " pending and approved ones. Days of {}."
    )

    @classmethod
    def list_ready(cls):
        for question, answers in QUESTIONS:
            for it in answers:
                if isinstance(it, ReadyReport):
                    yield it.title, it.build_query(FIRST_DAYS).urlencode(), question

    def build_form(self):
        """The form with what the address holds, at first the best affiliates."""
        data = self.request.GET or BEST.build_query(FIRST_DAYS)
        return ReportForm(self.account, data, today=self.account.get_day(timezone.now()))

    def respond(self, form):
        file_format = self.request.GET.get("format")
        report = form.build_report(at=timezone.now(), is_file=file_format in FORMATS)
        if report and file_format in FORMATS:
            file = ReportFile(report)
            return send_file(file.render(file_format), f"{file}.{file_format}")
        query = normalize_query(form.address)
        questions = [*self.list_questions(form.address)]
        files = [(it.upper(), f"?{query}&format={it}") for it in FORMATS]
        return render_report(
            self.model_admin,
            self.request,
            self.title,
            form,
            note=self.note.format(self.account.time_zone),
            sections=list_sections(report, form.address) if report else [],
            charts=build_report_charts(report) if report else [],
            files=files if report else [],
            questions=questions,
            answered=find_answered(questions),
            link_buttons=list_currency_switches(report, form.address) if report else [],
            subject=describe_subject(form, report.query) if report else "",
            are_questions_open=not self.request.GET,
            first_of_options=FIRST_OF_OPTIONS,
            empty_text="Nothing in these days.",
            **self.model_admin.describe_views(self.request, query, self.name),
        )

    def list_questions(self, query: QueryDict) -> Iterator[tuple[str, list[tuple[str, str, bool]]]]:
        """The questions with their links, and whether a link leads to this report, of
        whatever days and filters: both stay, unless the report had days of its own."""
        is_converted = query != unconvert_address(query)
        kept: dict[str, Any] = {it: query[it] for it in (*DAYS, *FILTERS) if query.get(it)}
        if any(
            it.days and it.days == kept.get("days") and it.is_of(query)
            for _, answers in QUESTIONS
            for it in answers
            if isinstance(it, ReadyReport)
        ):
            kept |= FIRST_DAYS
        for text, answers in QUESTIONS:
            links = []
            for it in answers:
                if isinstance(it, ReadyReport):
                    address = it.build_query(kept, is_converted=is_converted).urlencode()
                    links.append((it.title, f"?{address}", it.is_of(query)))
                elif self.request.user.has_perm(
                    f"{it.model._meta.app_label}.view_{it.model._meta.model_name}"
                ):
                    url = reverse_changelist(get_model_name(it.model))
                    links.append((it.title, f"{url}?{it.query}", False))
            if links:
                yield text, links


def find_answered(questions: list[tuple[str, list[tuple[str, str, bool]]]]) -> dict[str, Any]:
    """The question that the report answers, and the next one; empty if it answers none."""
    for (question, links), (next_question, next_links) in zip(
        questions, [*questions[1:], ("", [("", "", False)])], strict=True
    ):
        for title, _, is_open in links:
            if is_open:
                return {
                    "question": question,
                    "title": title,
                    "links": links,
                    "next_question": next_question,
                    "next_url": next_links[0][1],
                }
    return {}


def list_currency_switches(report: Report, address: QueryDict) -> list[tuple[str, str]]:
    """The text and address of the button between amounts of each currency and those of
    one, if there is something to convert."""
    into = report.rates.into
    if report.query.is_converted:
        return [("Show each currency", f"?{normalize_query(unconvert_address(address))}")]
    has_amounts = any(it.unit is Unit.AMOUNT for it in report.columns)
    if not into or not has_amounts or {*report.currencies} <= {into}:
        return []
    return [(f"Show all amounts in {into}", f"?{normalize_query(convert_address(address))}")]


def put_none_last(report: Report, *, has_rates: bool) -> Report:
    """The report with the rows that have no value last. Their numbers by click are of
    other clicks than those that brought the sales, so pages do not show them."""
    names = {it.name: None for it in report.columns if it.is_of_clicks and not has_rates}
    rows = [
        replace(row, values={**row.values, **names}, before=row.before and {**row.before, **names})
        if row.has_none
        else row
        for row in report.rows
    ]
    return replace(report, rows=sorted(rows, key=lambda row: row.has_none))


def describe_subject(form: ReportForm, query: ReportQuery) -> str:
    """`2026-10-01 to 2026-10-31, only affiliate Ada Stone (ada)`."""
    texts = [f"{query.period.first} to {query.period.last}"]
    for name, value in query.filters.items():
        if name == "affiliate":
            shown = format_person(form.account.affiliates.get(slug=value))
        else:
            field: Any = form.fields[name]
            shown = dict(field.choices)[value]
        texts.append(f"only {name} {shown}")
    return ", ".join(texts)


def list_sections(report: Report, address: QueryDict) -> list[Section]:
    """All tables of the page at an address."""
    is_matrix = list(report.query.rows[1:]) == ["months_since"]
    return [*(build_matrices(report) if is_matrix else ()), *build_sections(report, address)]


def build_matrices(report: Report) -> list[Section]:
    """The first columns by both fields, for each currency."""
    return [
        ReportMatrix(report, total.currency, column).build_section()
        for total in report.totals[:MAX_CHARTS]
        for column in report.columns[:MAX_MATRICES]
    ]


class ReportMatrix:
    """A column by both fields: of customers those of each month, of what adds up the sum
    until some months after the first sale."""

    def __init__(self, report: Report, currency: str, column: ReportColumn) -> None:
        self.column, self.currency, self.last = column, currency, report.query.period.last
        [self.field, self.months] = report.query.rows
        self.rows: dict[Any, dict[int, ReportRow]] = defaultdict(dict)
        for row in report.rows:
            if row.currency == currency and row.keys[self.months] is not None:
                self.rows[row.keys[self.field]][row.keys[self.months]] = row

    def build_section(self) -> Section:
        numbers = sorted({number for row in self.rows.values() for number in row})
        show: Callable[..., Any] = self.show_month
        ages, title = numbers[:MATRIX_COLUMNS], "Month {}"
        if self.column.name.removesuffix("_converted") in SUMMED:
            show, title = self.show_sum, "Until month {}"
            ages = [it for it in AGES if it <= max(numbers, default=0)]
        return Section(
            f"{self.column.title}, {self.currency}",
            columns=[
                Column(FIELDS[self.field].title, self.show_key),
                *(Column(title.format(age), partial(show, age), is_amount=True) for age in ages),
            ],
            rows=[self.rows[key] for key in sorted(self.rows, key=str)],
            notes=[MONTHS, *([YOUNGER] if self.field != "cohort" else [])],
        )

    def show_key(self, of_row: dict[int, ReportRow]) -> Any:
        return show_key(self.field, next(iter(of_row.values())))

    def show_month(self, number: int, of_row: dict[int, ReportRow]) -> Any:
        """The value of a month; of customers also their share of those of the first one."""
        if number not in of_row:
            return EMPTY_VALUE
        name = self.column.name
        text = show_value(self.column, of_row[number], is_before=False)
        first = of_row[0].values[name] if 0 in of_row else None
        if name not in DISTINCT or not number or not first:
            return text
        return f"{text} ({calculate_share(of_row[number].values[name], first)} %)"

    def show_sum(self, age: int, of_row: dict[int, ReportRow]) -> Any:
        """What it adds up to; of a cohort also by customer, if it has reached the age."""
        row, name = next(iter(of_row.values())), self.column.name
        cohort = row.keys[self.field]
        is_cohort = isinstance(cohort, date)
        if is_cohort and count_months(cohort, self.last) < age:
            return EMPTY_VALUE
        value = sum(it.values[name] for number, it in of_row.items() if number <= age)
        text = show_value(self.column, replace(row, values={name: value}), is_before=False)
        buyers = of_row[0].values.get("buyers") if is_cohort and 0 in of_row else None
        if self.column.unit is not Unit.AMOUNT or not buyers:
            return text
        each = divide(value, buyers, get_exponent(self.currency))
        return f"{text} ({format_money(each, self.currency)} each)"


def build_sections(report: Report, address: QueryDict | None = None) -> list[Section]:
    """The rows, whose titles sort the page at the address, and the totals; none if there
    are no rows."""
    shown = report.rows[:SHOWN_ROWS]
    notes = [report.limited] if report.limited else []
    if len(report.rows) > len(shown):
        notes.append(f"The first {SHOWN_ROWS} of {len(report.rows):,} rows: files have more.")
    if report.before:
        notes.append(f"“Before” is {report.before.first} to {report.before.last}.")
    if any(it.is_of_clicks for it in report.columns) and any(row.has_none for row in shown):
        notes.append(NO_RATE)
    if any({*AGE_SUMS} & {*it.sums} for it in report.columns):
        notes.append(VALUE_NOTE)
    columns = [
        link_title(
            Column(
                f"{column.title}{ENDS[is_before]}",
                partial(show_value, column, is_before=is_before),
                is_amount=True,
            ),
            *(report.query, column.name, None if is_before else address),
        )
        for column in report.columns
        for is_before in ((False, True) if report.before else (False,))
    ]
    keys = [
        link_title(Column(FIELDS[name].title, partial(show_key, name)), report.query, name, address)
        for name in report.query.rows
    ]
    totals = [replace(it, sort_url="", direction="") for it in columns]
    counts = {*COUNTS} & {sum for it in report.query.columns for sum in COLUMNS[it].sums}
    counted_once = [COUNTED_ONCE] if counts and len(report.totals) > 1 else []
    if report.query.is_converted and report.rates.into:
        counted_once = [report.conversion_note]
    total = Column(keys[0].title, lambda row: f"Total, {row.currency}")
    tables = [
        ("Rows", [*keys, *columns], shown, notes),
        ("Totals", [total, *totals], report.totals, counted_once),
    ]
    return [
        *(
            Section(title, columns=of_table, rows=rows, notes=notes)
            for title, of_table, rows, notes in tables
            if shown
        ),
        *(build_conversion(report, totals) if shown else ()),
    ]


def link_title(column: Column, query: ReportQuery, name: str, address: QueryDict | None) -> Column:
    """The column with a title that sorts by it, if there is an address: numbers begin with
    the largest."""
    if address is None:
        return column
    by, sorted_by = query.order, query.order.removeprefix("-")
    first, other = (name, f"-{name}") if name in query.rows else (f"-{name}", name)
    address = address.copy()
    address["sort"] = other if by == first else first
    direction = "descending" if by.startswith("-") else "ascending"
    return replace(
        column,
        sort_url=f"?{normalize_query(address)}",
        direction=direction if sorted_by == name else "",
    )


def build_conversion(report: Report, columns: Sequence[Column]) -> Iterator[Section]:
    """Yield the total of converted columns in one currency, if others have no such total."""
    into = report.rates.into
    if report.converted is None or (report.query.is_converted and into):
        return
    names = {f"{it.title}{end}" for it in report.columns if it.is_converted for end in ENDS}
    yield Section(
        f"Total, converted into {into}" if into else NO_CURRENCY,
        columns=[it for it in columns if it.title in names],
        rows=[report.converted],
        notes=[report.conversion_note],
    )


def build_report_charts(report: Report) -> list[Chart]:
    """The first column of the first rows as bars, for each currency; of one field only."""
    column = report.columns[0]
    if len(report.query.rows) > 1 or column.unit is Unit.MOMENT:
        return []
    [name] = report.query.rows
    charts = []
    has_currency = column.unit is Unit.AMOUNT or not {*column.sums}.issubset(COUNTS)
    for total in report.totals[: MAX_CHARTS if has_currency else 1]:
        of_currency = [row for row in report.rows if row.currency == total.currency]
        rows = (of_currency if has_currency else report.rows)[:CHART_ROWS]
        unit = (column.currency or total.currency) if column.unit is Unit.AMOUNT else ""
        series = [(column.title, [row.values[column.name] for row in rows])]
        if report.before:
            before = [row.before and row.before[column.name] for row in rows]
            series.append((f"{column.title}, before", before))
        labels = [strip_tags(show_key(name, row)) for row in rows]
        title = f"{column.title}, {total.currency}" if has_currency else column.title
        charts.append(build_bar_chart(title, labels, series, unit=unit))
    return charts


def show_key(name: str, row: ReportRow) -> Any:
    value = row.keys[name]
    if isinstance(value, date):
        text = PERIOD_TEXTS.get(name, "{:%Y-%m-%d}").format(value, quarter=(value.month + 2) // 3)
        return format_html('<span class="backoffice-nowrap">{}</span>', text)
    if name in row.objects:
        found = row.objects[name]
        url = reverse(f"admin:tracking_{MODELS.get(name, name)}_change", args=[found.pk])
        return format_html(LINK_TEMPLATE, url, found.name or value)
    return FIELDS[name].none if value is None or value == "" else value


def show_value(column: ReportColumn, row: ReportRow, *, is_before: bool) -> Any:
    value = (row.before if is_before else row.values)[column.name]  # type: ignore[index]
    if value is None:
        return EMPTY_VALUE
    if column.unit is Unit.AMOUNT:
        return format_money(value, column.currency or row.currency)
    if column.unit is Unit.SHARE:
        return f"{value} %"
    if column.unit is Unit.SECONDS:
        return f"{timedelta(seconds=value)}"
    return format_datetime(value) if column.unit is Unit.MOMENT else f"{value:,}"
