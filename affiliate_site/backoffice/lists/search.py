"""Search of lists by affiliates: by any part of a name, address, company or code."""

import re

from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from accounts.tenant_admin import SearchMatch, TenantAdmin
from tracking.attribution import COUPON
from tracking.services.search import find_affiliates, find_coupon, list_order_terms

PK_PATTERN = re.compile(r"[0-9]{1,18}")
AFFILIATE_SEARCH_HELP = "Search by name, e-mail, company, ID, code or coupon"


class OrderSearchMixin(TenantAdmin):
    """A list that is searched by its own IDs, and by order IDs in any case and by their
    numbers."""

    search_hint = "Order IDs are found by their beginning or their number only"

    def list_search_terms(self, request, name, term):
        """Add the spellings of an order ID; an operator has no index of them."""
        if name == "pk__exact":
            return [term] if PK_PATTERN.fullmatch(term) else []
        account = request.user.account
        if account is None or not name.endswith("external_id__begins_with"):
            return super().list_search_terms(request, name, term)
        return list_order_terms(account, term)


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
            request.coupon_owner, request.coupon_choice = self.describe_coupon(
                account, term
            )
        # The fields of the affiliate itself are all found by parts.
        matches = (
            []
            if self.affiliate_column == "pk"
            else super().list_search_matches(request, term)
        )
        if not found.pks:
            return matches
        match = SearchMatch.of_rows(
            self.affiliate_column, found.pks, is_limited=found.has_more
        )
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
