"""How an affiliate wants to be paid: `/affiliates/{id}/payout-methods/`."""

from accounts.services.usage import Rate
from affiliate_site.api.fields import Flag
from affiliate_site.api.filters import ListFilter
from affiliate_site.api.inputs import Input
from affiliate_site.api.maps import Details
from affiliate_site.api.shapes.people import PayoutMethodShape, payout_method_shape
from affiliate_site.api.viewsets import TenantViewSet
from payouts.errors import PayoutMethodNotFound
from payouts.models.payments import PayoutMethod
from payouts.services.payout_methods import refuse_unknown_way, set_payout_method
from tracking.services.affiliates import affiliate_named

NO_DETAILS = ("type", "details", "primary")
OF_EACH_DETAIL = ("additionalProperties", "propertyNames")


class PayoutMethodInput(Input):
    """The details themselves, or under `details`; `primary` alone leaves them be."""

    details = Details(required=False)
    primary = Flag(required=False)

    @property
    def schema(self):
        """Whatever else stands beside `details` and `primary` is a detail itself."""
        return {name: Details.schema[name] for name in OF_EACH_DETAIL}

    def sent(self, data):
        rest = {
            name: value
            for name, value in data.items()
            if name not in NO_DETAILS and value is not None
        }
        said = self.named(data)
        return said if said and not rest else {"details": rest} | said


class PayoutMethodViewSet(TenantViewSet):
    """Contract 2.4.8."""

    thing = PayoutMethod
    rates = Rate(1500, minutes=5)
    reads = {"update": PayoutMethodInput}
    filters = {"list": ListFilter}
    answers = {
        "list": PayoutMethodShape(many=True),
        "retrieve": PayoutMethodShape,
        "update": PayoutMethodShape,
    }

    def list(self, request, affiliate_id):
        """The ways to be paid that are set, in the order in which they were."""
        affiliate = affiliate_named(self.account, affiliate_id)
        rows = self.account.payout_methods.filter(affiliate=affiliate)
        return self.page(payout_method_shape, rows.as_defined())

    def retrieve(self, request, affiliate_id, method):
        """One way to be paid, if it is set."""
        return self.shown(affiliate_named(self.account, affiliate_id), method)

    def update(self, request, affiliate_id, method):
        """Set a way to be paid, or replace its details; the first one is primary."""
        affiliate = affiliate_named(self.account, affiliate_id)
        refuse_unknown_way(method)
        said = self.read()
        set_payout_method(
            self.account,
            affiliate_id=affiliate_id,
            kind=method,
            details=said.get("details"),
            primary=said.get("primary", False),
            at=self.at,
        )
        return self.shown(affiliate, method)

    def shown(self, affiliate, method):
        rows = self.account.payout_methods.filter(affiliate=affiliate, kind=method)
        return self.answer(payout_method_shape(self.found(rows, PayoutMethodNotFound)))
