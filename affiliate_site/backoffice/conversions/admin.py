"""The pages of customers, of conversions with explanations, and of commissions."""

from collections import defaultdict
from dataclasses import replace

from django.contrib import admin
from django.db.models import Q
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst

from affiliate_site.backoffice.actions import MAX_ROWS, AdminAction, run_admin_action
from affiliate_site.backoffice.affiliates.personal_data_pages import PERSONAL_DATA_PAGES
from affiliate_site.backoffice.base import (
    ReadOnlyBackOfficeAdmin,
    action,
    display,
)
from affiliate_site.backoffice.conversions.commission_details import (
    GOAL_MISSED_TEXT,
    get_commission_details,
)
from affiliate_site.backoffice.conversions.commission_pages import (
    COMMISSION_PAGES,
    ReasonForm,
    describe_pending_base,
)
from affiliate_site.backoffice.conversions.conversion_details import (
    format_warnings,
    get_conversion_details,
)
from affiliate_site.backoffice.conversions.conversion_pages import CONVERSION_PAGES
from affiliate_site.backoffice.conversions.customer_details import get_customer_details
from affiliate_site.backoffice.conversions.customer_pages import CUSTOMER_PAGES
from affiliate_site.backoffice.conversions.new_conversion_page import (
    TRACKING_SOURCE_TEXTS,
    AddConversionPage,
)
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    STATUS_COLORS,
    format_affiliate,
    format_labels,
    format_money,
)
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.exports import AmountSource
from affiliate_site.backoffice.lists.filters import (
    AffiliateFilter,
    AffiliateGroupFilter,
    CommissionProgramFilter,
    CommissionStatusFilter,
    CurrencyFilter,
    ProgramFilter,
)
from affiliate_site.backoffice.lists.search import (
    AffiliateSearchMixin,
    OrderSearchMixin,
)
from affiliate_site.backoffice.lists.state_filters import (
    DeletedFilter,
    GoalFilter,
    PaidFilter,
)
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from payouts.explanation import explain_initial_status
from payouts.models.commissions import (
    Commission,
    CommissionKind,
    CommissionStatus,
    is_final,
)
from payouts.services.commissions import (
    approve_commission,
    disapprove_commission,
    reopen_commission,
)
from payouts.services.previews import preview_status
from tracking.claims import (
    CONTESTED_CLAIM,
    CONTESTED_CUSTOMER,
    UNCONFIRMED_CUSTOMER,
    ClaimStatus,
)
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE

# Short names of the warnings in lists; all others are about odd options of a page.
WARNING_LABELS = {
    CUSTOMER_IS_AFFILIATE: "Customer is the affiliate",
    UNCONFIRMED_CUSTOMER: "Unconfirmed customer",
    CONTESTED_CLAIM: "Contested claim",
    CONTESTED_CUSTOMER: "Contested customer",
}
REMOVED = ("removed", "deleted_at", Q(deleted_at=None))


def get_conversion_text(external_id: str | None, pk: int | None) -> str:
    """What names a conversion: its external id, else its id."""
    return str(external_id or pk or EMPTY_VALUE)


