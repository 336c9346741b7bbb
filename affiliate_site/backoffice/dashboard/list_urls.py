"""The URLs of lists with filters, which the dashboard and other pages link to."""

from urllib.parse import urlencode

from django.urls import reverse

from accounts.days import A_DAY
from payouts.statistics import Period

NOT_DELETED: dict[str, object] = {"deleted_at__isnull": True}
# The lists of what was created in a period, with their filters.
LISTS: dict[str, tuple[str, dict[str, object]]] = {
    "clicks": ("tracking_click", {}),
    "customers": ("tracking_customer", NOT_DELETED),
    "conversions": ("tracking_conversion", NOT_DELETED),
    "commissions": ("payouts_commission", NOT_DELETED),
    "pending": ("payouts_commission", NOT_DELETED | {"status__exact": "pending"}),
    "approved": ("payouts_commission", NOT_DELETED | {"status__exact": "approved"}),
    "payments": ("payouts_payment", {"canceled_at__isnull": True}),
}


def build_list_url(name: str, period: Period) -> str:
    """The URL of a list of `LISTS` with what was created in a period."""
    model_name, filters = LISTS[name]
    return build_changelist_url(model_name, period, **filters)


def build_changelist_url(
    model_name: str, period: Period | None = None, **filters
) -> str:
    """The URL of a list with these filters, limited to the period."""
    if period is not None:
        filters["created_at__gte"], filters["created_at__lt"] = format_bounds(period)
    query = f"?{urlencode(filters)}" if filters else ""
    return reverse(f"admin:{model_name}_changelist") + query


def build_removed_url(period: Period) -> str:
    """The conversions removed in the period, whenever they were created."""
    first, end = format_bounds(period)
    return build_changelist_url(
        "tracking_conversion", deleted_at__gte=first, deleted_at__lt=end
    )


def format_bounds(period: Period) -> tuple[str, str]:
    """The first moment of a period, and the first one after it."""
    return f"{period.first}T00:00:00Z", f"{period.last + A_DAY}T00:00:00Z"
