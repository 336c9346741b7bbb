"""Groups of affiliates: `/affiliate-groups/`."""

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import TextField
from affiliate_site.api.input_serializers import InputSerializer
from affiliate_site.api.representations.affiliates import (
    AffiliateGroupRepresentation,
    group_by_public_id,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import GroupNotFound
from tracking.models.affiliates import AffiliateGroup
from tracking.services.hierarchy import create_group, get_group, update_group


class AffiliateGroupInputSerializer(InputSerializer):
    """A new group."""

    aliases = {"name": "title"}

    title = TextField()


class AffiliateGroupUpdateSerializer(InputSerializer):
    """Changes of a group."""

    aliases = {"name": "title"}

    title = TextField(required=False, reject_blank=True)


class AffiliateGroupViewSet(TenantViewSet):
    """Affiliate groups (docs/api-contract.md, section 2.5)."""

    permission_model = AffiliateGroup
    throttle_rate = RateLimit(300, minutes=15)
    serializer_classes = {
        "create": AffiliateGroupInputSerializer,
        "partial_update": AffiliateGroupUpdateSerializer,
    }
    representation = AffiliateGroupRepresentation
    row_query = (group_by_public_id, "public_id", GroupNotFound)

    def list(self, request):
        """List groups, newest first."""
        return self.list_page(self.account.affiliate_groups.newest_first())

    def create(self, request):
        """Create a group; titles need not be unique."""
        title = self.validate_body()["title"]
        group = create_group(self.account, title=title, at=self.at)
        return self.render_key(group.public_id)

    def retrieve(self, request, group_id):
        """Retrieve a group."""
        return self.render_key(group_id)

    def partial_update(self, request, group_id):
        """Update the title of a group."""
        get_group(self.account, group_id)
        changes = self.validate_body()
        update_group(self.account, group_id=group_id, changes=changes, at=self.at)
        return self.render_key(group_id)
