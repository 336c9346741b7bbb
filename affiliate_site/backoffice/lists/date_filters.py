"""Filters by a period: days of the account, or times."""

from datetime import UTC, date, datetime, time, timedelta

from django.core.exceptions import BadRequest
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts.days import A_DAY
from affiliate_site.backoffice.formatters import format_datetime
from affiliate_site.backoffice.lists.filters import FormFilter
from payouts.statistics import Period
from tracking.models.clicks import Click, PrunedClickCount
from tracking.models.conversions import Conversion

FIRST_YEAR, LAST_YEAR = 1970, 2999
MAX_ACTIVE_DAYS = 366  # as of the dashboard


class DateFilter(FormFilter):
    """Rows of a period: `from` and `to` are days of the account, both included.

    `created_at__gte` and `created_at__lt` are the same as times, for links.
    """

    title = "date"
    parameter_name = "from"
    parameters: tuple[str, ...] = ("to", "created_at__gte", "created_at__lt")
    column = "created_at"
    labels = ("From", "To")

    def __init__(self, request, params, model, model_admin):
        super().__init__(request, params, model, model_admin)
        values = map(self.used_parameters.get, self.expected_parameters())
        first_day, last_day, since, before = (*values, None, None)[:4]
        first, last = parse_filter_day(first_day), parse_filter_day(last_day)
        if first and last and first > last:
            first, last = last, first
        self.first = first or parse_time(since)
        self.end = last + A_DAY if last else parse_time(before)

    def choices(self, changelist):
        zone = timezone.get_current_timezone_name()
        names = self.expected_parameters()[:2]
        for name, label, day in zip(names, self.labels, self.days, strict=True):
            yield {
                "name": name,
                "label": f"{label} ({zone})",
                "type": "date",
                "value": f"{day}" if day else "",
            }

    @property
    def days(self) -> tuple[date | None, date | None]:
        """The first and the last day; None if there is no such limit."""
        last = self.end - A_DAY if self.end and is_midnight(self.end) else self.end
        return self.first and self.first.date(), last and last.date()

    @property
    def file_name_part(self) -> str:
        """`2026-10` for a month, `2026-10-07` for a day; empty without a filter."""
        first, last = self.days
        if not first or not last:
            return f"from-{first}" if first else f"to-{last}" if last else ""
        if first == last:
            return f"{first}"
        if first.day == 1 and get_last_day_of_month(first) == last:
            return f"{first:%Y-%m}"
        return f"{first}-to-{last}"

    def queryset(self, request, queryset):
        return self.limit(queryset, self.column)

    def limit(self, rows, column: str):
        """The rows with this column within the period."""
        if self.first:
            rows = rows.filter(**{f"{column}__gte": self.first})
        if self.end:
            rows = rows.filter(**{f"{column}__lt": self.end})
        return rows

    @property
    def value_text(self):
        limits = [at for at in (self.first, self.end) if at]
        if all(map(is_midnight, limits)):
            first, end = (day and f"{day}" for day in self.days)
        else:
            first, end = (at and format_datetime(at) for at in (self.first, self.end))
        if not end:
            return f"from {first}"
        return f"{first} to {end}" if first and first != end else first or f"to {end}"


class ApplicationDateFilter(DateFilter):
    """Enrollments by the day of application."""

    parameters = ("to", "applied_at__gte", "applied_at__lt")
    column = "applied_at"


class RemovalFilter(DateFilter):
    """Conversions by the day of removal."""

    title = "removed"
    parameter_name = "removed_from"
    parameters = ("removed_to",)
    column = "deleted_at"
    labels = ("Removed from", "Removed to")


class ActiveFilter(DateFilter):
    """Affiliates with a click or a sale on these days; the list counts their days."""

    title = "active"
    parameter_name = "active_from"
    parameters = ("active_to",)
    labels = ("Active from", "Active to")

    def queryset(self, request, queryset):
        if not (self.first or self.end):
            return queryset
        own = {"account": OuterRef("account"), "affiliate": OuterRef("pk")}
        sources = (
            (Click.objects.all(), "created_at"),
            (PrunedClickCount.objects.all(), "quarter"),
            (Conversion.objects.not_deleted(), "created_at"),
        )
        is_active = Q()
        for rows, column in sources:
            is_active |= Q(Exists(self.limit(rows.filter(**own), column)))
        return queryset.filter(is_active)


def find_active_period(request) -> Period | None:
    """The days of `ActiveFilter`, if both are set; raises `BadRequest`."""
    first, last = (parse_filter_day(request.GET.get(f"active_{it}")) for it in ("from", "to"))
    if not (first and last):
        return None
    period = Period(*sorted((first.date(), last.date())))
    if period.last - period.first >= timedelta(days=MAX_ACTIVE_DAYS):
        raise BadRequest(f"Choose at most {MAX_ACTIVE_DAYS} days")
    return period


def parse_filter_day(text: str | None) -> datetime | None:
    """The beginning of a day `YYYY-MM-DD` of the account; `BadRequest` for nonsense."""
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.min
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise BadRequest(f"“{text}” is no day: enter it as YYYY-MM-DD")
    return datetime.combine(day, time(), timezone.get_current_timezone())


def parse_time(text: str | None) -> datetime | None:
    """A day or a time of ISO 8601, by default in UTC; raises `BadRequest`."""
    if not text or "T" not in text:
        return parse_filter_day(text)
    try:
        at = parse_datetime(text)
    except ValueError:
        at = None
    if at is None or not FIRST_YEAR <= at.year <= LAST_YEAR:
        raise BadRequest(f"“{text}” is no time")
    return timezone.localtime(at.replace(tzinfo=at.tzinfo or UTC))


def get_last_day_of_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=31)).replace(day=1) - A_DAY


def is_midnight(at: datetime) -> bool:
    """Whether a day begins, in the time zone of `at`."""
    return at.time() == time()
