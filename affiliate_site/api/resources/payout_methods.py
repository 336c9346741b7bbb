"""Payout methods of an affiliate: `/affiliates/{id}/payout-methods/`."""

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import StrictBooleanField
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.map_fields import PayoutDetailsField
from affiliate_site.api.representations.affiliates import (
    PayoutMethodRepresentation,
    payout_method_by_kind,
)
from affiliate_site.api.viewsets import TenantViewSet
from payouts.errors import PayoutMethodNotFound
from payouts.models.payments import PayoutMethod, PayoutMethodKind
from payouts.services.payout_methods import (
    set_payout_method,
    validate_payout_method_kind,
)
from tracking.services.affiliates import get_affiliate

NON_DETAIL_KEYS = ("type", "details", "primary")
DETAIL_SCHEMA_KEYS = ("additionalProperties", "propertyNames")


class PayoutMethodInputSerializer(InputSerializer):
    """Details at the top level or in `details`; `primary` alone keeps them."""

    details = PayoutDetailsField(required=False)
    primary = StrictBooleanField(required=False)

    @property
    def schema(self):
        """Allow details as additional properties."""
        return {name: PayoutDetailsField.schema[name] for name in DETAIL_SCHEMA_KEYS}

    def normalize_input(self, data):
        top_level_details = {
            name: value
            for name, value in data.items()
            if name not in NON_DETAIL_KEYS and value is not None
        }
        values = self.resolve_aliases(data)
        if values and not top_level_details:
            return values
        return {"details": top_level_details} | values


class PayoutMethodViewSet(TenantViewSet):
    """Payout methods (docs/api-contract.md, section 2.4.8)."""

    permission_model = PayoutMethod
    throttle_rate = RateLimit(1500, minutes=5)
    serializer_classes = {"update": PayoutMethodInputSerializer}
    representation = PayoutMethodRepresentation

    def list(self, request, affiliate_id):
        """List the payout methods of an affiliate, in the order of definition."""
        affiliate = get_affiliate(self.account, affiliate_id)
        rows = self.account.payout_methods.filter(affiliate=affiliate)
        return self.list_page(rows.in_definition_order())

    def retrieve(self, request, affiliate_id, method):
        """Retrieve a payout method of an affiliate."""
        return self.render_payout_method(get_affiliate(self.account, affiliate_id), method)

    def update(self, request, affiliate_id, method):
        """Set a payout method or replace its details; the first one is primary."""
        affiliate = get_affiliate(self.account, affiliate_id)
        if method == PayoutMethodKind.WISE:  # version 1.6 does not have it
            raise PayoutMethodNotFound
        validate_payout_method_kind(method)
        body = self.validate_body()
        set_payout_method(
            self.account,
            affiliate_id=affiliate_id,
            kind=method,
            details=body.get("details"),
            is_primary=body.get("primary", False),
            at=self.at,
        )
        return self.render_payout_method(affiliate, method)

    def render_payout_method(self, affiliate, method):
        return self.render_row(
            self.get_row(
                payout_method_by_kind,
                PayoutMethodNotFound,
                affiliate=affiliate,
                kind=method,
            )
        )
