"""Say which columns of a file are which, and how it writes dates and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any

from django import forms
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.dateformat import format as format_date

from affiliate_site.backoffice.fields import RADIO
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.object_pages import Section
from affiliate_site.columns import list_places
from affiliate_site.moving.tables.files import GUESSED_ENCODING_NOTE, CellError
from affiliate_site.moving.tables.kinds import KINDS, ImportColumn
from affiliate_site.moving.tables.questions import IGNORE, ImportQuestion
from affiliate_site.moving.tables.uploads import (
    ENCODINGS,
    GUESSED_ENCODING,
    UploadSettings,
    build_importer,
    decode_again,
    guess_settings,
    list_encoding_readings,
    list_examples,
    read_upload,
)
from payouts.models.payments import PayoutMethodKind
from tracking.models.customers import CustomerStatus
from tracking.money import list_currencies

COLUMN, DEFAULT = "column__", "default__"
NOT_THERE = "Not in the file"
FIRST_ROWS = 5
DECISIONS = ("approved", "Approved"), ("disapproved", "Disapproved")
STATUSES = *DECISIONS, ("paid", "Paid")
# The values that empty cells may get, and what it means to choose none.
CHOICES: dict[str, tuple[str, Sequence[tuple[str, str]]]] = {
    "approval": ("Choose…", [("pending", "Pending"), *DECISIONS]),
    "status": ("Pending", STATUSES),
    "customer_status": ("New", CustomerStatus.choices[1:]),
    "payout_method": ("None", PayoutMethodKind.choices),
}
NO_STATUS = "Say whether these affiliates are approved: clicks of others are rejected."
NO_ANSWER = "The file does not tell: choose one."
CHECK_ANSWER = "Look whether this is right."
MISSING = "Choose a column, or a value for all rows."
NO_PROGRAM = (
    "There is no program yet: create one, then go on with this file, which is under"
    " Imports, Files waiting."
)


@dataclass(frozen=True)
class ColumnEntry:
    """A line of the page: one of our columns with its fields."""

    column: ImportColumn
    select: forms.BoundField
    default: forms.BoundField | None
    examples: list[str]


class ColumnsForm(ServiceForm):
    """For each of our columns one of the file, and a value for empty cells."""

    class Media:
        js = ("backoffice/import_columns.js",)

    def __init__(self, *args, **kwargs):
        """Name the fields of a line, which has only one label."""
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            if name.startswith(DEFAULT):
                field.widget.attrs["aria-label"] = field.label

    def build_fields(self):
        upload = self.row
        self.kind = KINDS[upload.kind]
        stored = UploadSettings(**upload.settings)
        encoding = self.data.get("encoding", stored.encoding)
        if encoding not in ENCODINGS:
            encoding = ""
        self.original_table = read_upload(upload)
        self.table = decode_again(self.original_table, encoding)
        header = self.table.header
        choices = [("", NOT_THERE), *((str(i), it) for i, it in enumerate(header))]
        others = [it for it in stored.mapping if it not in self.kind.by_name]
        self.columns = [
            *self.kind.columns,
            *filter(None, map(self.kind.find_column, others)),
        ]
        fields: dict[str, forms.Field] = {}
        for column in self.columns:
            found = stored.mapping.get(column.name)
            fields[COLUMN + column.name] = forms.ChoiceField(
                label=column.label,
                choices=choices,
                required=False,
                initial=str(header.index(found)) if found in header else "",
            )
            values, preselected = self.list_defaults(column, stored.mapping)
            if values:
                fields[DEFAULT + column.name] = forms.ChoiceField(
                    label=f"{column.label}, if the cell is empty",
                    choices=values,
                    required=False,
                    initial=stored.defaults.get(column.name, preselected),
                )
        return fields | self.build_questions(fields, stored)

    def list_defaults(
        self, column: ImportColumn, mapping: Mapping[str, str]
    ) -> tuple[Sequence[tuple[str, str]], str]:
        """The values that empty cells of a column may get, and the only likely one;
        nothing for most columns."""
        none = ("", "Choose…" if column.is_required else "None")
        programs = self.account.programs.filter(archived_at=None)
        if column.type == "program":
            rows = list(programs.order_by("title", "pk").values_list("slug", "title"))
            return [none, *rows], rows[0][0] if len(rows) == 1 else ""
        if column.type == "currency":
            own = sorted(set(programs.values_list("currency", flat=True)))
            codes = (*own, *sorted(list_currencies().difference(own)))
            values = [none, *((code, code) for code in codes)]
            return values, own[0] if len(own) == 1 else ""
        if column.type in CHOICES:
            nothing, choices = CHOICES[column.type]
            nothing = "None" if column.name == "approved" else nothing
            has_cells = column.type == "approval" and column.name in mapping
            return [("", nothing), *choices], "pending" if has_cells else ""
        return [], ""

    def build_questions(
        self, fields: dict[str, forms.Field], stored: UploadSettings
    ) -> dict[str, forms.Field]:
        """Ask what the file does not tell; nothing is chosen before."""
        questions: dict[str, forms.Field] = {}
        if self.original_table.encoding == GUESSED_ENCODING:
            labels: dict[str, list[str]] = {}
            for name, text in list_encoding_readings(self.original_table).items():
                labels.setdefault(text, []).append(name)
            choices = [
                (names[0], f"{text} ({', '.join(ENCODINGS[it] for it in names)})")
                for text, names in labels.items()
            ]
            label = "The file does not say how its letters are stored. Which is right?"
            questions["encoding"] = build_question(label, choices, stored.encoding)
        entered = {
            name: self.data.get(name, "") if self.is_bound else field.initial
            for name, field in fields.items()
        }
        entered |= self.data.items()
        answers = {**stored.answers, **{k: v for k, v in entered.items() if v}}
        draft = UploadSettings(
            mapping=self.read_mapping(entered),
            decimal=answers.get("decimal", stored.decimal),
            dates=join_dates(answers) or stored.dates,
            answers=answers,
        )
        importer = build_importer(self.row, self.table, draft, at=timezone.now())
        known = guess_settings(self.kind, self.table, self.row.system).answers
        self.questions = [
            replace(it, suggestion=it.suggestion or known.get(it.name, ""))
            for it in importer.ask().questions
        ]
        for question in self.questions:
            questions[question.name] = build_answer_field(question, stored)
        return questions

    def read_mapping(self, values) -> dict[str, str]:
        """The headers of our columns by name, those that answers choose, too."""
        header = self.table.header
        chosen = {it.name: values.get(COLUMN + it.name) or "" for it in self.columns}
        mapping = {
            name: header[int(index)]
            for name, index in chosen.items()
            if index in map(str, range(len(header)))
        }
        for it in header:
            name = values.get(f"column:{it}")
            if name and name != IGNORE and name in self.kind.by_name:
                mapping.setdefault(name, it)
        return mapping

    def clean(self):
        """Columns that are needed have a source."""
        values = super().clean()
        mapping = self.read_mapping({**dict(self.data.items()), **values})
        named = {it.name for it in self.columns if values.get(DEFAULT + it.name)}
        named |= mapping.keys()
        self.report_missing(named)
        if self.kind.name == "affiliates":
            if not {"id", "email"} & mapping.keys():
                text = "Choose the column with the e-mail address or the ID."
                self.add_error(f"{COLUMN}email", text)
            if "program" in named and "status" not in named:
                self.add_error(f"{DEFAULT}status", NO_STATUS)
        asked = self.questions
        for it in asked:
            if it.suggestion and it.name not in self.data:  # asked just now
                self.set_entry(it.name, it.suggestion)
        self.settings = UploadSettings(
            mapping=mapping,
            defaults={
                column.name: value
                for column in self.columns
                if (value := values.get(DEFAULT + column.name))
            },
            encoding=self.get_answer("encoding"),
            decimal=self.get_answer("decimal"),
            dates=join_dates({it.name: self.get_answer(it.name) for it in asked}),
            answers={
                it.name: answer
                for it in asked
                if it.name != "decimal" and not it.name.startswith("dates")
                if (answer := self.get_answer(it.name))
                if not it.name.startswith("column:") or answer == IGNORE
            },
        )
        return values

    def report_missing(self, named: set[str]) -> None:
        """Add the errors of needed columns that have no source."""
        for column in self.columns:
            if column.is_required and column.name not in named:
                can_default = DEFAULT + column.name in self.fields
                text = MISSING if can_default else "Choose a column."
                if column.type == "program" and not self.has_programs:
                    text = NO_PROGRAM
                self.add_error(COLUMN + column.name, text)

    @cached_property
    def has_programs(self) -> bool:
        """Whether rows can have a program."""
        return self.account.programs.filter(archived_at=None).exists()

    def get_answer(self, name: str) -> str:
        """The answer to a question; the only one there is, if it was asked just now."""
        field = self.fields.get(name)
        only = field.initial if field and not field.required else ""
        answer = self.cleaned_data.get(name) or only or ""
        return answer.isoformat() if isinstance(answer, date) else str(answer)

    @cached_property
    def examples(self) -> list[list[str]]:
        """The first values of each column of the file."""
        return [list_examples(self.table, i) for i in range(len(self.table.header))]

    def list_entries(self) -> list[ColumnEntry]:
        """The lines of the page."""
        entries = []
        for column in self.columns:
            select, default = self[COLUMN + column.name], DEFAULT + column.name
            index = str(select.value() or "")
            is_chosen = index.isdecimal() and int(index) < len(self.examples)
            examples = self.examples[int(index)] if is_chosen else []
            field = self[default] if default in self.fields else None
            entries.append(ColumnEntry(column, select, field, examples))
        return entries


def join_dates(answers: Mapping[str, str]) -> str:
    """The styles of dates that were answered, with spaces between them."""
    return " ".join(it for name, it in answers.items() if name.startswith("dates") and it)


def build_question(label: str, choices, answer: str, error: str = NO_ANSWER) -> forms.ChoiceField:
    """A question that has to be answered, unless there is only one answer."""
    choices = list(choices)
    is_open = len(choices) > 1
    return forms.ChoiceField(
        label=label,
        choices=choices,
        initial=answer if is_open else choices[0][0],
        required=is_open,
        widget=RADIO(),
        error_messages={"required": error},
    )


def build_answer_field(question: ImportQuestion, stored: UploadSettings) -> forms.Field:
    """The field of a question about the cells of a file."""
    name = question.name
    answer = stored.answers.get(name) or question.suggestion
    if not question.options:
        errors = {"required": CHECK_ANSWER}
        return forms.DateField(label=question.text, initial=answer, error_messages=errors)
    styles = {"decimal": [stored.decimal]}.get(name, stored.dates.split())
    is_style = name == "decimal" or name.startswith("dates")
    if is_style:
        answer = next((it for it in styles if it in question.options), answer)
    choices = [
        (option, f"{format_meaning(question, meaning)} ({option})")
        if is_style
        else (option, meaning)
        for option, meaning in question.options.items()
        if meaning is not None
    ]
    error = CHECK_ANSWER if question.suggestion else NO_ANSWER
    return build_question(question.text, choices, answer, error)


def format_meaning(question: ImportQuestion, meaning: str) -> str:
    """`3 April 2026` or a number."""
    if question.name == "decimal":
        return meaning
    return format_date(datetime.fromisoformat(meaning), "j F Y")


class ColumnsPage(FormPage):
    """Say which columns of a file are which."""

    template_name = "admin/imports/columns.html"
    name = "columns"
    title = "Columns"
    button = "Check the rows"
    permission = "tracking.change_tableupload"
    form_class = ColumnsForm
    explanation = (
        "Step 2 of 3. For each column of ours, choose the one of your file. Those with"
        " the same or a similar name are chosen already. Nothing is stored yet."
    )

    @classmethod
    def is_offered(cls, upload):
        return upload.table_import_id is None

    def perform(self, form, at):
        self.row.update_row(settings=asdict(form.settings))

    def respond(self, form, result):
        return redirect("admin:tracking_tableupload_check", self.row.pk)

    def get_context_data(self, **kwargs) -> dict[str, Any]:
        """Add the lines; columns that are seldom there are folded."""
        context = super().get_context_data(**kwargs)
        form = context["form"]
        entries = form.list_entries()
        shown = [
            it
            for it in entries
            if it.column.is_required
            or it.column.example
            or it.default
            or it.examples
            or it.select.errors
        ]
        names = ("encoding", *(it.name for it in form.questions))
        questions = [form[name] for name in names if name in form.fields]
        return context | {
            "questions": questions,
            "shown": shown,
            "folded": [it for it in entries if it not in shown],
            "headers": form.table.header,
            "examples": form.examples,
            "first_rows": build_first_rows(form.table),
            # A question says it, too.
            "notes": [it for it in form.table.notes if it != GUESSED_ENCODING_NOTE],
        }


def build_first_rows(table) -> Section:
    return Section(
        "The first rows of the file",
        columns=list_places(*table.header),
        rows=[list(map(format_cell, row.cells)) for row in table.rows[:FIRST_ROWS]],
    )


def format_cell(cell: object) -> str:
    if isinstance(cell, CellError):
        return cell.text
    return "" if cell is None else str(cell)
