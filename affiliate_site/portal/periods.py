"""Periods that an affiliate chooses, and their parts."""

from datetime import date
from typing import Any

from babel.dates import format_date, format_skeleton
from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from accounts.written_days import get_locale
from affiliate_site.portal.formats import day as format_day
from payouts.statistics import Period, get_last_days, get_last_month

MAX_DAYS = 366
MAX_SINGLE_DAYS = 62  # parts of one day that a page shows
DAY, WEEK, MONTH = "day", "week", "month"
OWN = "own"
PERIODS = {
    "this_month": _("This month"),
    "last_month": _("Last month"),
    "30_days": _("Last 30 days"),
    "12_months": _("Last 12 months"),
    OWN: _("Own days"),
}
STEPS = {"": _("Automatic"), DAY: _("Days"), WEEK: _("Weeks"), MONTH: _("Months")}
FIRST_YEAR, LAST_YEAR = 1970, 2999  # a period and the one before it have dates


class DayField(forms.DateField):
    """A day that need not be chosen."""

    def __init__(self, label: Any) -> None:
        widget = forms.DateInput({"type": "date"})
        super().__init__(label=label, widget=widget, required=False)

    def validate(self, value: date | None) -> None:
        super().validate(value)
        if value and not FIRST_YEAR <= value.year <= LAST_YEAR:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")


class PeriodChoiceForm(forms.Form):
    """A period, which need not be chosen."""

    default_period = ""  # all time

    period = forms.ChoiceField(label=_("Period"), required=False)
    start = DayField(_("From"))
    end = DayField(_("To"))

    def __init__(self, query: QueryDict) -> None:
        values = query.copy()
        values.setdefault("period", self.default_period)
        super().__init__(values)
        choices = [] if self.default_period else [("", _("All time"))]
        period: Any = self.fields["period"]
        period.choices = [*choices, *PERIODS.items()]

    def clean(self) -> dict[str, Any]:
        """Own days are at most a year."""
        values = super().clean() or {}
        start, end = values.get("start"), values.get("end")
        if values.get("period") != OWN or self.errors:
            return values
        if start is None or end is None:
            self.add_error("start", _("Choose both days."))
        elif end < start:
            self.add_error("end", _("The last day is before the first one."))
        elif (end - start).days >= MAX_DAYS:
            text = _("At most {days} days can be shown.")
            self.add_error("end", text.format(days=MAX_DAYS))
        return values

    def find_period(self, today: date) -> Period | None:
        """The chosen period, or the default if it is wrong; None: all time."""
        values = self.cleaned_data if self.is_valid() else {}
        name = values.get("period") or self.default_period
        if name == OWN:
            return Period(values["start"], values["end"])
        return get_named_period(name, today) if name else None


class FiguresForm(PeriodChoiceForm):
    """A period, and the parts that it is shown in."""

    default_period = "30_days"

    step = forms.ChoiceField(label=_("Grouped by"), choices=list(STEPS.items()), required=False)

    def get_period(self, today: date) -> Period:
        """The chosen period, or the default if it is wrong."""
        return self.find_period(today) or get_named_period(self.default_period, today)


def get_named_period(name: str, today: date) -> Period:
    """One of `PERIODS`, but not `OWN`."""
    first = today.replace(day=1)
    if name == "this_month":
        return Period(first, today)
    if name == "last_month":
        return get_last_month(today)
    if name == "12_months":
        year, month = (first.year - 1, first.month + 1)
        return Period(date(year + (month > 12), (month - 1) % 12 + 1, 1), today)
    return get_last_days(30, today)


def choose_step(period: Period, wanted: str) -> str:
    """The parts to show: those that were wanted, unless these are too many."""
    number = len(period.days)
    if wanted == DAY and number > MAX_SINGLE_DAYS:
        wanted = WEEK
    if wanted:
        return wanted
    if number <= 31:
        return DAY
    return WEEK if number <= 184 else MONTH


def split_period(period: Period, step: str) -> list[Period]:
    """The days, weeks from Monday, or months of a period; the first and last part may
    be incomplete."""
    parts: list[Period] = []
    for day in period.days:
        is_first = (
            step == DAY
            or not parts
            or (step == WEEK and day.weekday() == 0)
            or (step == MONTH and day.day == 1)
        )
        if is_first:
            parts.append(Period(day, day))
        else:
            parts[-1] = Period(parts[-1].first, day)
    return parts


def name_part(first: date, step: str) -> str:
    """The part from a day: `25 Nov 2026`, `Week from Mon, 23 Nov 2026`, `Nov 2026`."""
    if step == DAY:
        return format_day(first)
    if step == WEEK:
        day = format_skeleton("yMMMEd", first, locale=get_locale())
        return str(_("Week from {day}")).format(day=day)
    return format_date(first, "LLL y", locale=get_locale())


def name_part_shortly(part: Period, step: str) -> str:
    """A label below a bar: `25 Nov` or `Nov`."""
    if step == MONTH:
        return format_date(part.first, "LLL", locale=get_locale())
    return format_skeleton("MMMd", part.first, locale=get_locale())
