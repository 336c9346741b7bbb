"""An affiliate's group and parent."""

from accounts.services.usage import Rate
from affiliate_site.api.fields import Lookup
from affiliate_site.api.inputs import Input
from affiliate_site.api.shapes.people import AffiliateShape, affiliate_shape
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import AffiliateNotFound
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import affiliate_named
from tracking.services.placement import put_below, put_into_group


class GroupRefInput(Input):
    """Which group."""

    aliases = {"affiliate_group_id": "group_id"}

    group_id = Lookup()


class ParentInput(Input):
    """Who is the parent: by its id, or `via` its id or referral code."""

    aliases = {"affiliate.id": "affiliate_id"}
    one_of = ("affiliate_id", "via")

    affiliate_id = Lookup(required=False)
    via = Lookup(required=False)


class PlacementViewSet(TenantViewSet):
    """Contract 2.4.6."""

    thing = Affiliate
    rates = Rate(1500, minutes=5)
    features = {"put_below": "mlm", "set_free": "mlm"}
    reads = {"put_into_group": GroupRefInput, "put_below": ParentInput}
    answers = {
        "put_into_group": AffiliateShape,
        "take_out_of_group": AffiliateShape,
        "put_below": AffiliateShape,
        "set_free": AffiliateShape,
    }

    def put_into_group(self, request, affiliate_id):
        """Put an affiliate into a group, in place of the one that it was in."""
        affiliate_named(self.account, affiliate_id)
        return self.grouped(affiliate_id, self.read()["group_id"])

    def take_out_of_group(self, request, affiliate_id):
        """Put an affiliate into no group; repeatable."""
        return self.grouped(affiliate_id, None)

    def put_below(self, request, affiliate_id):
        """Give an affiliate a parent, which earns by its later sales."""
        affiliate_named(self.account, affiliate_id)
        said = self.read()
        return self.placed(affiliate_id, said.get("affiliate_id"), said.get("via"))

    def set_free(self, request, affiliate_id):
        """Give an affiliate no parent; repeatable."""
        return self.placed(affiliate_id, None)

    def grouped(self, affiliate_id, group_id):
        put_into_group(
            self.account, affiliate_id=affiliate_id, group_id=group_id, at=self.at
        )
        return self.shown(affiliate_id)

    def placed(self, affiliate_id, parent, via=None):
        put_below(
            self.account, affiliate_id=affiliate_id, parent=parent, via=via, at=self.at
        )
        return self.shown(affiliate_id)

    def shown(self, affiliate_id):
        rows = self.account.affiliates.present().filter(slug=affiliate_id)
        return self.answer(affiliate_shape(self.found(rows, AffiliateNotFound)))
