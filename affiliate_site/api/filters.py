"""Filter classes of list endpoints, also used for the OpenAPI document."""

import re
from datetime import UTC, date, datetime, timedelta

import django_filters
from django import forms
from django.core.exceptions import ValidationError as FormError
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.exceptions import ValidationError

from affiliate_site.api.errors import FieldError
from affiliate_site.api.fields import (
    ASCII_WHITESPACE,
    INVALID_BOOLEAN,
    INVALID_TEXT,
    QueryBooleanField,
)

PAGE_PATTERN = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
MAX_PAGE = 10**9 - 1
DATE_PATTERN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
MIN_DATE, MAX_DATE = date(1970, 1, 1), date(2999, 12, 31)
VALID_YEAR_PATTERN = "^(19[7-9]|2[0-9]{2})[0-9]-"  # years of MIN_DATE to MAX_DATE
INVALID_STATUS = "Invalid status '{{ value }}'. Valid are {{ values }}"
INVALID_CHOICE = "Invalid value '{{ value }}'. Valid are {{ values }}"


class TextParameterField(forms.Field):
    """A query value, unchanged; NUL is invalid."""

    def clean(self, value):
        if value is not None and "\x00" in value:
            raise FormError(INVALID_TEXT)
        return value


class EmailParameterField(TextParameterField):
    """An e-mail address; outer white space is removed."""

    def clean(self, value):
        value = super().clean(value)
        return value.strip(ASCII_WHITESPACE) if value else value


class DateParameterField(forms.Field):
    """A date `YYYY-MM-DD` from `MIN_DATE` to `MAX_DATE`."""

    def clean(self, value):
        if value is None:
            return None
        try:
            if not DATE_PATTERN.fullmatch(value):
                raise ValueError("not YYYY-MM-DD")
            day = date.fromisoformat(value)
        except ValueError:
            raise FormError("Invalid date") from None
        if not MIN_DATE <= day <= MAX_DATE:
            raise FormError("Invalid date")
        return day


class BooleanParameterField(TextParameterField):
    """`true`, `false`, `1` or `0` in any case; empty means not sent."""

    def clean(self, value):
        value = super().clean(value)
        if not value:
            return None
        if value.lower() not in QueryBooleanField.BOOLEAN_VALUES:
            raise FormError(INVALID_BOOLEAN)
        return QueryBooleanField.BOOLEAN_VALUES[value.lower()]


class ChoiceParameterField(TextParameterField):
    """One of a fixed list of values, which the error message lists.

    `aliases` maps other spellings, in lower case, to the values.
    """

    def __init__(self, *, choices, aliases, **kwargs):
        super().__init__(**kwargs)
        self.choices = choices
        self.aliases = aliases

    def clean(self, value):
        choice = (super().clean(value) or "").strip(ASCII_WHITESPACE)
        choice = self.aliases.get(choice.lower(), choice)
        if choice and choice not in self.choices:
            raise FormError(
                INVALID_CHOICE,
                params={
                    "value": value[:255],
                    "values": ", ".join(f"'{valid}'" for valid in self.choices),
                },
            )
        return choice


class PageParameterField(TextParameterField):
    """A page number; 1 if not sent."""

    def clean(self, value):
        if not value:
            return 1
        if not PAGE_PATTERN.fullmatch(value):
            raise FormError("Invalid page")
        return int(value)


class TextFilter(django_filters.Filter):
    """Exact match."""

    field_class = TextParameterField
    schema = {"type": "string"}


class ReferenceFilter(TextFilter):
    """Exact match."""

    def filter(self, qs, value):
        """Compare the foreign key itself, with which the indexes of a list begin."""
        if not value:
            return qs
        model = qs.model._meta.get_field(self.field_name).related_model
        rows = model.objects.of(self.parent.account).filter(slug=value)
        pk = rows.values_list("pk", flat=True).first()
        return qs.none() if pk is None else qs.filter(**{self.field_name: pk})


class EmailFilter(TextFilter):
    """Exact match, ignoring case."""

    field_class = EmailParameterField

    def filter(self, qs, value):
        return qs.with_email(value) if value else qs


class BooleanFilter(django_filters.Filter):
    """`true` or `false`."""

    field_class = BooleanParameterField
    schema = {"type": "boolean"}


class ChoiceFilter(django_filters.Filter):
    """One of a fixed list of values."""

    field_class = ChoiceParameterField

    def __init__(self, *, choices, aliases=None, **kwargs):
        super().__init__(choices=tuple(choices), aliases=aliases or {}, **kwargs)
        self.schema = {"type": "string", "enum": list(choices)}


class DateFromFilter(django_filters.Filter):
    """On or after this UTC date."""

    field_class = DateParameterField
    schema = {"type": "string", "format": "date", "pattern": VALID_YEAR_PATTERN}

    def filter(self, qs, value):
        if value is None:
            return qs
        return qs.filter(**{f"{self.field_name}__gte": get_day_start(value)})


class DateToFilter(DateFromFilter):
    """On or before this UTC date."""

    def filter(self, qs, value):
        if value is None:
            return qs
        next_day = get_day_start(value) + timedelta(days=1)
        return qs.filter(**{f"{self.field_name}__lt": next_day})


class PageFilter(django_filters.Filter):
    """Page number, starting at 1."""

    field_class = PageParameterField
    schema = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}

    def filter(self, qs, value):
        return qs


def get_day_start(day: date) -> datetime:
    """Return midnight UTC at the start of a day."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


class BaseFilterSet(django_filters.FilterSet):
    """Base class of the filters of a list; filters are combined with AND.

    `aliases` maps other parameter names to the canonical ones, which take precedence
    when both are sent.
    """

    aliases: dict[str, str] = {}
    base_filters: dict[str, django_filters.Filter]  # set by django-filter's metaclass

    page = PageFilter()

    def __init__(self, data, **kwargs):
        self.sent_aliases: dict[str, str] = {}  # canonical name → alias sent
        data = self.resolve_aliases(data)
        # Only filters that were sent: a deep copy of all filters and their form, as
        # django-filter makes it, would cost more than the query.
        self.base_filters = {
            name: declared for name, declared in self.base_filters.items() if name in data
        }
        super().__init__(data, **kwargs)

    @property
    def account(self):
        return self.request.user

    def resolve_aliases(self, data):
        """Return the query under its canonical parameter names."""
        data = data.copy()
        for alias, name in self.aliases.items():
            if data.get(alias) and not data.get(name):
                data[name] = data[alias]
                self.sent_aliases[name] = alias
        return data

    def get_error(self) -> ValidationError:
        """Return all errors of the query, with that of `page` last."""
        errors = self.form.errors.as_data()
        names = sorted(errors, key=lambda name: name == "page")
        return ValidationError(
            {self.sent_aliases.get(name, name): convert_form_errors(errors[name]) for name in names}
        )


class AccountFilterBackend(DjangoFilterBackend):
    """Applies the view set's `filterset_class`; raises its errors as the API's."""

    def filter_queryset(self, request, queryset, view):
        filterset = self.get_filterset(request, queryset, view)
        if not filterset.filters:
            return queryset
        if not filterset.is_valid():
            raise filterset.get_error()
        return filterset.qs


def convert_form_errors(errors: list[FormError]):
    """Return the errors of a form field as details of `FieldError`."""
    return [
        detail
        for error in errors
        for detail in FieldError(error.message, **(error.params or {})).detail
    ]
