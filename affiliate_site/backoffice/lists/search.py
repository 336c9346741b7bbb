"""Search of lists: by any part of an order ID, or of what names an affiliate."""

import re

from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from accounts.tenant_admin import SearchMatch, TenantAdmin
from tracking.attribution import COUPON
from tracking.services.search import (
    FoundRows,
    find_affiliates,
    find_coupon,
    find_orders,
)

PK_PATTERN = re.compile(r"[0-9]{1,18}")
AFFILIATE_SEARCH_HELP = "Search by name, e-mail, company, ID, code or coupon"


class OrderSearchMixin(TenantAdmin):
    """A list that is searched by order IDs, besides its search fields."""

    order_column = "conversion"  # with the key of a conversion
    search_hint = "Order IDs are found by any part of three characters or more"

    def list_search_terms(self, request, name, term):
        """Look up only numbers as keys of rows."""
        if name == "pk__exact" and not PK_PATTERN.fullmatch(term):
            return []
        return super().list_search_terms(request, name, term)

    def list_search_matches(self, request, term):
        """Add the rows of the orders that were found; an operator has no index."""
        matches = super().list_search_matches(request, term)
        account = request.user.account
        found = find_orders(account, term) if account else FoundRows([])
        if not found.pks:
            return matches
        match = SearchMatch.of_rows(self.order_column, found.pks, is_limited=found.has_more)
        return [*matches, match]


class AffiliateSearchMixin(TenantAdmin):
    """A list that is searched by affiliates, besides its search fields."""

    affiliate_column = "affiliate"  # with the key of an affiliate

    def list_search_matches(self, request, term):
        """Add the rows of the affiliates that were found.

        An operator has no account whose index could be searched.
        """
        account = request.user.account
        if account is None:
            return super().list_search_matches(request, term)
        found = find_affiliates(account, term)
        is_of_one = self.affiliate_column == "pk" or "affiliate" in request.GET
        if found.pks and not is_of_one:
            request.coupon_owner, request.coupon_choice = self.describe_coupon(account, term)
        # The fields of the affiliate itself are all found by parts.
        matches = (
            [] if self.affiliate_column == "pk" else super().list_search_matches(request, term)
        )
        if not found.pks:
            return matches
        match = SearchMatch.of_rows(self.affiliate_column, found.pks, is_limited=found.has_more)
        return [*matches, match]

    def describe_coupon(self, account, term) -> tuple[str, str]:
        """Whose coupon a search term is, and the choice between its conversions and all
        rows of that affiliate; empty texts if it is none."""
        coupon = find_coupon(account, term)
        if coupon is None:
            return "", ""
        affiliate, program = coupon.enrollment.affiliate, coupon.enrollment.program
        query = {
            "affiliate": affiliate.slug,
            "program": program.slug,
            "tracking_source": COUPON,
        }
        return format_html(
            "“{}” is a coupon of {} {}",
            coupon.code,
            affiliate.firstname,
            affiliate.lastname,
        ), format_html(
            '<a class="details-link" href="{}?{}">Only those by coupon in {}</a>, or'
            " all {} of this affiliate, as shown.",
            reverse("admin:tracking_conversion_changelist"),
            urlencode(query),
            program.title,
            self.opts.verbose_name_plural,
        )
