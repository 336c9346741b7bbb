"""Groups of affiliates: `/affiliate-groups/`."""

from accounts.services.usage import Rate
from affiliate_site.api.fields import Text
from affiliate_site.api.filters import ListFilter
from affiliate_site.api.inputs import Input
from affiliate_site.api.shapes.people import GroupShape, group_shape
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import GroupNotFound
from tracking.models.affiliates import AffiliateGroup
from tracking.services.placement import group_named, make_group, rename_group


class GroupInput(Input):
    """A group."""

    aliases = {"name": "title"}

    title = Text()


class GroupChange(Input):
    """Another title for a group."""

    aliases = {"name": "title"}

    title = Text(required=False, filled=True)


class GroupViewSet(TenantViewSet):
    """Contract 2.5."""

    thing = AffiliateGroup
    rates = Rate(300, minutes=15)
    reads = {"create": GroupInput, "partial_update": GroupChange}
    filters = {"list": ListFilter}
    answers = {
        "list": GroupShape(many=True),
        "create": GroupShape,
        "retrieve": GroupShape,
        "partial_update": GroupShape,
    }

    def list(self, request):
        """The account's groups, newest first."""
        return self.page(group_shape, self.account.affiliate_groups.newest_first())

    def create(self, request):
        """Make a group; two may have the same title."""
        title = self.read()["title"]
        group = make_group(self.account, title=title, at=self.at)
        return self.shown(group.public_id)

    def retrieve(self, request, group_id):
        """One group."""
        return self.shown(group_id)

    def partial_update(self, request, group_id):
        """Give a group another title."""
        group_named(self.account, group_id)
        title = self.read().get("title")
        rename_group(self.account, group_id=group_id, title=title, at=self.at)
        return self.shown(group_id)

    def shown(self, group_id):
        rows = self.account.affiliate_groups.filter(public_id=group_id)
        return self.answer(group_shape(self.found(rows, GroupNotFound)))
