"""Forms whose values go to a service; an API serializer may validate them."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import (
    AutocompleteSelect,
    AutocompleteSelectMultiple,
)
from django.core.validators import ProhibitNullCharactersValidator, RegexValidator
from django.utils.text import slugify
from rest_framework.exceptions import ValidationError
from unfold import widgets
from unfold.forms import AdminForm

from accounts.decimals import MAX_NUMBER_LENGTH, parse_decimal
from accounts.errors import DomainError, ErrorList
from affiliate_site.api.errors import MISSING_PARAMETER, flatten_errors
from affiliate_site.api.fields import parse_integer_id
from affiliate_site.backoffice.formatters import format_person
from tracking.errors import AmountTooLarge
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.models.programs import Program

FIELD_WIDGETS = {
    forms.CharField: widgets.UnfoldAdminTextInputWidget,
    forms.EmailField: widgets.UnfoldAdminEmailInputWidget,
    forms.IntegerField: widgets.UnfoldAdminIntegerFieldWidget,
    forms.BooleanField: widgets.UnfoldBooleanSwitchWidget,
    forms.ChoiceField: widgets.UnfoldAdminSelectWidget,
    forms.TypedChoiceField: widgets.UnfoldAdminSelectWidget,
    forms.MultipleChoiceField: widgets.UnfoldAdminCheckboxSelectMultipleWidget,
    forms.FileField: widgets.UnfoldAdminFileFieldWidget,
    forms.DateField: widgets.UnfoldAdminSingleDateWidget,
}
MULTI_LINE = widgets.UnfoldAdminTextareaWidget
RADIO = widgets.UnfoldAdminRadioSelectWidget
PASSWORD = widgets.UnfoldAdminPasswordWidget
COLOR = widgets.UnfoldAdminColorInputWidget
NO_CONTROL_CHARACTERS = RegexValidator(
    r"[\x00-\x1f\x7f-\x9f]",
    "Write text in one line, without control characters.",
    inverse_match=True,
)
# Thousands, in groups of three digits, then decimals after another separator.
GROUPED_NUMBER = re.compile(
    r"-?[1-9][0-9]{0,2}([.,' ])[0-9]{3}(\1[0-9]{3})*((?!\1)[.,][0-9]+)?"
)
AMBIGUOUS_NUMBER = re.compile(r"-?[1-9][0-9]{0,2}[.,][0-9]{3}")
FieldSets = tuple[tuple[str | None, tuple], ...]  # headings, names of fields
MAX_ID_LENGTH = 64
PATH_SEPARATOR = "__"  # the field `address__city` is `address.city` in the API


def read_number(text: str) -> str:
    """`1234.50` of `1234,50`, `1.234,50`, `1,234.50`, `1 234,50` and `1'234.50`.

    Raises `ValidationError` for `1.234` and `1,234`, which mean one or a thousand.
    """
    number = re.sub(r"\s", " ", text.strip()).replace("\u2019", "'")
    if AMBIGUOUS_NUMBER.fullmatch(number):
        thousands = re.sub("[.,]", "", number)
        decimals = write_decimals(number.replace(",", "."))
        raise forms.ValidationError(
            f"{number} can be read in two ways: enter {thousands}, without a separator,"
            f" or {decimals}, if the separator begins the decimals."
        )
    if grouped := GROUPED_NUMBER.fullmatch(number):
        number = number.replace(grouped[1], "")
    return number.replace(",", ".")


def write_decimals(number: str) -> str:
    """A number with a decimal point as `read_number` reads it: `1.2340` for `1.234`."""
    if not AMBIGUOUS_NUMBER.fullmatch(number):
        return number
    return number[:-1] if number.endswith("0") else f"{number}0"


class DecimalInput(widgets.UnfoldAdminTextInputWidget):
    """A text input with the keyboard of numbers.

    Inputs of the type `number` may drop a decimal comma: 50,25 would become 5025.
    """

    def __init__(self, attrs=None):
        super().__init__({"inputmode": "decimal", **(attrs or {})})


class DecimalField(forms.DecimalField):
    """A number, as people of many countries write it, also with its unit behind."""

    widget = DecimalInput
    unit = ""  # such as EUR
    default_error_messages = {"invalid": "Enter a number, such as 1234.50."}

    def to_python(self, value):
        if isinstance(value, str) and (text := value.strip().removesuffix(self.unit)):
            if len(text) > MAX_NUMBER_LENGTH:
                raise forms.ValidationError(AmountTooLarge.message)
            try:
                value = parse_decimal(read_number(text))
            except ValueError:
                raise forms.ValidationError(self.error_messages["invalid"]) from None
        return super().to_python(value)

    def prepare_value(self, value):
        return write_decimals(f"{value:f}") if isinstance(value, Decimal) else value


def label_row(row) -> str:
    """What a choice says of a row: `Mina Kessler (mina)` of an affiliate."""
    if isinstance(row, Affiliate):
        return format_person(row)
    return row.title if isinstance(row, AffiliateGroup | Program) else str(row)


NO_CHOICE_TEXT = "Choose…"  # of a list in which nothing is chosen


class RowSearchWidget(AutocompleteSelect):
    """Searches rows; a value that cannot be the key of a row selects none."""

    url_name = "%s:row_choices"

    def build_attrs(self, base_attrs, extra_attrs=None):
        """Say what to type; open the list in the main landmark, not outside of it."""
        attrs = super().build_attrs(base_attrs, extra_attrs)
        return attrs | {
            "data-placeholder": "Search by name, e-mail or ID",
            "data-dropdown-parent": "#main",
        }

    def optgroups(self, name, value, attr=None):
        keys = [key for key in value if parse_integer_id(key)]
        return super().optgroups(name, keys or [""], attr)


class RowsSearchWidget(RowSearchWidget, AutocompleteSelectMultiple):
    """Searches several rows."""


class RowChoiceField(forms.ModelChoiceField):
    """A row of the account: `RowChoiceField("affiliate_groups")`.

    With `search_field`, a foreign key such as `Affiliate._meta.get_field("parent")`,
    the rows are searched by the page of its model instead of listed.
    """

    search_widget = RowSearchWidget

    def __init__(
        self, manager: str, *, search_field=None, label_from=label_row, **kwargs
    ):
        widget = (
            self.search_widget(search_field, admin.site)
            if search_field
            else widgets.UnfoldAdminSelectWidget()
        )
        super().__init__(queryset=None, widget=widget, **kwargs)
        if self.empty_label and "empty_label" not in kwargs:
            self.empty_label = NO_CHOICE_TEXT
        self.manager = manager
        self.get_row_label = label_from

    def label_from_instance(self, row):
        return self.get_row_label(row)


class RowsChoiceField(RowChoiceField, forms.ModelMultipleChoiceField):
    """Several rows of the account, which are searched."""

    search_widget = RowsSearchWidget

    def clean(self, value):
        for key in value or ():
            if not parse_integer_id(key):
                raise forms.ValidationError("One of these was removed: search again.")
        return super().clean(value)


class LinesField(forms.CharField):
    """A list of texts, one per line, none of them twice."""

    def __init__(self, **kwargs):
        super().__init__(widget=MULTI_LINE({"rows": 4}), **kwargs)

    def prepare_value(self, value):
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value):
        if isinstance(value, list | tuple):  # a disabled field gives its initial value
            return list(value)
        text = super().to_python(value) or ""
        ProhibitNullCharactersValidator()(text)
        lines = (line.strip() for line in text.splitlines())
        return list(dict.fromkeys(filter(None, lines)))

    def has_changed(self, initial, data):
        if self.disabled:
            return False
        try:
            return self.to_python(data) != list(initial or ())
        except forms.ValidationError:
            return True


class KeyValueField(forms.CharField):
    """A map of texts, one `key: value` per line."""

    def __init__(self, **kwargs):
        super().__init__(strip=False, widget=MULTI_LINE({"rows": 4}), **kwargs)

    def prepare_value(self, value):
        return format_lines(value) if isinstance(value, dict) else value

    def to_python(self, value):
        """Parse the lines; refuse one without a key, and a key that comes twice."""
        if isinstance(value, dict):  # a disabled field gives its initial value
            return value
        pairs: dict[str, str] = {}
        text = super().to_python(value) or ""
        ProhibitNullCharactersValidator()(text)
        for line in text.splitlines():
            if not line.strip():
                continue
            key, separator, entry = (part.strip() for part in line.partition(":"))
            if not key or not separator:
                message = f"Write each line as key: value. This is none: {line[:80]}"
                raise forms.ValidationError(message)
            if key in pairs:
                raise forms.ValidationError(f"{key[:80]} comes twice.")
            pairs[key] = entry
        return pairs

    def has_changed(self, initial, data):
        if self.disabled:
            return False
        try:
            return self.to_python(data) != (initial or {})
        except forms.ValidationError:
            return True

    def is_writable(self, value: dict[str, str]) -> bool:
        """Whether the lines give the same map: not with a line break in a value."""
        return not self.has_changed(value, format_lines(value))


class MetaDataField(KeyValueField):
    """The meta data of an object."""

    def __init__(self):
        super().__init__(
            label="Metadata",
            required=False,
            help_text="One entry per line, such as plan: gold. For your own systems.",
        )


class NewIdField(forms.CharField):
    """The ID of a new object; an empty one is made from the title."""

    def __init__(self) -> None:
        super().__init__(
            label="ID",
            required=False,
            max_length=MAX_ID_LENGTH,
            help_text="For the API; empty: made from the title. It cannot be changed.",
        )


FIELD_WIDGETS[NewIdField] = FIELD_WIDGETS[forms.CharField]


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
                field.queryset = getattr(account, field.manager).all()
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
            self.add_error(
                name, "Enter an ID; this title has no letters to make one from."
            )

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
            name
            for name in self.cleaned_data
            if name not in fields or not fields[name].disabled
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


def format_lines(pairs: dict[str, str]) -> str:
    """A map as lines `key: value`."""
    return "\n".join(f"{key}: {value}" for key, value in pairs.items())
