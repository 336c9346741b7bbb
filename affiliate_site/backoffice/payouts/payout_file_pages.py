"""The files of a payout run: what its page lists, and the page that writes one."""

from collections import defaultdict
from operator import itemgetter
from typing import Any

from django import forms
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst

from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import count_noun, format_datetime, format_money
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.object_pages import Section, link_to
from affiliate_site.columns import Column
from affiliate_site.downloads import send_file
from affiliate_site.payout_files.writing import (
    CSV_COLUMNS,
    FILE_COLUMNS,
    FORMATS,
    WITHOUT_FILES,
    PlannedFile,
    list_other_files,
    plan_default_files,
    write_csv,
    write_xlsx,
)
from payouts.payout_details import DETAIL_LABELS
from payouts.services.payout_files import list_paid_lines
from payouts.services.payout_runs import record_export
from payouts.services.payout_settings import get_payer

MAX_LISTED_NAMES = 200
LISTS = {"csv": write_csv, "xlsx": write_xlsx}  # of all payments, with a column picker
LIST_LABELS = {"csv": "All payments as CSV", "xlsx": "All payments for Excel"}
# Within the form of the page, which a browser lets no other form into.
FILE_BUTTON = (
    '<input type="hidden" name="csrfmiddlewaretoken" value="{}">'
    '<button class="details-link cursor-pointer" formaction="{}" formmethod="post" name="file"'
    ' value="{}">{}</button>'
)


def describe_file(planned: PlannedFile) -> str:
    """`SEPA credit transfer: 12 payments, 1,234.00 EUR`."""
    label = FORMATS[planned.format].label
    total = format_money(planned.control_sum, planned.currency)
    number = len(planned.lines)
    return f"{label}: {count_noun(number, 'payment')}, {total}"


def list_file_sections(request, run) -> list[Section]:
    """What the page of a run says of its files; nothing of a draft."""
    if run.state in WITHOUT_FILES:
        return []
    files = plan_default_files(run)
    url = reverse("admin:payouts_payoutrun_files", args=[run.pk])
    token = get_token(request)
    may_download = DownloadFilesPage.is_allowed(request.user)
    sections = [
        Section(
            "Files",
            notes=[*list_unfit(files), *warn_of_other_files(run, files)],
            columns=(
                Column(
                    "File",
                    lambda it: (
                        format_html(FILE_BUTTON, token, url, it.name, it.name)
                        if may_download
                        else it.name
                    ),
                ),
                Column("Format", lambda it: FORMATS[it.format].label),
                Column("Payments", lambda it: f"{len(it.lines):,}", is_amount=True),
                Column(
                    "Control sum",
                    lambda it: format_money(it.control_sum, it.currency),
                    is_amount=True,
                ),
            ),
            rows=files,
        )
    ]
    names = [each for planned in files for each in planned.list_written_names()]
    if names:
        sections.append(build_names_section(names))
    return sections


def list_unfit(files: list[PlannedFile]) -> list[str]:
    """The payments that no bank file can have, by the reason."""
    payments = defaultdict(list)
    for planned in files:
        for line, reason in planned.unfit:
            payments[reason].append(line.payment)
    return [
        f"{found[0]} is not in a bank file but in a list: {reason}."
        if len(found) == 1
        else f"{len(found):,} payments are not in a bank file but in a list: {reason}."
        for reason, found in payments.items()
    ]


def warn_of_other_files(run, files: list[PlannedFile]) -> list[str]:
    """Which files cannot be made again, and which a bank may have with other lines."""
    warnings = [
        f"{planned.name} cannot be made again: the name and the account of who gets"
        f" {line.payment} were erased."
        for planned in files
        for line in planned.lines
        if not line.receiver
    ][:MAX_LISTED_NAMES]
    warnings += [
        f"On {format_datetime(file.created_at)} a file for {FORMATS[file.format].label} was made"
        f" {f'as {file.message_id} ' if file.message_id else ''}with"
        f" {count_noun(len(file.payments), 'payment')} over"
        f" {format_money(file.control_sum, file.currency)}. Who gets that file and the one of"
        " now pays twice: hand in only one."
        for file in list_other_files(run, files)
    ]
    return warnings


def build_names_section(names) -> Section:
    """The names that banks get in other characters."""
    more = len(names) - MAX_LISTED_NAMES
    return Section(
        "Names in bank files",
        notes=["Banks take letters without accents.", f"{more:,} more."][: 2 if more > 0 else 1],
        columns=(
            Column("Payment", lambda it: link_to(it[0].payment)),
            Column("Name", itemgetter(1)),
            Column("Written as", itemgetter(2)),
        ),
        rows=names[:MAX_LISTED_NAMES],
    )


def label_column(name: str) -> str:
    """What staff call a column."""
    return DETAIL_LABELS.get(name, capfirst(name.replace("_", " ")))


class FileForm(ServiceForm):
    file = forms.ChoiceField()
    columns = forms.MultipleChoiceField(
        required=False,
        choices=[(name, label_column(name)) for name in CSV_COLUMNS],
        initial=list(FILE_COLUMNS),
        help_text="Of CSV and Excel lists; the files of PayPal and Wise have theirs.",
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.planned = {it.name: it for it in plan_default_files(self.row)}
        field: Any = self.fields["file"]
        field.choices = [
            *((name, describe_file(it)) for name, it in self.planned.items()),
            *LIST_LABELS.items(),
        ]

    def build_content(self, at) -> tuple[str, bytes]:
        """The name and the bytes of the file, which is recorded if it pays."""
        chosen, columns = self.cleaned_data["file"], self.cleaned_data["columns"]
        columns = [it for it in CSV_COLUMNS if it in columns] or FILE_COLUMNS
        if chosen in LISTS:
            name = f"{self.row.public_id}-all.{chosen}"
            return name, LISTS[chosen](self.row, list_paid_lines(self.row), columns)
        planned = self.planned[chosen]
        if planned.format in LISTS:
            planned.record(self.row, at=at)
            return chosen, LISTS[planned.format](self.row, planned.lines, columns)
        return chosen, planned.build(self.row, at=at).content


class DownloadFilesPage(FormPage):
    """Download a file of a run, which its log records."""

    name = "files"
    title = "Download files"
    button = "Download"
    permission = "payouts.add_payment"
    form_class = FileForm
    leave_button = "Back to the run"
    explanation = (
        "Send each of the files to its receiver once: together they pay each line of"
        " the run. They are the same however often you download them, except that"
        " payments which staff have canceled since are left out; the bank file then has"
        " another number. The lists of all payments are for your books."
    )

    @classmethod
    def is_offered(cls, run):
        return run.state not in WITHOUT_FILES

    def list_alerts(self):
        alerts: list[str] = warn_of_other_files(self.row, plan_default_files(self.row))
        payer = get_payer(self.row)
        if payer.get("name") and payer.get("iban"):
            return alerts
        text = (
            'A bank file names who pays. <a class="underline" href="{}">Enter name and'
            " IBAN</a> first."
        )
        return [*alerts, format_html(text, reverse("admin:payer_settings"))]

    def get_initial(self):
        chosen = self.request.GET.get("file")
        return super().get_initial() | ({"file": chosen} if chosen else {})

    def save(self, form, at):
        result = form.build_content(at)
        record_export(self.row, at=at)
        return result

    def respond(self, form, result):
        """The file itself; the page stays."""
        name, content = result
        return send_file(content, name)
