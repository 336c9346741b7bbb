"""The pages of customers, of conversions with explanations, and of commissions."""

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from affiliate_site.backoffice.actions import AdminAction, run_admin_action
from affiliate_site.backoffice.base import (
    ReadOnlyBackOfficeAdmin,
    action,
    display,
)
from affiliate_site.backoffice.customer_timeline import list_timeline_entries
from affiliate_site.backoffice.filters import (
    AffiliateFilter,
    CommissionProgramFilter,
    CurrencyFilter,
    DateFilter,
    DeletedFilter,
    ProgramFilter,
)
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    STATUS_COLORS,
    cached_per_request,
    format_datetime,
    format_key_values,
    format_labels,
    format_money,
)
from affiliate_site.backoffice.search import AffiliateSearchMixin
from payouts.explanation import (
    WARNING_TEXTS,
    render_explanation,
    render_verification,
)
from payouts.models.commissions import Commission, CommissionKind, CommissionStatus
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.explanation import explain_conversion
from payouts.services.payables import find_negative_balances
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

# Short names of the warnings in lists; all others are about odd options of a page.
WARNING_LABELS = {
    CUSTOMER_IS_AFFILIATE: "Customer is the affiliate",
    UNCONFIRMED_CUSTOMER: "Unconfirmed customer",
    CONTESTED_CLAIM: "Contested claim",
    CONTESTED_CUSTOMER: "Contested customer",
}


def get_conversion_text(external_id: str | None, pk: int | None) -> str:
    """What names a conversion: its external id, else its id."""
    return str(external_id or pk or EMPTY_VALUE)


@admin.register(Customer)
class CustomerAdmin(AffiliateSearchMixin, ReadOnlyBackOfficeAdmin):
    """Customers, their affiliates and a timeline of each."""

    list_display = (
        "public_id",
        "customer_id",
        "status_label",
        "affiliate",
        "program",
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
    list_filter = ("status", ProgramFilter, AffiliateFilter, DeletedFilter, DateFilter)
    export_sources = {"affiliate": "affiliate__slug", "program": "program__slug"}
    search_fields = ("public_id__exact", "customer_id__exact", "email_folded__exact")
    search_help_text = "Search by customer ID, e-mail or affiliate"
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

    @display(description="Status", ordering="status", label=STATUS_COLORS)
    def status_label(self, customer):
        return "removed" if customer.deleted_at else customer.status

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
            format_html(
                "{} {}", format_datetime(entry.at, timespec="seconds"), entry.html
            )
            for entry in list_timeline_entries(customer)
        )


@admin.register(Conversion)
class ConversionAdmin(AffiliateSearchMixin, ReadOnlyBackOfficeAdmin):
    """Conversions, with an explanation of attribution and commissions."""

    list_display = (
        "conversion_id",
        "external_id",
        "formatted_amount",
        "review_hints",
        "affiliate",
        "program",
        "shop_customer",
        "created_at",
    )
    export_columns = (
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
    list_filter = (
        ProgramFilter,
        AffiliateFilter,
        CurrencyFilter,
        DeletedFilter,
        DateFilter,
    )
    export_sources = {
        "conversion_id": "pk",
        "formatted_amount": (format_money, "amount", "currency"),
        "affiliate": "affiliate__slug",
        "program": "program__slug",
        "customer": "customer__public_id",
    }
    search_fields = (
        "external_id__begins_with",
        "customer__customer_id__exact",
        "customer__email_folded__exact",
    )
    amount_column = "amount"
    search_help_text = "Search by order ID, customer or affiliate"
    extra_lookups = ("affiliate_id", "deleted_at__gte", "deleted_at__lt")
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
    readonly_fields = (
        "formatted_amount",
        "explanation",
        "reported_by",
        "risk_indicators",
        "formatted_meta_data",
    )

    @display(description="Customer")
    def shop_customer(self, conversion):
        return conversion.customer.customer_id if conversion.customer else EMPTY_VALUE

    @display(description="To check")
    def review_hints(self, conversion):
        if conversion.deleted_at:
            return format_labels([("danger", "Removed")])
        return format_review_hints(conversion)

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

    @display(description="Amount", ordering="amount")
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
class CommissionAdmin(AffiliateSearchMixin, ReadOnlyBackOfficeAdmin):
    """Commissions, approved and disapproved by actions."""

    list_display = (
        "commission_id",
        "affiliate",
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
    )
    list_select_related = ("affiliate", "payment", "conversion")
    list_filter = (
        "status",
        "kind",
        CommissionProgramFilter,
        AffiliateFilter,
        CurrencyFilter,
        DeletedFilter,
        DateFilter,
    )
    export_sources = {
        "commission_id": "pk",
        "affiliate": "affiliate__slug",
        "formatted_amount": (format_money, "amount", "currency"),
        "status_label": "status",
        "conversion_link": (
            get_conversion_text,
            "conversion__external_id",
            "conversion_id",
        ),
        "payment": "payment__public_id",
    }
    search_fields = ("affiliate__slug__exact", "conversion__external_id__begins_with")
    search_help_text = "Search by affiliate or order ID"
    amount_column = "amount"
    ordering = ("-created_at", "-id")
    exclude = ("calculation", "amount", "sub_amount", "status", "comment")
    readonly_fields = (
        "formatted_amount",
        "formatted_sub_amount",
        "status_label",
        "formatted_comment",
    )
    actions = ("approve_selected", "disapprove_selected")

    @display(description="ID")
    def commission_id(self, commission):
        return commission.pk

    @display(description="Amount", ordering="amount")
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

    @display(description="Status", ordering="status", label=STATUS_COLORS)
    def shown_status(self, commission):
        """The status in the list, which also names paid and removed commissions."""
        if commission.deleted_at:
            return "removed"
        return "paid" if commission.payment_id else commission.status

    @display(description="To check")
    def review_hints(self, commission):
        """What may be wrong with the conversion, for staff who approve many at once."""
        conversion = commission.conversion
        return format_review_hints(conversion) if conversion else EMPTY_VALUE

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
            list_consequences=lambda rows: [] if is_approval else list_debts(rows),
        )
        rows = rows.select_related("conversion", "affiliate")
        return run_admin_action(self, request, rows, admin_action)


def format_review_hints(conversion) -> SafeString:
    """Labels for what staff should check before they approve."""
    labels = [
        ("danger", WARNING_LABELS.get(warning, "Odd option"))
        for warning in conversion.warnings or ()
    ]
    if conversion.claim_status == ClaimStatus.OPEN:
        labels.insert(0, ("warning", "Reported by a page"))
    return format_labels(dict.fromkeys(labels))


def list_debts(rows) -> list[str]:
    """Say whose balance becomes negative if these commissions are disapproved."""
    return [
        f"{affiliate} was already paid: the balance becomes"
        f" {format_money(balance, currency)}, which later commissions make up for."
        for account in {row.account for row in rows}
        for affiliate, currency, balance in find_negative_balances(
            account, [row for row in rows if row.account == account]
        )
    ]


def format_warnings(warnings) -> str:
    """The warnings of a row in words."""
    texts = [WARNING_TEXTS.get(warning, warning) for warning in warnings or ()]
    return " ".join(texts) or EMPTY_VALUE


def render_lines(texts) -> str:
    """Lines of text, each in a block of its own."""
    return format_html_join(
        "", '<div class="backoffice-lines">{}</div>', ((text,) for text in texts)
    )
