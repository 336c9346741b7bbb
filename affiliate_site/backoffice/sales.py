"""Sales: customers, conversions with their explanation, commissions to decide."""

from django.urls import reverse
from django.utils.html import format_html, format_html_join

from affiliate_site.backoffice.actions import Deed, carry_out
from affiliate_site.backoffice.cells import NOTHING, money, pairs, worked_out_once
from affiliate_site.backoffice.seam import ReadOnlyPage, action, display, register
from affiliate_site.backoffice.timeline import timeline_of
from payouts.models.commissions import Commission, Status
from payouts.services.commissions import approve, disapprove
from payouts.services.explaining import explain
from payouts.telling import proof_of, story_of
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer


@register(Customer)
class CustomerPage(ReadOnlyPage):
    """Whose customer it is, for ever, and what it bought."""

    list_display = (
        "public_id",
        "customer_id",
        "status",
        "affiliate",
        "program",
        "created_at",
        "removed_at",
    )
    list_filter = ("status",)
    search_fields = ("public_id__exact", "customer_id__exact")
    search_help_text = "cu_…, or your own customer id, whole"
    lookups = ("removed_at__isnull",)
    ordering = ("-created_at", "-id")
    fields = (
        "public_id",
        "customer_id",
        "status",
        "timeline",
        "affiliate",
        "program",
        "click",
        "hints",
        "meta",
        "ip",
        "user_agent",
        "created_at",
        "removed_at",
    )
    readonly_fields = ("timeline", "hints", "meta")

    @display(description="Warnings")
    def hints(self, customer):
        return words(customer.warnings)

    @display(description="Meta data")
    def meta(self, customer):
        return pairs(customer.meta_data)

    def get_queryset(self, request):
        joined = ("account", "affiliate", "program", "click")
        return super().get_queryset(request).select_related(*joined)

    @worked_out_once
    def timeline(self, customer):
        """Click, status, sales and their commissions, as they happened."""
        return lines(
            format_html("{} {}", f"{it.at:%Y-%m-%d %H:%M:%S}", it.told)
            for it in timeline_of(customer)
        )


@register(Conversion)
class ConversionPage(ReadOnlyPage):
    """What was sold by whom, and why it is theirs, to the cent."""

    list_display = (
        "number",
        "external_id",
        "sold_for",
        "affiliate",
        "program",
        "customer",
        "tracking_source",
        "created_at",
        "removed_at",
    )
    list_select_related = ("affiliate", "program", "customer")
    search_fields = ("external_id__exact", "customer__customer_id__exact")
    search_help_text = "An external id or customer id, whole"
    lookups = ("removed_at__isnull",)
    ordering = ("-created_at", "-id")
    fields = (
        "sold_for",
        "explanation",
        "external_id",
        "affiliate",
        "program",
        "customer",
        "click",
        "tracking_source",
        "hints",
        "meta",
        "ip",
        "user_agent",
        "created_at",
        "removed_at",
    )
    readonly_fields = ("sold_for", "explanation", "hints", "meta")

    @display(description="Warnings")
    def hints(self, conversion):
        return words(conversion.warnings)

    @display(description="No.")
    def number(self, conversion):
        return conversion.pk

    @display(description="Amount")
    def sold_for(self, conversion):
        return money(conversion.amount, conversion.currency)

    @display(description="Why, and how it was reckoned")
    @worked_out_once
    def explanation(self, conversion):
        told = explain(conversion.account, conversion_id=conversion.pk)
        return lines([*story_of(told), *proof_of(told)])

    @display(description="Meta data")
    def meta(self, conversion):
        return pairs(conversion.meta_data)


@register(Commission)
class CommissionPage(ReadOnlyPage):
    """What an affiliate earns; decided here, many at once."""

    list_display = (
        "number",
        "affiliate",
        "owed",
        "status",
        "kind",
        "name",
        "sale",
        "payment",
        "created_at",
    )
    list_select_related = ("affiliate", "payment", "conversion")
    list_filter = ("status", "kind")
    search_fields = ("affiliate__slug__exact", "conversion__external_id__exact")
    search_help_text = "An affiliate's id or a sale's external id, whole"
    lookups = ("removed_at__isnull",)
    ordering = ("-created_at", "-id")
    exclude = ("working", "amount", "sub_amount")
    readonly_fields = ("owed", "of")
    actions = ("approve_chosen", "disapprove_chosen")

    @display(description="No.")
    def number(self, commission):
        return commission.pk

    @display(description="Amount")
    def owed(self, commission):
        return money(commission.amount, commission.currency)

    @display(description="Of this part of the sale")
    def of(self, commission):
        return money(commission.sub_amount, commission.currency)

    def sale(self, commission):
        sale = commission.conversion
        if sale is None:
            return NOTHING
        address = reverse("admin:tracking_conversion_change", args=[sale.pk])
        return format_html('<a href="{}">{}</a>', address, sale.external_id or sale.pk)

    def has_decide_permission(self, request):
        return request.user.has_perm("payouts.change_commission")

    @action(description="Approve", permissions=["decide"])
    def approve_chosen(self, request, rows):
        return self._decide(
            request, rows, "Approve commissions", approve, Status.APPROVED
        )

    @action(description="Disapprove", permissions=["decide"])
    def disapprove_chosen(self, request, rows):
        title = "Disapprove commissions"
        return self._decide(request, rows, title, disapprove, Status.DISAPPROVED)

    def _decide(self, request, rows, title, decide, goal):
        def left(row):
            if row.removed_at:
                return "its sale was removed"
            return f"it is {goal} already" if row.status == goal else ""

        deed = Deed(
            title,
            does=lambda row, at: decide(row.account, commission_id=row.pk, at=at),
            leaves=left,
            amount="amount",
        )
        return carry_out(self, request, rows, deed)


def words(warnings) -> str:
    """What the API warned of; they flag and hold, they never refuse."""
    return ", ".join(warnings or ()) or NOTHING


def lines(texts) -> str:
    """Lines of text, one below the other."""
    return format_html_join(
        "", '<div class="office-story">{}</div>', ((it,) for it in texts)
    )
