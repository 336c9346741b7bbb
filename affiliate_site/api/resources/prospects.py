"""Prospects: `/affiliate-prospects/`."""

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.fields import ReferenceField
from affiliate_site.api.filters import BaseFilterSet, EmailFilter, TextFilter
from affiliate_site.api.person_serializers import (
    PersonInputSerializer,
    build_person_data,
)
from affiliate_site.api.representations.affiliates import (
    ProspectRepresentation,
    prospect_by_public_id,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import ProspectNotFound
from tracking.models.prospects import Prospect
from tracking.services.hierarchy import get_referenced_group
from tracking.services.prospects import (
    ProspectData,
    create_prospect,
    delete_prospect,
    get_referenced_program,
)


class ProspectInputSerializer(PersonInputSerializer):
    """A new prospect."""

    aliases = {"group_id": "affiliate_group_id"}

    program_id = ReferenceField(get_referenced_program, required=False)
    affiliate_group_id = ReferenceField(get_referenced_group, required=False)


class ProspectFilterSet(BaseFilterSet):
    """Filters of prospects."""

    aliases = {"affiliate_group_id": "group_id"}

    email = EmailFilter()
    referral_code = TextFilter(method="filter_by_referral_code")
    program_id = TextFilter(field_name="program__slug")
    group_id = TextFilter(field_name="group__public_id")

    def filter_by_referral_code(self, rows, name, value):
        codes = self.account.referral_codes.filter(code=value, prospect__isnull=False)
        return rows.filter(pk__in=codes.values("prospect"))


class ProspectViewSet(TenantViewSet):
    """Affiliate prospects (docs/api-contract.md, section 2.6)."""

    permission_model = Prospect
    throttle_rate = RateLimit(1500, minutes=5)
    serializer_classes = {"create": ProspectInputSerializer}
    filterset_class = ProspectFilterSet
    conflict_actions = ("create",)
    representation = ProspectRepresentation
    row_query = (prospect_by_public_id, "public_id", ProspectNotFound)

    def list(self, request):
        """List prospects, including promoted ones, newest first."""
        return self.list_page(self.account.prospects.not_deleted().newest_first())

    def create(self, request):
        """Create a prospect; the first sale or customer of its link promotes it."""
        body = self.validate_body()
        data = ProspectData(
            person=build_person_data(body),
            program_id=body.get("program_id"),
            group_id=body.get("affiliate_group_id"),
        )
        prospect = create_prospect(self.account, data=data, at=self.at)
        return self.render_key(prospect.public_id)

    def retrieve(self, request, prospect_id):
        """Retrieve a prospect."""
        return self.render_key(prospect_id)

    def destroy(self, request, prospect_id):
        """Delete a prospect; if it was promoted, its affiliate and code remain."""
        delete_prospect(self.account, public_id=prospect_id, at=self.at)
        return self.render_no_content()
