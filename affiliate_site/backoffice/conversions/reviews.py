"""What staff should check before they approve: labels, and a filter of both lists."""

from django.db.models import QuerySet

from accounts.tenant_admin import filter_for_user, get_user
from affiliate_site.backoffice.formatters import Label
from affiliate_site.backoffice.lists.state_filters import StateFilter
from payouts.explanation import WARNING_TEXTS
from payouts.models.commissions import Commission
from tracking.claims import (
    CONTESTED_CLAIM,
    CONTESTED_CUSTOMER,
    FORMER_CUSTOMER_ID,
    UNCONFIRMED_CUSTOMER,
    ClaimStatus,
)
from tracking.models.conversions import Conversion
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE

# Short names of the warnings in lists; all others are about odd options of a page.
WARNING_LABELS = {
    CUSTOMER_IS_AFFILIATE: "Customer is the affiliate",
    UNCONFIRMED_CUSTOMER: "Unconfirmed customer",
    CONTESTED_CLAIM: "Contested claim",
    CONTESTED_CUSTOMER: "Contested customer",
    FORMER_CUSTOMER_ID: "Former customer ID",
}
ODD_OPTION = "Odd data from the page"
REPORTED_BY_PAGE = Label("Reported by a page", "warning")


def list_review_labels(conversion, *, names_options: bool = False) -> list[Label]:
    """What staff should check before they approve; with `names_options` a sentence about each
    odd option of a page."""
    options = WARNING_TEXTS if names_options else {}
    labels = [
        Label(WARNING_LABELS.get(warning) or options.get(warning, ODD_OPTION), "danger")
        for warning in conversion.warnings or ()
    ]
    if conversion.claim_status == ClaimStatus.OPEN:
        labels.insert(0, REPORTED_BY_PAGE)
    return list(dict.fromkeys(labels))


class ReviewFilter(StateFilter):
    """Conversions by what staff should check."""

    title = "to check"
    parameter_name = "to_check"
    texts = {
        "yes": "A warning",
        **WARNING_LABELS,
        "odd": ODD_OPTION,
        "page": REPORTED_BY_PAGE,
        "no": "Nothing",
    }

    def filter_rows(self, queryset):
        found = self.find_rows()
        if self.value() == "no":
            return queryset.exclude(pk__in=found)
        return queryset.filter(pk__in=found)

    def find_rows(self) -> QuerySet:
        """The keys of the rows to check; each part of the query has an index."""
        return self.find_conversions()

    def find_conversions(self) -> QuerySet:
        """The keys of the conversions with the chosen label; those without any are what
        “nothing” leaves."""
        rows = filter_for_user(Conversion.objects.all(), get_user(self.request))
        with_warning = rows.filter(warnings__isnull=False)
        open_claims = rows.filter(claim_status=ClaimStatus.OPEN, deleted_at=None)
        if self.value() == "page":
            return open_claims.values("pk")
        if self.value() == "odd":
            codes = "|".join(WARNING_LABELS)
            odd = rf'"(?!({codes})")[a-z_]+"'
            return with_warning.filter(warnings__regex=odd).values("pk")
        if self.value() in WARNING_LABELS:
            code = f'"{self.value()}"'
            return with_warning.filter(warnings__icontains=code).values("pk")
        if self.value() == "no":
            return with_warning.values("pk").union(open_claims.values("pk"))
        return with_warning.values("pk")


class CommissionReviewFilter(ReviewFilter):
    """Commissions by what staff should check of the conversion or the bonus."""

    def find_rows(self):
        rows = filter_for_user(Commission.objects.all(), get_user(self.request))
        found = rows.filter(conversion__in=self.find_conversions()).values("pk")
        if self.value() not in ("yes", "no"):
            return found
        return found.union(rows.filter(goal_missed_at__isnull=False).values("pk"))
