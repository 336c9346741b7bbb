"""Forms whose values go to a service; an API serializer may validate them."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.text import slugify
from rest_framework.exceptions import ValidationError
from unfold.forms import AdminForm

from accounts.errors import DomainError, ErrorList
from affiliate_site.api.errors import MISSING_PARAMETER, flatten_errors
from affiliate_site.backoffice.fields import (
    FIELD_WIDGETS,
    MAX_ID_LENGTH,
    KeyValueField,
    NewIdField,
    RowChoiceField,
)

NO_CONTROL_CHARACTERS = RegexValidator(
    r"[\x00-\x1f\x7f-\x9f]",
    "Write text in one line, without control characters.",
    inverse_match=True,
)
FieldSets = tuple[tuple[str | None, tuple], ...]  # headings, names of fields
PATH_SEPARATOR = "__"  # the field `address__city` is `address.city` in the API


class ServiceForm(forms.Form):
    """A form of one account; `row` is the object of the page, None if it creates one.

    With a `serializer_class`, `validated` has the serializer's values: the form has the
    same rules and messages as the API. A field without an initial value that is left
    empty counts as not sent.
    """

    serializer_class: type | None = None
    fieldsets: FieldSets = ()
    # The fields of errors that name none, as the specification says.
    error_fields: Mapping[type[DomainError], str] = {}

    def __init__(self, *args, account, row=None, **kwargs):
        self.account, self.row = account, row
        super().__init__(*args, **kwargs)
        self.fields |= self.build_fields()
        for name, field in self.fields.items():
            if isinstance(field, RowChoiceField):
                field.queryset = field.list_rows(account)
            elif type(field.widget) is type(field).widget and (
                widget_class := FIELD_WIDGETS.get(type(field))
            ):
                self._replace_widget(field, widget_class)
            elif isinstance(field, KeyValueField) and not field.is_writable(
                self.initial.get(name) or {}
            ):
                field.disabled = True
                field.help_text = "Values with line breaks are changed by the API only."
            if isinstance(field, forms.CharField) and is_single_line(field):
                field.validators = [*field.validators, NO_CONTROL_CHARACTERS]

    def build_fields(self) -> dict[str, forms.Field]:
        """Fields that depend on the account, in addition to the declared ones."""
        return {}

    def get_fieldsets(self):
        """The field sets in Django's form."""
        fieldsets = self.fieldsets or ((None, tuple(self.fields)),)
        return [(title, {"fields": fields}) for title, fields in fieldsets]

    def get_admin_form(self, model_admin) -> AdminForm:
        """The form as the theme renders it.

        Django's class looks like the theme's only after the theme has replaced parts of
        it, which it does when a process renders its first page of a row.
        """
        return AdminForm(self, self.get_fieldsets(), {}, model_admin=model_admin)

    def set_entry(self, name: str, value: Any) -> None:
        """Show another value than the one that was sent."""
        data: Any = self.data
        data = data.copy()
        key = self.add_prefix(name)
        data.pop(key, None)
        if isinstance(value, list):
            data.setlist(key, value)
        elif value is not None and value is not False:
            shown = self.fields[name].prepare_value(value)
            data[key] = str(getattr(shown, "pk", shown))
        self.data = data

    def list_readings(self) -> list[tuple[str, str]]:
        """Labels of numbers that were entered in other words than the ones that are
        stored, and how they were read: `1.234,50, read as 1234.50`."""
        return [
            (str(entry.label), f"{entry.value()}, read as {number:f}")
            for entry in self
            if isinstance(number := self.cleaned_data.get(entry.name), Decimal)
            and entry.value() != f"{number:f}"
            and isinstance(entry.value(), str)
        ]

    def get_label(self, name: str) -> str:
        """The label of a field as the page shows it."""
        return str(self[name].label) if name in self.fields else name

    def get_serializer_context(self) -> dict:
        """What the fields of the serializer need, such as the currency."""
        return {"account": self.account}

    def clean(self):
        """Validate by the serializer; show its errors at the fields of their paths.

        If the form found errors itself, the serializer lacks values: then only its
        errors of other fields count, so that staff see all errors at once.
        """
        super().clean()
        for name, field in self.fields.items():
            if isinstance(field, NewIdField) and self.cleaned_data.get(name) == "":
                self._make_id(name)
        if self.serializer_class is not None:
            failed = set(self.errors)
            serializer = self.serializer_class(context=self.get_serializer_context())
            body = self.build_body()
            serializer.initial_data = body
            try:
                self.validated = serializer.run_validation(body)
            except ValidationError as error:
                for entry in flatten_errors(error.detail):
                    path, text = entry["property_path"], entry["message"]
                    if not failed or self.find_field(path) not in (*failed, None):
                        self.add_error_at(path, text)
        return self.cleaned_data

    def _make_id(self, name: str) -> None:
        """Make an ID from the letters and digits of the title."""
        title = self.cleaned_data.get("title", "").replace("_", "-")
        made = self.cleaned_data[name] = slugify(title)[:MAX_ID_LENGTH].strip("-")
        if title and not made:
            self.add_error(name, "Enter an ID; this title has no letters to make one from.")

    def get_changed_values(self) -> dict[str, Any]:
        """The valid values that differ from the initial ones."""
        values = self.cleaned_data
        return {name: values[name] for name in self.changed_data if name in values}

    @property
    def values(self) -> dict[str, Any]:
        """The valid values, as the serializer gives them if there is one.

        Those of disabled fields are left out: nobody entered them, and they were read
        before the object was locked.
        """
        if self.serializer_class:
            return self.validated
        return {name: self.cleaned_data[name] for name in self._list_entered()}

    def _list_entered(self) -> list[str]:
        fields = self.fields
        return [
            name for name in self.cleaned_data if name not in fields or not fields[name].disabled
        ]

    def build_body(self) -> dict:
        """The body of the API call with the valid values of this form."""
        body: dict = {}
        for name in self._list_entered():
            value = self.cleaned_data[name]
            if value in (None, "", []) and not self.initial.get(name):
                continue
            *parents, key = name.split(PATH_SEPARATOR)
            target = body
            for parent in parents:
                target = target.setdefault(parent, {})
            target[key] = str(value) if hasattr(value, "pk") else value
        return body

    def add_error_at(self, path: str | None, text: str) -> None:
        """Show an error at the field with this path in the API, else above the form."""
        if text == MISSING_PARAMETER:  # in the words of forms
            text = str(forms.Field.default_error_messages["required"])
        self.add_error(self.find_field(path), text)

    def find_field(self, path: str | None) -> str | None:
        """The name of the field with this path in the API, or None."""
        steps = (path or "").replace("[", ".").replace("]", "").split(".")
        names = (PATH_SEPARATOR.join(steps[:n]) for n in range(len(steps), 0, -1))
        return next((name for name in names if name in self.fields), None)

    def add_domain_error(self, error: DomainError) -> None:
        """Show what a service refused."""
        for each in error.errors if isinstance(error, ErrorList) else [error]:
            path = each.path or self.error_fields.get(type(each))
            self.add_error_at(path, self.get_error_text(each))

    def get_error_text(self, error: DomainError) -> str:
        """What the form shows of one refusal."""
        return error.text

    @staticmethod
    def _replace_widget(field, widget_class):
        choices = getattr(field, "choices", None)
        field.widget = widget_class(attrs=field.widget_attrs(widget_class()))
        if choices is not None:
            field.widget.choices = choices
        field.widget.is_required = field.required


def is_single_line(field: forms.Field) -> bool:
    """Whether a field is a line of text that others may see, no password."""
    return not isinstance(field.widget, forms.Textarea | forms.PasswordInput)
