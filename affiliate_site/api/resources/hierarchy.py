"""The group and the parent of an affiliate."""

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import TrimmedTextField
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.representations.affiliates import (
    AffiliateRepresentation,
    affiliate_by_slug,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import AffiliateNotFound
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import get_affiliate
from tracking.services.hierarchy import set_group, set_parent


class GroupAssignmentInputSerializer(InputSerializer):
    """A reference to a group."""

    aliases = {"affiliate_group_id": "group_id"}

    group_id = TrimmedTextField()


class ParentInputSerializer(InputSerializer):
    """A reference to the parent: its id, or `via` its id or referral code."""

    aliases = {"affiliate.id": "affiliate_id"}
    any_of = ("affiliate_id", "via")

    affiliate_id = TrimmedTextField(required=False)
    via = TrimmedTextField(required=False)


class HierarchyViewSet(TenantViewSet):
    """Group and parent (docs/api-contract.md, section 2.4.6)."""

    permission_model = Affiliate
    throttle_rate = RateLimit(1500, minutes=5)
    plan_features = {"set_parent": "mlm", "remove_parent": "mlm"}
    serializer_classes = {
        "set_group": GroupAssignmentInputSerializer,
        "set_parent": ParentInputSerializer,
    }
    representation = AffiliateRepresentation
    row_query = (affiliate_by_slug, "slug", AffiliateNotFound)

    def set_group(self, request, affiliate_id):
        """Set the group of an affiliate; it replaces the current one."""
        get_affiliate(self.account, affiliate_id)
        return self.assign_group(affiliate_id, self.validate_body()["group_id"])

    def remove_group(self, request, affiliate_id):
        """Remove an affiliate from its group, if any."""
        return self.assign_group(affiliate_id, None)

    def set_parent(self, request, affiliate_id):
        """Set the parent of an affiliate, which earns from later conversions."""
        get_affiliate(self.account, affiliate_id)
        body = self.validate_body()
        return self.assign_parent(affiliate_id, body.get("affiliate_id"), body.get("via"))

    def remove_parent(self, request, affiliate_id):
        """Remove the parent of an affiliate, if any."""
        return self.assign_parent(affiliate_id, None)

    def assign_group(self, affiliate_id, group_id):
        set_group(self.account, affiliate_id=affiliate_id, group_id=group_id, at=self.at)
        return self.render_key(affiliate_id)

    def assign_parent(self, affiliate_id, parent_id, via=None):
        set_parent(
            self.account,
            affiliate_id=affiliate_id,
            parent_id=parent_id,
            parent_reference=via,
            at=self.at,
        )
        return self.render_key(affiliate_id)
