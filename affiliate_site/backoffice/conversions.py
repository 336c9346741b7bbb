"""The pages of customers, of conversions with explanations, and of commissions."""

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from affiliate_site.backoffice.actions import AdminAction, run_admin_action
from affiliate_site.backoffice.base import (
    ReadOnlyBackOfficeAdmin,
    action,
    display,
)
from affiliate_site.backoffice.conversion_pages import (
    COMMISSION_PAGES,
    CONVERSION_PAGES,
    AddConversionPage,
)
from affiliate_site.backoffice.customer_timeline import list_timeline_entries
from affiliate_site.backoffice.form_pages import FormPagesMixin
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    STATUS_COLORS,
    cached_per_request,
    format_key_values,
    format_money,
)
from payouts.explanation import render_explanation, render_verification
from payouts.models.commissions import Commission, CommissionStatus
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.explanation import explain_conversion
from tracking.claims import (
    CONTESTED_CLAIM,
    CONTESTED_CUSTOMER,
    UNCONFIRMED_CUSTOMER,
    ClaimStatus,
)
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE

CLAIM_STATUS_TEXTS = {
    None: "confirmed: an API key, a signature or staff",
    ClaimStatus.OPEN: "a page, not confirmed yet",
    ClaimStatus.REVIEWED: "a page, decided by staff or an API key",
}

WARNING_TEXTS = {
    CUSTOMER_IS_AFFILIATE: "The customer ID is the affiliate's e-mail address.",
    UNCONFIRMED_CUSTOMER: "Only a page has named the customer so far.",
    CONTESTED_CLAIM: "Two visitors claim this conversion.",
    CONTESTED_CUSTOMER: "Pages have named this customer for different affiliates.",
    "odd_comment": "The page sent a comment that is not text; it was dropped.",
    "odd_commission_type": (
        "The page sent an unknown commission type; the default one was used."
    ),
    "odd_commissions": (
        "The page sent an empty list of commissions; the amount was used."
    ),
    "odd_coupons": "The page sent coupons that are not text; they were ignored.",
    "odd_external_id": (
        "The order ID contains characters that cannot be seen: compare it by search."
    ),
    "odd_customer_id": "The page sent an invalid customer ID; it was ignored.",
    "odd_meta_data": "The page sent metadata that cannot be stored; it was dropped.",
    "odd_program_group": "The page sent an unknown program group; it was ignored.",
    "odd_vid": "The page sent an invalid tracking ID; it was ignored.",
}


@admin.register(Customer)
class CustomerAdmin(ReadOnlyBackOfficeAdmin):
    """Customers, their affiliates and a timeline of each."""

    list_display = (
        "public_id",
        "customer_id",
        "status",
        "affiliate",
        "program",
        "created_at",
        "deleted_at",
    )
    list_filter = ("status",)
    search_fields = ("public_id__exact", "customer_id__exact")
    search_help_text = "Search by ID (cu_…) or customer ID"
    extra_lookups = ("deleted_at__isnull",)
    ordering = ("-created_at", "-id")
    fields = (
        "public_id",
        "customer_id",
        "status",
        "is_confirmed",
        "timeline",
        "affiliate",
        "program",
        "click",
        "risk_indicators",
        "formatted_meta_data",
        "ip",
        "user_agent",
        "created_at",
        "deleted_at",
    )
    readonly_fields = ("timeline", "risk_indicators", "formatted_meta_data")

    @display(description="Risk indicators")
    def risk_indicators(self, customer):
        return format_warnings(customer.warnings)

    @display(description="Metadata")
    def formatted_meta_data(self, customer):
        return format_key_values(customer.meta_data)

    def get_queryset(self, request):
        relations = ("account", "affiliate", "program", "click")
        return super().get_queryset(request).select_related(*relations)

    @cached_per_request
    def timeline(self, customer):
        """The click, status changes, conversions and commissions, oldest first."""
        return render_lines(
            format_html("{} {}", f"{entry.at:%Y-%m-%d %H:%M:%S} UTC", entry.html)
            for entry in list_timeline_entries(customer)
        )


