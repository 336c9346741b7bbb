"""The page of contested claims."""

from collections import Counter

from django.contrib import admin
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join

from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, display
from affiliate_site.backoffice.bulk_pages import AFFILIATE_COLUMN, BulkPage, build_actions
from affiliate_site.backoffice.conversions.conversion_details import (
    get_claim_outcome,
    show_claim_outcome,
)
from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_affiliate,
    format_datetime,
    format_money,
    format_person,
)
from affiliate_site.backoffice.lists.columns import AFFILIATE
from affiliate_site.backoffice.lists.date_filters import DateFilter
from affiliate_site.backoffice.lists.filters import AffiliateFilter, CurrencyFilter
from affiliate_site.backoffice.lists.search import OrderSearchMixin
from affiliate_site.backoffice.lists.state_filters import DecidedFilter
from affiliate_site.backoffice.money_pages import MoneyFormPage
from affiliate_site.backoffice.navigation import ListAction, MenuEntry
from affiliate_site.backoffice.object_pages import LINK_TEMPLATE, ObjectPageMixin, link_to
from affiliate_site.columns import AmountSource, Column
from payouts.explanation import list_skipped_parents
from payouts.services.corrections import confirm_claim
from tracking.models.conversions import ConversionClaim


class ConfirmClaimPage(BulkPage, MoneyFormPage):
    """Decide orders for one of their claims each; the other claims are rejected."""

    model = ConversionClaim
    name = "confirm"
    title = "Confirm this claim"
    explanation = bulk_explanation = (
        "The affiliate of a confirmed claim earns the sale. The other claims of the order"
        " are rejected, and its commissions calculated again."
    )
    service = staticmethod(confirm_claim)
    row_argument = ("claim_id", "pk")
    bulk_title = "Confirm claims"
    bulk_relations = ("conversion", "affiliate", "program")
    bulk_columns = (*AFFILIATE_COLUMN, ("Program", lambda row: row.program.title))
    amount_field = "amount"

    @classmethod
    def find_obstacle(cls, claim):
        return "already decided" if claim.decided_at else ""

    @cached_property
    def rivals(self) -> Counter[int]:
        """The number of selected claims of each order."""
        return Counter(self.rows.values_list("conversion_id", flat=True))

    def get_skip_reason(self, claim):
        is_rival = self.rivals[claim.conversion_id] > 1
        rival = "another claim of the same order is selected too" if is_rival else ""
        return super().get_skip_reason(claim) or rival

    def get_subject(self):
        return self.model_admin.get_object_title(self.row)

    def list_facts(self, form, conversion):
        return [
            ("Affiliate", format_affiliate(self.row.affiliate)),
            ("Program", self.row.program.title),
            ("Sale", format_money(conversion.amount, conversion.currency)),
            *list_skipped_parents(
                self.account.commissions.not_deleted().filter(conversion=conversion)
            ),
        ]


@admin.register(ConversionClaim)
class ConversionClaimAdmin(ObjectPageMixin, OrderSearchMixin, ReadOnlyBackOfficeAdmin):
    """Conversions that two visitors claim: each claim, and an action to decide."""

    menu = (MenuEntry("Tracking", 40, "gavel"),)
    list_actions = (ListAction(50, "Decide contested claims", "decided_at__isnull=True"),)
    empty_state = (
        "No contested claims. One appears here when two visitors report the same order ID."
    )
    columns = (
        Column("ID", lambda claim: claim.pk, name="claim_id", export="pk"),
        Column(name="conversion_link", select=("conversion",)),
        AFFILIATE,
        Column(name="formatted_amount", export=AmountSource()),
        Column(name="outcome", export=get_claim_outcome),
        "visitor",
        "created_at",
    )
    search_fields = ("conversion__external_id__exact",)
    search_help_text = "Search by order ID"
    list_filter = (AffiliateFilter, CurrencyFilter, DecidedFilter, DateFilter)
    extra_lookups = ("conversion_id",)
    ordering = ("-created_at", "-id")
    fields = readonly_fields = (
        "outcome",
        "conversion_link",
        "formatted_amount",
        "affiliate",
        "program_link",
        "tracking_id",
        "click",
        "clicked_at",
        "landing_page",
        "referrer",
        "created_at",
        "decided_at",
        "other_claims",
    )
    actions = build_actions(ConfirmClaimPage)
    row_pages = (ConfirmClaimPage,)

    def get_object_title(self, claim):
        """The order, of which there are several claims."""
        return f"{claim.conversion.external_id or claim.conversion}, claim {claim.pk}"

    @display(description="Conversion")
    def conversion_link(self, claim):
        conversion = claim.conversion
        url = reverse("admin:tracking_conversion_change", args=[conversion.pk])
        text = conversion.external_id or conversion.pk
        return format_html(LINK_TEMPLATE, url, text)

    @display(description="Program")
    def program_link(self, claim):
        url = reverse("admin:tracking_program_change", args=[claim.program_id])
        return format_html(LINK_TEMPLATE, url, claim.program.title)

    @display(description="Amount")
    def formatted_amount(self, claim):
        return format_money(claim.amount, claim.currency)

    @display(description="Visitor")
    def visitor(self, claim):
        """The beginning of the tracking id; the page of the claim has all of it."""
        return claim.tracking_id[:8] if claim.tracking_id else EMPTY_VALUE

    @display(description="Outcome")
    def outcome(self, claim):
        return show_claim_outcome(claim)

    @display(description="Clicked")
    def clicked_at(self, claim):
        return claim.click and format_datetime(claim.click.created_at)

    @display(description="Landing page")
    def landing_page(self, claim):
        return claim.click and claim.click.landing_page

    @display(description="Came from")
    def referrer(self, claim):
        return claim.click and claim.click.referrer

    @display(description="Other claims of the order")
    def other_claims(self, claim):
        """A line for each, with links to it and to its affiliate."""
        claims = claim.account.conversion_claims.filter(conversion=claim.conversion_id)
        others = claims.exclude(pk=claim.pk).select_related("affiliate").order_by("id")
        lines = format_html_join(
            "",
            "<div>{}: {}, {}, reported {}, {}</div>",
            (
                (
                    link_to(other, f"Claim {other.pk}"),
                    link_to(other.affiliate, format_person(other.affiliate)),
                    format_money(other.amount, other.currency),
                    format_datetime(other.created_at),
                    show_claim_outcome(other),
                )
                for other in others
            ),
        )
        return lines or EMPTY_VALUE
