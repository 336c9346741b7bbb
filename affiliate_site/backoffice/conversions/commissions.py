"""The page of commissions, and the actions that decide them."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from affiliate_site.backoffice.actions import (
    MAX_ROWS,
    AdminAction,
    bind_form,
    run_admin_action,
)
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, action
from affiliate_site.backoffice.conversions.admin import (
    REMOVED,
    add_answers,
    get_conversion_text,
)
from affiliate_site.backoffice.conversions.commission_details import (
    GOAL_MISSED_TEXT,
    get_commission_details,
)
from affiliate_site.backoffice.conversions.commission_pages import (
    COMMISSION_PAGES,
    ReasonForm,
    ReleaseCommissionPage,
    ReleaseForm,
    describe_pending_base,
)
from affiliate_site.backoffice.conversions.conversion_details import format_warnings
from affiliate_site.backoffice.conversions.new_conversion_page import (
    TRACKING_SOURCE_TEXTS,
)
from affiliate_site.backoffice.conversions.reviews import (
    CommissionReviewFilter,
    list_review_labels,
)
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_datetime,
    format_labels,
    format_money,
    format_status,
    keep_amounts_together,
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
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from affiliate_site.backoffice.payouts.due_texts import describe_due
from affiliate_site.backoffice.payouts.payout_texts import get_status_text, load_line_states
from affiliate_site.backoffice.theme import NOT_REMOVED, TO_CHECK
from affiliate_site.columns import Column
from payouts.explanation import explain_initial_status
from payouts.models.commissions import (
    Commission,
    CommissionKind,
    CommissionStatus,
    is_final,
)
from payouts.models.runs import PayoutLineState
from payouts.services.amounts_due import is_on_hold
from payouts.services.commissions import (
    approve_commission,
    disapprove_commission,
    reopen_commission,
)
from payouts.services.holds import release_commission
from payouts.services.previews import preview_status


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


HOLD_COLUMNS = ("due_at", "deleted_at", "payment_id", "status")


def get_end_of_hold(due_at: datetime | None, *columns: Any) -> datetime | None:
    """When the commission with these columns is due; None if it is or cannot be."""
    now = timezone.now()
    if due_at is None or due_at <= now:
        return None
    values = dict(zip(HOLD_COLUMNS, (due_at, *columns), strict=True))
    return due_at if is_on_hold(Commission(**values), at=now) else None


def name_commission_type(commission) -> str:
    """The title of its type, with its kind unless it is regular."""
    if commission.kind == CommissionKind.REGULAR:
        return commission.name
    return f"{commission.name} ({commission.get_kind_display().lower()})"


def label_commission(commission) -> str:
    """What may be wrong with the conversion or bonus, for staff who approve many."""
    conversion = commission.conversion
    if commission.goal_missed_at is not None:
        return format_labels([("danger", GOAL_MISSED_TEXT)])
    return format_labels(list_review_labels(conversion) if conversion else ())


@admin.register(Commission)
class CommissionAdmin(
    OrderSearchMixin, AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    menu = (
        MenuEntry("Tracking", 50, "percent"),
        MenuEntry(
            "Tracking",
            60,
            "rule",
            "To check",
            query=TO_CHECK,
            badge="to_check",
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
    empty_state = "No commissions yet. They are created with the first conversion of an affiliate."
    columns = (
        Column("ID", lambda row: row.pk, name="commission_id", export="pk"),
        PERSON,
        AMOUNT,
        build_status_column(
            get_status_text,
            name="shown_status",
            load=load_line_states,
            order="status",
            export="status",
        ),
        Column(
            "On hold until",
            lambda row: (
                format_in_two_lines(row.due_at)
                if is_on_hold(row, at=timezone.now())
                else EMPTY_VALUE
            ),
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
        REMOVED,
        ("disapproved", "status", ~Q(status=CommissionStatus.DISAPPROVED)),
    )
    ordering = ("-created_at", "-id")
    row_pages = COMMISSION_PAGES
    actions = (
        *("approve_selected", "disapprove_selected", "reopen_selected"),
        "release_selected",
    )
    manage_permission = "payouts.change_commission"
    details = staticmethod(get_commission_details)

    @action(description="Approve", permissions=["manage"])
    def approve_selected(self, request, rows):
        return self._set_status(
            request,
            rows,
            AdminAction(
                "Approve commissions",
                perform=lambda row, at: approve_commission(
                    row.account, commission_id=row.pk, confirmed=row, at=at
                ),
                undo_action="reopen_selected",
                undo_title="Undo: put back to pending",
                can_undo=lambda row: not is_final(row.status, row.account),
            ),
            CommissionStatus.APPROVED,
        )

    @action(description="Disapprove", permissions=["manage"])
    def disapprove_selected(self, request, rows):
        form, values = bind_form(ReasonForm, request)
        return self._set_status(
            request,
            rows,
            AdminAction(
                "Disapprove commissions",
                is_dangerous=True,
                perform=lambda row, at: disapprove_commission(
                    row.account,
                    commission_id=row.pk,
                    reason=values["reason"],
                    confirmed=row,
                    at=at,
                ),
                form=form,
                undo_action="reopen_selected",
                undo_title="Undo: put back to pending",
            ),
            CommissionStatus.DISAPPROVED,
        )

    @action(description="Put back to pending", permissions=["manage"])
    def reopen_selected(self, request, rows):
        return self._set_status(
            request,
            rows,
            AdminAction(
                "Put back to pending",
                perform=lambda row, at: reopen_commission(
                    row.account, commission_id=row.pk, confirmed=row, at=at
                ),
            ),
            CommissionStatus.PENDING,
        )

    @action(description="Release now", permissions=["manage"])
    def release_selected(self, request, rows):
        at = timezone.now()
        form, values = bind_form(ReleaseForm, request)
        admin_action = AdminAction(
            "Release commissions",
            perform=lambda row, at: release_commission(
                row.account,
                commission_id=row.pk,
                reason=values["reason"],
                at=at,
            ),
            skip_reason=lambda row: "" if is_on_hold(row, at=at) else "not on hold",
            amount_field="amount",
            get_status=get_answered_status,
            columns=(
                *COMMISSION_COLUMNS,
                ("Due", lambda row: describe_due(row, at=at)),
            ),
            explanation=ReleaseCommissionPage.explanation,
            form=form,
        )
        rows = add_answers(rows.select_related("conversion", "affiliate"))
        return run_admin_action(self, request, rows, admin_action)

    def _set_status(self, request, rows, admin_action, target_status):
        is_approval = target_status == CommissionStatus.APPROVED

        def get_skip_reason(row):
            if row.deleted_at:
                return "its conversion was removed"
            if is_approval and (obstacle := describe_obstacle(row.conversion)):
                return obstacle
            if row.status == target_status:
                return f"already {target_status}"
            if is_final(row.status, row.account):
                return "an approved commission is final"
            return ""

        def get_balances(included):
            return [
                effect
                for account in {row.account for row in included}
                for effect in preview_status(
                    account,
                    [row for row in included if row.account == account],
                    target_status,
                )
            ]

        selected = set(rows.values_list("pk", flat=True)[:MAX_ROWS])

        def get_check(row):
            is_base_selected = row.base_commission_id in selected
            return "" if is_base_selected else describe_pending_base(row)

        check_columns = (("To check", get_check),) if is_approval else ()
        admin_action = replace(
            admin_action,
            skip_reason=get_skip_reason,
            amount_field="amount",
            get_status=get_answered_status,
            columns=(*COMMISSION_COLUMNS, *check_columns),
            get_balances=get_balances,
        )
        relations = ("conversion", "affiliate", "base_commission__affiliate")
        rows = add_answers(rows.select_related(*relations))
        return run_admin_action(self, request, rows, admin_action)


COMMISSION_COLUMNS = (
    ("Affiliate", lambda row: row.affiliate),
    ("Sale", lambda row: describe_sale(row)),
    ("Why", lambda row: capfirst(describe_reason(row))),
    ("Status", lambda row: format_status(get_answered_status(row))),
)


def get_answered_status(row) -> str:
    """As `get_status_text`, of rows of `add_answers`."""
    is_unanswered = row.payment_id is not None and row.is_unanswered
    return get_status_text(row, PayoutLineState.UNKNOWN if is_unanswered else None)


def describe_obstacle(conversion) -> str:
    """Why nobody can approve what a sale earns; empty if everybody can."""
    if conversion is not None and conversion.is_contested:
        return "two visitors claim its conversion: confirm a claim first"
    if conversion is not None and conversion.disputed_at is not None:
        return "its sale is disputed: wait until the dispute ends"
    return ""


def describe_sale(commission) -> str:
    """Order ID and amount."""
    conversion = commission.conversion
    if conversion is None:
        return "Bonus"
    amount = format_money(conversion.amount, conversion.currency)
    return keep_amounts_together(f"{conversion.external_id or conversion}: {amount}")


def describe_reason(commission) -> str:
    """Why it began as it did, how the sale was attributed, and what looks odd."""
    conversion = commission.conversion
    parts = [explain_initial_status(commission)]
    if conversion is not None:
        source = conversion.tracking_source
        parts.append(f"by {TRACKING_SOURCE_TEXTS.get(source, source)}")
        parts.append(format_warnings(conversion.warnings))
    if commission.goal_missed_at is not None:
        parts.append(GOAL_MISSED_TEXT)
    return "; ".join(filter(None, parts))