@admin.register(Conversion)
class ConversionAdmin(FormPagesMixin, ReadOnlyBackOfficeAdmin):
    """Conversions, with an explanation of attribution and commissions."""

    list_display = (
        "conversion_id",
        "external_id",
        "formatted_amount",
        "affiliate",
        "program",
        "customer",
        "tracking_source",
        "created_at",
        "deleted_at",
    )
    list_select_related = ("affiliate", "program", "customer")
    search_fields = ("external_id__exact", "customer__customer_id__exact")
    search_help_text = "Search by external ID or customer ID"
    extra_lookups = ("deleted_at__isnull",)
    ordering = ("-created_at", "-id")
    fields = (
        "formatted_amount",
        "explanation",
        "external_id",
        "affiliate",
        "program",
        "customer",
        "click",
        "tracking_source",
        "reported_by",
        "risk_indicators",
        "formatted_meta_data",
        "ip",
        "user_agent",
        "created_at",
        "deleted_at",
    )
    add_page = AddConversionPage
    row_pages = CONVERSION_PAGES
    readonly_fields = (
        "formatted_amount",
        "explanation",
        "reported_by",
        "risk_indicators",
        "formatted_meta_data",
    )

    @display(description="Reported by")
    def reported_by(self, conversion):
        """A page's word, until a key, staff or a signature confirms it."""
        return CLAIM_STATUS_TEXTS[conversion.claim_status]

    @display(description="Risk indicators")
    def risk_indicators(self, conversion):
        """The warnings, with the claims of a contested conversion."""
        text = format_warnings(conversion.warnings)
        if not conversion.is_contested:
            return text
        url = reverse("admin:tracking_conversionclaim_changelist")
        link = f"{url}?conversion_id={conversion.pk}"
        return format_html('{} (<a href="{}">compare the claims</a>)', text, link)

    @display(description="ID")
    def conversion_id(self, conversion):
        return conversion.pk

    @display(description="Amount")
    def formatted_amount(self, conversion):
        return format_money(conversion.amount, conversion.currency)

    @display(description="Why this commission")
    @cached_per_request
    def explanation(self, conversion):
        found = explain_conversion(conversion.account, conversion_id=conversion.pk)
        return render_lines([*render_explanation(found), *render_verification(found)])

    @display(description="Metadata")
    def formatted_meta_data(self, conversion):
        return format_key_values(conversion.meta_data)


@admin.register(Commission)
class CommissionAdmin(FormPagesMixin, ReadOnlyBackOfficeAdmin):
    """Commissions, approved and disapproved by actions."""

    list_display = (
        "commission_id",
        "affiliate",
        "formatted_amount",
        "status_label",
        "kind",
        "name",
        "conversion_link",
        "payment",
        "created_at",
    )
    list_select_related = ("affiliate", "payment", "conversion")
    list_filter = ("status", "kind")
    search_fields = ("affiliate__slug__exact", "conversion__external_id__exact")
    search_help_text = "Search by affiliate ID or external ID"
    extra_lookups = ("deleted_at__isnull",)
    ordering = ("-created_at", "-id")
    exclude = ("calculation", "amount", "sub_amount", "status", "comment")
    readonly_fields = (
        "formatted_amount",
        "formatted_sub_amount",
        "status_label",
        "formatted_comment",
    )
    row_pages = COMMISSION_PAGES
    actions = ("approve_selected", "disapprove_selected")

    @display(description="ID")
    def commission_id(self, commission):
        return commission.pk

    @display(description="Amount")
    def formatted_amount(self, commission):
        return format_money(commission.amount, commission.currency)

    @display(description="Line item amount")
    def formatted_sub_amount(self, commission):
        return format_money(commission.sub_amount, commission.currency)

    @display(description="Comment")
    def formatted_comment(self, commission):
        """The comment; that of a page must not look like one of staff."""
        conversion, comment = commission.conversion, commission.comment
        if comment and conversion and conversion.claim_status == ClaimStatus.OPEN:
            return f"A page sent: {comment}"
        return comment or EMPTY_VALUE

    @display(description="Status", ordering="status", label=STATUS_COLORS)
    def status_label(self, commission):
        return commission.status

    @display(description="Conversion")
    def conversion_link(self, commission):
        conversion = commission.conversion
        if conversion is None:
            return EMPTY_VALUE
        url = reverse("admin:tracking_conversion_change", args=[conversion.pk])
        text = conversion.external_id or conversion.pk
        return format_html('<a href="{}">{}</a>', url, text)

    def has_review_permission(self, request):
        return request.user.has_perm("payouts.change_commission")

    @action(description="Approve", permissions=["review"])
    def approve_selected(self, request, rows):
        return self._set_status(
            request,
            rows,
            "Approve commissions",
            approve_commission,
            CommissionStatus.APPROVED,
        )

    @action(description="Disapprove", permissions=["review"])
    def disapprove_selected(self, request, rows):
        title = "Disapprove commissions"
        return self._set_status(
            request, rows, title, disapprove_commission, CommissionStatus.DISAPPROVED
        )

    def _set_status(self, request, rows, title, set_status, target_status):
        is_approval = target_status == CommissionStatus.APPROVED

        def get_skip_reason(row):
            if row.deleted_at:
                return "its conversion was deleted"
            if is_approval and row.conversion and row.conversion.is_contested:
                return "two visitors claim its conversion: confirm a claim first"
            return f"already {target_status}" if row.status == target_status else ""

        admin_action = AdminAction(
            title,
            perform=lambda row, at: set_status(
                row.account, commission_id=row.pk, at=at
            ),
            skip_reason=get_skip_reason,
            amount_field="amount",
        )
        rows = rows.select_related("conversion")
        return run_admin_action(self, request, rows, admin_action)


def format_warnings(warnings) -> str:
    """The warnings of a row in words."""
    texts = [WARNING_TEXTS.get(warning, warning) for warning in warnings or ()]
    return " ".join(texts) or EMPTY_VALUE


def render_lines(texts) -> str:
    """Lines of text, each in a block of its own."""
    return format_html_join(
        "", '<div class="backoffice-lines">{}</div>', ((text,) for text in texts)
    )
