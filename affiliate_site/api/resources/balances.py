"""Balances of all affiliates and of one affiliate."""

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import ExactAmountField
from affiliate_site.api.representations.base import Map, Representation, Text
from affiliate_site.api.viewsets import TenantViewSet
from payouts.services.ledger import get_payable_balances_by_slug
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import get_affiliate

BALANCES_SCHEMA = {"type": "object", "additionalProperties": {"type": "number"}}


class AffiliateBalancesRepresentation(Representation):
    """The balances of an affiliate by currency."""

    affiliate_id = Text(example="noraweld")
    balances = Map(child=ExactAmountField(), example={"EUR": 6.45})


class BalanceViewSet(TenantViewSet):
    """Balances (docs/api-contract.md, section 2.9); the list is not paginated."""

    permission_model = Affiliate
    throttle_rate = {
        "list": RateLimit(10, minutes=1),
        "retrieve": RateLimit(1500, minutes=5),
    }
    filterset_class = pagination_class = None
    representation = AffiliateBalancesRepresentation
    representations = {"retrieve": BALANCES_SCHEMA}

    def list(self, request):
        """List affiliates with a balance other than 0, including deleted ones."""
        balances = get_payable_balances_by_slug(self.account)
        return self.render_rows(list(balances.items()))

    def retrieve(self, request, affiliate_id):
        """Retrieve the balances of an affiliate by currency, without zero balances."""
        affiliate = get_affiliate(self.account, affiliate_id)
        balances = get_payable_balances_by_slug(self.account, affiliate.pk)
        return self.render_response(balances.get(affiliate.slug, {}))
