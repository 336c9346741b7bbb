"""Filters of the list of affiliates: segments, and what its statistics are of."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from accounts.models.accounts import Account
from accounts.tenant_admin import get_user
from affiliate_site.backoffice.lists.date_filters import find_active_period
from affiliate_site.backoffice.lists.filters import (
    CurrencyFilter,
    EnrolledProgramFilter,
    SelectFilter,
    load_choices,
)
from payouts.services.affiliate_activity import Segment, filter_segment
from payouts.statistics import Period, get_last_days

STATISTICS_DAYS = 30  # by default, including today
LONGER_DAYS = 90


class SegmentFilter(SelectFilter):
    """Affiliates of one segment; its periods are days of the account."""

    title = "segment"
    parameter_name = "segment"
    noun = "segment"

    def list_options(self):
        return Segment.choices if get_user(self.request).account else ()

    def filter_rows(self, queryset):
        account: Any = get_user(self.request).account
        return filter_segment(account, queryset, Segment(str(self.value())), at=timezone.now())


class DaysFilter(SelectFilter):
    """How many days the statistics are of; it leaves out no rows."""

    title = "statistics of"
    parameter_name = "days"
    noun = "number of days"
    empty_text = f"{STATISTICS_DAYS} days"

    def list_options(self):
        return [(f"{LONGER_DAYS}", f"{LONGER_DAYS} days")]


class AmountCurrencyFilter(CurrencyFilter):
    """The currency of the amounts that the list is sorted by; it leaves out no rows."""

    title = "sort amounts in"
    empty_text = "Currency of most sales"

    def filter_rows(self, queryset, currency):
        return queryset


def get_period(request, account: Account, *, at: datetime) -> Period:
    """The days of the statistics."""
    days = LONGER_DAYS if request.GET.get(DaysFilter.parameter_name) else STATISTICS_DAYS
    return find_active_period(request) or get_last_days(days, account.get_day(at))


def get_title_of_days(request) -> str:
    """What titles call the days of the statistics."""
    if period := find_active_period(request):
        return f"{period.first} to {period.last}"
    return f"{LONGER_DAYS if request.GET.get(DaysFilter.parameter_name) else STATISTICS_DAYS} days"


def find_program(request, account: Account) -> int | None:
    """The program of the statistics; None for all."""
    slug = request.GET.get(EnrolledProgramFilter.parameter_name)
    # The filter has read the programs of staff already; operators see those of others.
    choices = load_choices(request)["program"] if request.user.account_id else ()
    if found := [pk for key, pk, _ in choices if key == slug]:
        return found[0]
    return account.programs.filter(slug=slug).values_list("pk", flat=True).first() if slug else None
