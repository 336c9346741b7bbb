"""Fields of forms and their widgets, and how people write what they hold."""

import re
from decimal import Decimal

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import (
    AutocompleteSelect,
    AutocompleteSelectMultiple,
)
from django.core.validators import ProhibitNullCharactersValidator
from django.db.models import QuerySet
from unfold import widgets

from accounts.decimals import MAX_NUMBER_LENGTH, parse_decimal
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
    forms.TimeField: widgets.UnfoldAdminSingleTimeWidget,
}
MULTI_LINE = widgets.UnfoldAdminTextareaWidget
RADIO = widgets.UnfoldAdminRadioSelectWidget
PASSWORD = widgets.UnfoldAdminPasswordWidget
COLOR = widgets.UnfoldAdminColorInputWidget
# Thousands, in groups of three digits, then decimals after another separator.
GROUPED_NUMBER = re.compile(r"-?[1-9][0-9]{0,2}([.,' ])[0-9]{3}(\1[0-9]{3})*((?!\1)[.,][0-9]+)?")
AMBIGUOUS_NUMBER = re.compile(r"-?[1-9][0-9]{0,2}[.,][0-9]{3}")
MAX_ID_LENGTH = 64


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

    def __init__(self, manager: str, *, search_field=None, label_from=label_row, **kwargs):
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

    def list_rows(self, account) -> QuerySet:
        """The rows to choose from."""
        return getattr(account, self.manager).all()

    def label_from_instance(self, row):
        return self.get_row_label(row)


class ProgramField(RowChoiceField):
    """A program that is not archived."""

    def __init__(self, **kwargs):
        super().__init__("programs", **kwargs)

    def list_rows(self, account):
        return account.programs.filter(archived_at=None).order_by("title")


class AffiliateField(RowChoiceField):
    """An affiliate, which is searched."""

    def __init__(self, **kwargs):
        search_field = Affiliate._meta.get_field("parent")
        super().__init__("affiliates", search_field=search_field, **kwargs)


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


def format_lines(pairs: dict[str, str]) -> str:
    """A map as lines `key: value`."""
    return "\n".join(f"{key}: {value}" for key, value in pairs.items())