@admin.register(Customer)
class CustomerAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Customers, their affiliates and a timeline of each."""

    list_display = (
        "public_id",
        "customer_id",
        "status_label",
        "affiliate",
        "program_title",
        "created_at",
    )
    export_columns = (
        "public_id",
        "customer_id",
        "status",
        "affiliate",
        "program",
        "created_at",
        "deleted_at",
    )
    list_filter = (
        "status",
        ProgramFilter,
        AffiliateFilter,
        AffiliateGroupFilter,
        DeletedFilter,
        DateFilter,
    )
    export_sources = {"affiliate": "affiliate__slug", "program": "program__slug"}
    search_fields = ("public_id__exact", "customer_id__exact", "email_folded__exact")
    search_help_text = "Search by customer ID, e-mail or affiliate"
    ordering = ("-created_at", "-id")
    row_pages = (*CUSTOMER_PAGES, *PERSONAL_DATA_PAGES)

    @display(description="Status", ordering="status", label=STATUS_COLORS)
    def status_label(self, customer):
        return "removed" if customer.deleted_at else customer.status

    def get_details(self, request, customer):
        return get_customer_details(customer)

    def get_queryset(self, request):
        relations = ("account", "affiliate", "program", "click")
        return super().get_queryset(request).select_related(*relations)


@admin.register(Conversion)
class ConversionAdmin(
    OrderSearchMixin, AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    """Conversions, with an explanation of attribution and commissions."""

    list_display_links = ("conversion_id", "external_id")
    list_display = (
        "conversion_id",
        "external_id",
        "formatted_amount",
        "status_labels",
        "person",
        "program_title",
        "shop_customer_id",
        "created_at",
    )
    export_columns = (
        "conversion_id",
        "external_id",
        "formatted_amount",
        "affiliate",
        "program",
        "customer",
        "shop_customer_id",
        "tracking_source",
        "created_at",
        "deleted_at",
    )
    list_select_related = ("affiliate", "program", "customer")
    list_filter = (
        CommissionStatusFilter,
        ProgramFilter,
        AffiliateFilter,
        AffiliateGroupFilter,
        CurrencyFilter,
        DeletedFilter,
        DateFilter,
    )
    export_sources = {
        "conversion_id": "pk",
        "formatted_amount": AmountSource(),
        "affiliate": "affiliate__slug",
        "program": "program__slug",
        "customer": "customer__public_id",
        "shop_customer_id": "customer__customer_id",
    }
    search_fields = (
        "pk__exact",
        "external_id__begins_with",
        "customer__customer_id__exact",
        "customer__email_folded__exact",
    )
    amount_column = "amount"
    left_out_of_sums = (REMOVED,)
    search_help_text = "Search by order ID, conversion ID, customer or affiliate"
    extra_lookups = (
        "affiliate_id",
        "deleted_at__gte",
        "deleted_at__lt",
        "tracking_source",
    )
    ordering = ("-created_at", "-id")
    add_page = AddConversionPage
    row_pages = CONVERSION_PAGES

    @display(description="Customer ID")
    def shop_customer_id(self, conversion):
        return conversion.customer.customer_id if conversion.customer else EMPTY_VALUE

    def prepare_rows(self, request, rows):
        """Look up the statuses of the commissions of all rows at once."""
        commissions = Commission.objects.not_deleted().filter(
            account__in={row.account_id for row in rows}, conversion__in=rows
        )
        statuses = defaultdict(list)
        for commission in commissions.only("conversion", "status", "payment"):
            statuses[commission.conversion_id].append(get_status_text(commission))
        for row in rows:
            row.statuses = sorted(set(statuses[row.pk]))

    @display(description="Status")
    def status_labels(self, conversion):
        """The statuses of its commissions, and what to check."""
        if conversion.deleted_at:
            return format_labels([("danger", "Removed")])
        labels = [(STATUS_COLORS[each], capfirst(each)) for each in conversion.statuses]
        return format_labels(dict.fromkeys([*labels, *list_review_labels(conversion)]))

    @display(description="Affiliate", ordering="affiliate")
    def person(self, conversion):
        return format_affiliate(conversion.affiliate)

    def get_object_title(self, row):
        return get_conversion_text(row.external_id, row.pk)

    def get_details(self, request, conversion):
        return get_conversion_details(request, conversion)

    @display(description="ID")
    def conversion_id(self, conversion):
        return conversion.pk

    @display(description="Amount", ordering="amount")
    def formatted_amount(self, conversion):
        return format_money(conversion.amount, conversion.currency)


@admin.register(Commission)
class CommissionAdmin(
    OrderSearchMixin, AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin
):
    """Commissions, approved and disapproved by actions."""

    list_display = (
        "commission_id",
        "person",
        "formatted_amount",
        "shown_status",
        "review_hints",
        "type",
        "conversion_link",
        "created_at",
    )
    export_columns = (
        "commission_id",
        "affiliate",
        "formatted_amount",
        "status_label",
        "kind",
        "name",
        "conversion_link",
        "payment",
        "created_at",
        "deleted_at",
    )
    list_select_related = ("affiliate", "payment", "conversion")
    list_filter = (
        "status",
        PaidFilter,
        "kind",
        GoalFilter,
        CommissionProgramFilter,
        AffiliateFilter,
        AffiliateGroupFilter,
        CurrencyFilter,
        DeletedFilter,
        DateFilter,
    )
    export_sources = {
        "commission_id": "pk",
        "affiliate": "affiliate__slug",
        "formatted_amount": AmountSource(),
        "status_label": "status",
        "conversion_link": (
            get_conversion_text,
            "conversion__external_id",
            "conversion_id",
        ),
        "payment": "payment__public_id",
    }
    search_fields = (
        "pk__exact",
        "affiliate__slug__exact",
        "conversion__external_id__begins_with",
    )
    search_help_text = "Search by order ID, commission ID or affiliate"
    amount_column = "amount"
    left_out_of_sums = (
        REMOVED,
        ("disapproved", "status", ~Q(status=CommissionStatus.DISAPPROVED)),
    )
    ordering = ("-created_at", "-id")
    row_pages = COMMISSION_PAGES
    actions = ("approve_selected", "disapprove_selected", "reopen_selected")

    def get_details(self, request, commission):
        return get_commission_details(request, commission)

    @display(description="ID")
    def commission_id(self, commission):
        return commission.pk

    @display(description="Amount", ordering="amount")
    def formatted_amount(self, commission):
        return format_money(commission.amount, commission.currency)

    @display(description="Affiliate", ordering="affiliate")
    def person(self, commission):
        return format_affiliate(commission.affiliate)

    @display(description="Status", ordering="status", label=STATUS_COLORS)
    def status_label(self, commission):
        return commission.status

    @display(description="Status", ordering="status", label=STATUS_COLORS)
    def shown_status(self, commission):
        """The status in the list, which also names paid and removed commissions."""
        if commission.deleted_at:
            return "removed"
        return "paid" if commission.payment_id else commission.status

    @display(description="To check")
    def review_hints(self, commission):
        """What may be wrong with the conversion or bonus, for staff who approve many
        at once."""
        conversion = commission.conversion
        if commission.goal_missed_at is not None:
            return format_labels([("danger", GOAL_MISSED_TEXT)])
        return format_labels(list_review_labels(conversion) if conversion else ())

    @display(description="Type", ordering="name")
    def type(self, commission):
        if commission.kind == CommissionKind.REGULAR:
            return commission.name
        return f"{commission.name} ({commission.get_kind_display().lower()})"

    @display(description="Conversion")
    def conversion_link(self, commission):
        conversion = commission.conversion
        if conversion is None:
            return EMPTY_VALUE
        url = reverse("admin:tracking_conversion_change", args=[conversion.pk])
        text = get_conversion_text(conversion.external_id, conversion.pk)
        return format_html('<a href="{}">{}</a>', url, text)

    def has_review_permission(self, request):
        return request.user.has_perm("payouts.change_commission")

    @action(description="Approve", permissions=["review"])
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

    @action(description="Disapprove", permissions=["review"])
    def disapprove_selected(self, request, rows):
        is_confirmed = "confirmed" in request.POST
        form = ReasonForm(request.POST if is_confirmed else None, account=None)
        return self._set_status(
            request,
            rows,
            AdminAction(
                "Disapprove commissions",
                perform=lambda row, at: disapprove_commission(
                    row.account,
                    commission_id=row.pk,
                    reason=form.cleaned_data["reason"],
                    confirmed=row,
                    at=at,
                ),
                form=form,
                undo_action="reopen_selected",
                undo_title="Undo: put back to pending",
            ),
            CommissionStatus.DISAPPROVED,
        )

    @action(description="Put back to pending", permissions=["review"])
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

    def _set_status(self, request, rows, admin_action, target_status):
        is_approval = target_status == CommissionStatus.APPROVED

        def get_skip_reason(row):
            if row.deleted_at:
                return "its conversion was removed"
            if is_approval and row.conversion and row.conversion.is_contested:
                return "two visitors claim its conversion: confirm a claim first"
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
            get_status=get_status_text,
            columns=(*COMMISSION_COLUMNS, *check_columns),
            get_balances=get_balances,
        )
        relations = ("conversion", "affiliate", "base_commission__affiliate")
        rows = rows.select_related(*relations)
        return run_admin_action(self, request, rows, admin_action)


def list_review_labels(conversion) -> list[tuple[str, str]]:
    """Colours and texts of labels for what staff should check before they approve."""
    labels = [
        ("danger", WARNING_LABELS.get(warning, "Odd option"))
        for warning in conversion.warnings or ()
    ]
    if conversion.claim_status == ClaimStatus.OPEN:
        labels.insert(0, ("warning", "Reported by a page"))
    return list(dict.fromkeys(labels))


def get_status_text(commission) -> str:
    """The status; `paid` for an approved commission that a payment covers."""
    return "paid" if commission.payment_id else commission.status


COMMISSION_COLUMNS = (
    ("Affiliate", lambda row: row.affiliate),
    ("Sale", lambda row: describe_sale(row)),
    ("Why", lambda row: describe_reason(row)),
    ("Status", get_status_text),
)


def describe_sale(commission) -> str:
    """Order ID and amount."""
    conversion = commission.conversion
    if conversion is None:
        return "bonus"
    amount = format_money(conversion.amount, conversion.currency)
    return f"{conversion.external_id or conversion}: {amount}"


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
