"""The URLs of lists with filters, which the dashboard and other pages link to."""

from urllib.parse import urlencode

from django.urls import reverse

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


def build_list_url(name: str, period: Period, **of: object) -> str:
    """The URL of a list of `LISTS` with what was created in a period; `of` are more
    filters."""
    model_name, filters = LISTS[name]
    return build_changelist_url(model_name, period, **of, **filters)


def build_changelist_url(model_name: str, period: Period | None = None, **filters) -> str:
    """The URL of a list with these filters, limited to the period."""
    if period is not None:
        filters |= {"from": period.first, "to": period.last}
    query = f"?{urlencode(filters)}" if filters else ""
    return reverse(f"admin:{model_name}_changelist") + query


def build_active_url(period: Period) -> str:
    """The affiliates with a click or a sale in the period."""
    return build_changelist_url(
        "tracking_affiliate", active_from=period.first, active_to=period.last
    )


def build_removed_url(period: Period) -> str:
    """The conversions removed in the period, whenever they were created."""
    return build_changelist_url(
        "tracking_conversion", removed_from=period.first, removed_to=period.last
    )
