"""Balances: of all affiliates, and of one."""

from rest_framework import serializers

from accounts.services.usage import Rate
from affiliate_site.api.fields import Amount
from affiliate_site.api.viewsets import TenantViewSet
from payouts.services.ledger import balances_of
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import affiliate_named

BY_CURRENCY = {"type": "object", "additionalProperties": {"type": "number"}}


class BalancesShape(serializers.Serializer):
    """What one affiliate is owed, per currency."""

    affiliate_id = serializers.CharField()
    balances = serializers.DictField(child=Amount())


def balances_shape(affiliate_id: str, balances: dict) -> dict:
    """An affiliate's id, and currency → amount."""
    return {"affiliate_id": affiliate_id, "balances": balances}


class BalanceViewSet(TenantViewSet):
    """Spec: balances. The one list that is whole."""

    thing = Affiliate
    rates = {"list": Rate(10, minutes=1), "retrieve": Rate(1500, minutes=5)}
    answers = {"list": BalancesShape(many=True), "retrieve": BY_CURRENCY}

    def list(self, request):
        """Every affiliate with a balance other than 0, removed ones included."""
        owed = balances_of(self.account)
        return self.answer([balances_shape(slug, owed[slug]) for slug in owed])

    def retrieve(self, request, affiliate_id):
        """What one affiliate is owed: currency → amount; noughts are left out."""
        affiliate = affiliate_named(self.account, affiliate_id)
        owed = balances_of(self.account, affiliate.pk)
        return self.answer(owed.get(affiliate.slug, {}))
