"""The page of commissions."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.bulk_pages import build_actions
from affiliate_site.backoffice.conversions.admin import REMOVED_ROWS, get_conversion_text
from affiliate_site.backoffice.conversions.commission_details import (
    GOAL_MISSED,
    get_commission_details,
)
from affiliate_site.backoffice.conversions.commission_pages import EditCommissionPage
from affiliate_site.backoffice.conversions.decision_pages import (
    ApproveCommissionPage,
    DisapproveCommissionPage,
    ReleaseCommissionPage,
    ReopenCommissionPage,
)
from affiliate_site.backoffice.conversions.reviews import (
    CommissionReviewFilter,
    list_review_labels,
)
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_datetime,
    format_labels,
)
from affiliate_site.backoffice.lists.columns import AMOUNT, DELETED_AT, PERSON, build_status_column
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.exports import MOMENT_TITLE
from affiliate_site.backoffice.lists.filters import (
    AffiliateFilter,
    AffiliateGroupFilter,
    CommissionProgramFilter,
    CurrencyFilter,
)
from affiliate_site.backoffice.lists.search import (
    AffiliateSearchMixin,
    OrderSearchMixin,
)
from affiliate_site.backoffice.lists.state_filters import (
    DeletedFilter,
    GoalFilter,
    OnHoldFilter,
    PaidFilter,
)
from affiliate_site.backoffice.navigation import ListAction, MenuEntry
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from affiliate_site.backoffice.payouts.payout_texts import get_commission_status, load_line_states
from affiliate_site.backoffice.theme import NOT_REMOVED, TO_CHECK
from affiliate_site.columns import Column
from payouts.models.commissions import Commission, CommissionKind, CommissionStatus
from payouts.services.payables import is_early, is_on_hold


def link_to_conversion(commission) -> str:
    """A link named after the order; bonuses have none."""
    conversion = commission.conversion
    if conversion is None:
        return EMPTY_VALUE
    url = reverse("admin:tracking_conversion_change", args=[conversion.pk])
    text = get_conversion_text(conversion.external_id, conversion.pk)
    return format_html('<a href="{}">{}</a>', url, text)


def format_in_two_lines(moment) -> str:
    """The day, and the time that may be below it, neither of them broken."""
    day, time = format_datetime(moment).split(" ", 1)
    line = '<span class="backoffice-nowrap">{}</span>'
    return format_html(f"{line} {line}", day, time)


def choose_program(of_conversion: str | None, of_bonus: str | None) -> str:
    """The ID of the program whose sale or bonus it is."""
    return of_conversion or of_bonus or ""


UNDER_REVIEW = "Under review"
HOLD_COLUMNS = ("due_at", "deleted_at", "payment_id", "status")


def get_end_of_hold(due_at: datetime | None, *columns: Any) -> datetime | None:
    """When the commission with these columns is due; None if it is or cannot be."""
    now = timezone.now()
    if due_at is None or due_at <= now:
        return None
    values = dict(zip(HOLD_COLUMNS, (due_at, *columns), strict=True))
    return due_at if is_early(Commission(**values), at=now) else None


def format_hold(commission, *, at: datetime) -> str:
    """Until when it is on hold, or that a risk case holds it."""
    if not is_on_hold(commission, at=at):
        return EMPTY_VALUE
    if commission.is_under_review:
        return UNDER_REVIEW
    return format_in_two_lines(commission.due_at)


def name_commission_type(commission) -> str:
    """The title of its type, with its kind unless it is regular."""
    if commission.kind == CommissionKind.REGULAR:
        return commission.name
    return f"{commission.name} ({commission.get_kind_display().lower()})"


def label_commission(commission) -> str:
    """What may be wrong with the conversion or bonus, for staff who approve many."""
    conversion = commission.conversion
    if commission.goal_missed_at is not None:
        return format_labels([GOAL_MISSED])
    return format_labels(list_review_labels(conversion) if conversion else ())


@admin.register(Commission)
class CommissionAdmin(
    OrderSearchMixin, AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    menu = (
        MenuEntry("Tracking", 50, "percent", is_daily=True),
        MenuEntry(
            "Tracking",
            60,
            "rule",
            "To check",
            query=TO_CHECK,
            badge="to_check",
            is_daily=True,
            parameter="to_check",
        ),
    )
    tabs = {
        "All": "",
        "Pending": f"status__exact=pending&{NOT_REMOVED}",
        "To check": TO_CHECK,
        "Approved": f"status__exact=approved&{NOT_REMOVED}",
        "Disapproved": f"status__exact=disapproved&{NOT_REMOVED}",
    }
    list_actions = (
        ListAction(10, "Approve commissions", "status__exact=pending&deleted_at__isnull=True"),
    )
    empty_state = "No commissions yet. They are created with the first conversion of an affiliate."
    columns = (
        Column("ID", lambda row: row.pk, name="commission_id", export="pk"),
        PERSON,
        AMOUNT,
        build_status_column(
            get_commission_status,
            name="shown_status",
            load=load_line_states,
            order="status",
            export="status",
        ),
        Column(
            "On hold until",
            lambda row: format_hold(row, at=timezone.now()),
            name="held_until",
            is_exported=False,
        ),
        Column(
            "To check",
            label_commission,
            name="review_hints",
            select=("conversion",),
            order="conversion__warnings",
            is_exported=False,
        ),
        Column("Type", name_commission_type, order="name", is_exported=False),
        Column(name="kind", is_listed=False),
        Column(name="name", is_listed=False),
        Column(
            "Conversion",
            link_to_conversion,
            name="conversion_link",
            select=("conversion",),
            export=(get_conversion_text, "conversion__external_id", "conversion_id"),
        ),
        Column(name="payment", export="payment__public_id", is_listed=False),
        "created_at",
        DELETED_AT,
        Column(
            "Program",
            export=(
                choose_program,
                "conversion__program__slug",
                "bonus__program__slug",
            ),
            is_listed=False,
        ),
        Column(
            MOMENT_TITLE.format(title="On hold until"),
            export=(get_end_of_hold, *HOLD_COLUMNS),
            is_listed=False,
        ),
    )
    list_filter = (
        "status",
        PaidFilter,
        OnHoldFilter,
        "kind",
        CommissionReviewFilter,
        GoalFilter,
        CommissionProgramFilter,
        AffiliateFilter,
        AffiliateGroupFilter,
        CurrencyFilter,
        DeletedFilter,
        DateFilter,
    )
    search_fields = (
        "pk__exact",
        "affiliate__slug__exact",
        "conversion__external_id__exact",
    )
    search_help_text = "Search by order ID, commission ID or affiliate"
    amount_column = "amount"
    left_out_of_sums = (
        REMOVED_ROWS,
        ("disapproved", "status", ~Q(status=CommissionStatus.DISAPPROVED)),
    )
    ordering = ("-created_at", "-id")
    row_pages = (
        ApproveCommissionPage,
        DisapproveCommissionPage,
        ReopenCommissionPage,
        EditCommissionPage,
        ReleaseCommissionPage,
    )
    actions = build_actions(*row_pages)
    details = staticmethod(get_commission_details)
