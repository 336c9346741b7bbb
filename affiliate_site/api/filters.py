"""Filters of lists: declared once, read by the list and by the API's description."""

import re
from datetime import UTC, date, datetime, timedelta

import django_filters
from django import forms
from django.core.exceptions import ValidationError as FormError
from rest_framework.exceptions import ValidationError

from affiliate_site.api.errors import Flaw
from affiliate_site.api.fields import ASCII_SPACE, NO_BOOLEAN, NO_TEXT, QueryFlag

PAGE = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
LAST_PAGE = 10**9 - 1
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(2999, 12, 31)
CALENDAR = "^(19[7-9]|2[0-9]{2})[0-9]-"  # the years from the first day to the last
NO_STATUS = "Invalid status '{{ value }}'. Valid are {{ values }}"
NO_CHOICE = "Invalid value '{{ value }}'. Valid are {{ values }}"


class TextParameter(forms.Field):
    """A query value as sent; NUL is no text."""

    def clean(self, value):
        if value is not None and "\x00" in value:
            raise FormError(NO_TEXT)
        return value


class AddressParameter(TextParameter):
    """An e-mail address, without outer white space."""

    def clean(self, value):
        value = super().clean(value)
        return value.strip(ASCII_SPACE) if value else value


class DayParameter(forms.Field):
    """A real day, `YYYY-MM-DD`, in the years that a calendar bears."""

    def clean(self, value):
        if value is None:
            return None
        try:
            if not DAY.fullmatch(value):
                raise ValueError("not a day's form")
            day = date.fromisoformat(value)
        except ValueError:
            raise FormError("Invalid date") from None
        if not FIRST_DAY <= day <= LAST_DAY:
            raise FormError("Invalid date")
        return day


class FlagParameter(TextParameter):
    """`true`, `false`, `1` or `0`, any case; empty is not sent."""

    def clean(self, value):
        value = super().clean(value)
        if not value:
            return None
        if value.lower() not in QueryFlag.words:
            raise FormError(NO_BOOLEAN)
        return QueryFlag.words[value.lower()]


class ChoiceParameter(TextParameter):
    """One word of a fixed list; the refusal names them.

    `aliases` leads from other spellings, any case, to the words.
    """

    def __init__(self, *, choices, aliases, **kwargs):
        super().__init__(**kwargs)
        self.choices = choices
        self.aliases = aliases

    def clean(self, value):
        word = (super().clean(value) or "").strip(ASCII_SPACE)
        word = self.aliases.get(word.lower(), word)
        if word and word not in self.choices:
            raise FormError(
                NO_CHOICE,
                params={
                    "value": value[:255],
                    "values": ", ".join(f"'{choice}'" for choice in self.choices),
                },
            )
        return word


class PageParameter(TextParameter):
    """A page's number; 1 without a word."""

    def clean(self, value):
        if not value:
            return 1
        if not PAGE.fullmatch(value):
            raise FormError("Invalid page")
        return int(value)


class Words(django_filters.Filter):
    """Equals this text."""

    field_class = TextParameter
    schema = {"type": "string"}


class Address(Words):
    """Equals this e-mail address, any case."""

    field_class = AddressParameter


class Switch(django_filters.Filter):
    """True or false."""

    field_class = FlagParameter
    schema = {"type": "boolean"}


class Choice(django_filters.Filter):
    """One of a fixed list of words."""

    field_class = ChoiceParameter

    def __init__(self, *, choices, aliases=None, **kwargs):
        super().__init__(choices=tuple(choices), aliases=aliases or {}, **kwargs)
        self.schema = {"type": "string", "enum": list(choices)}


class From(django_filters.Filter):
    """From this UTC day on."""

    field_class = DayParameter
    schema = {"type": "string", "format": "date", "pattern": CALENDAR}

    def filter(self, qs, value):
        if value is None:
            return qs
        return qs.filter(**{f"{self.field_name}__gte": beginning_of(value)})


class Until(From):
    """Up to this UTC day, the whole of it."""

    def filter(self, qs, value):
        if value is None:
            return qs
        after = beginning_of(value) + timedelta(days=1)
        return qs.filter(**{f"{self.field_name}__lt": after})


class Page(django_filters.Filter):
    """Which page, from 1; it narrows nothing."""

    field_class = PageParameter
    schema = {"type": "integer", "minimum": 1, "maximum": LAST_PAGE}

    def filter(self, qs, value):
        return qs


def beginning_of(day: date) -> datetime:
    """The first moment of a UTC day."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


class ListFilter(django_filters.FilterSet):
    """The base of a list's filters; all of them narrow together.

    `aliases` leads from other spellings to the proper ones, which count when both
    are sent.
    """

    aliases: dict[str, str] = {}

    page = Page()

    def __init__(self, data, *, account, **kwargs):
        self.sent_as: dict[str, str] = {}  # proper name → the alias that was sent
        super().__init__(self.named(data), **kwargs)
        self.account = account

    def named(self, data):
        """The query under its proper names."""
        data = data.copy()
        for alias, name in self.aliases.items():
            if data.get(alias) and not data.get(name):
                data[name] = data[alias]
                self.sent_as[name] = alias
        return data

    def narrowed(self):
        """The rows that pass and the page asked for, or every flaw of the query."""
        flaws = self.form.errors.as_data()
        if flaws:
            in_order = sorted(flaws, key=lambda name: name == "page")
            raise ValidationError(
                {
                    self.sent_as.get(name, name): detail_of(flaws[name])
                    for name in in_order
                }
            )
        return self.filter_queryset(self.queryset), self.form.cleaned_data["page"]


def detail_of(errors: list[FormError]):
    """A form field's errors, as the API spells them."""
    return [
        detail
        for error in errors
        for detail in Flaw(error.message, **(error.params or {})).detail
    ]
