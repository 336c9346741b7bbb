"""Balances of all affiliates and of one affiliate."""

from rest_framework import serializers

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import ExactAmountField
from affiliate_site.api.viewsets import TenantViewSet
from payouts.services.ledger import get_payable_balances_by_slug
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import get_affiliate

BALANCES_SCHEMA = {"type": "object", "additionalProperties": {"type": "number"}}


class AffiliateBalancesSerializer(serializers.Serializer):
    """The balances of an affiliate by currency."""

    affiliate_id = serializers.CharField()
    balances = serializers.DictField(child=ExactAmountField())


def represent_affiliate_balances(affiliate_id: str, balances: dict) -> dict:
    """Represent the balances of an affiliate."""
    return {"affiliate_id": affiliate_id, "balances": balances}


class BalanceViewSet(TenantViewSet):
    """Balances (docs/api-contract.md, section 2.9); the list is not paginated."""

    permission_model = Affiliate
    throttle_rate = {
        "list": RateLimit(10, minutes=1),
        "retrieve": RateLimit(1500, minutes=5),
    }
    filterset_class = pagination_class = None
    response_serializer_class = AffiliateBalancesSerializer
    response_serializers = {"retrieve": BALANCES_SCHEMA}

    def list(self, request):
        """List affiliates with a balance other than 0, including deleted ones."""
        balances = get_payable_balances_by_slug(self.account)
        return self.render_response(
            [represent_affiliate_balances(*item) for item in balances.items()]
        )

    def retrieve(self, request, affiliate_id):
        """Retrieve the balances of an affiliate by currency, without zero balances."""
        affiliate = get_affiliate(self.account, affiliate_id)
        balances = get_payable_balances_by_slug(self.account, affiliate.pk)
        return self.render_response(balances.get(affiliate.slug, {}))
