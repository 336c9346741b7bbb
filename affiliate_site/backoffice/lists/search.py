"""Search of lists by affiliates: by any part of a name, address, company or code."""

from accounts.tenant_admin import SearchMatch, TenantAdmin
from tracking.services.affiliate_search import find_affiliates
from tracking.services.order_search import list_order_terms

AFFILIATE_SEARCH_HELP = "Search by name, e-mail, company, ID, code or coupon"


class OrderSearchMixin(TenantAdmin):
    """A list that is searched by order IDs in any case, and by their numbers."""

    def list_search_terms(self, request, name, term):
        """Add the spellings of an order ID; an operator has no index of them."""
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
