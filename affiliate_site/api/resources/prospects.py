"""Prospects: `/affiliate-prospects/`."""

from accounts.services.usage import Rate
from affiliate_site.api.fields import Reference
from affiliate_site.api.filters import Address, ListFilter, Words
from affiliate_site.api.people import PersonInput, application_of
from affiliate_site.api.shapes.people import ProspectShape, prospect_shape
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import ProspectNotFound
from tracking.models.prospects import Prospect
from tracking.services.placement import group_sent
from tracking.services.prospects import (
    Invitation,
    invite,
    program_sent,
    remove_prospect,
)


class ProspectInput(PersonInput):
    """Who might become an affiliate, and of which program."""

    aliases = {"group_id": "affiliate_group_id"}

    program_id = Reference(program_sent, required=False)
    affiliate_group_id = Reference(group_sent, required=False)


class ProspectFilter(ListFilter):
    """All of them narrow together."""

    aliases = {"affiliate_group_id": "group_id"}

    email = Address(method="by_email")
    referral_code = Words(method="by_code")
    program_id = Words(field_name="program__slug")
    group_id = Words(field_name="group__public_id")

    def by_email(self, rows, name, value):
        return rows.with_email(value)

    def by_code(self, rows, name, value):
        codes = self.account.referral_codes.filter(code=value, prospect__isnull=False)
        return rows.filter(pk__in=codes.values("prospect"))


class ProspectViewSet(TenantViewSet):
    """Spec: Affiliate prospects."""

    thing = Prospect
    rates = Rate(1500, minutes=5)
    reads = {"create": ProspectInput}
    filters = {"list": ProspectFilter}
    conflicts = ("create",)
    answers = {
        "list": ProspectShape(many=True),
        "create": ProspectShape,
        "retrieve": ProspectShape,
        "destroy": None,
    }

    def list(self, request):
        """The account's prospects, newest first, promoted ones included."""
        rows = self.account.prospects.present()
        return self.page(prospect_shape, rows.newest_first())

    def create(self, request):
        """Make a prospect; its link is ready, its first sale makes it an affiliate."""
        said = self.read()
        invitation = Invitation(
            person=application_of(said),
            program_id=said.get("program_id"),
            group_id=said.get("affiliate_group_id"),
        )
        prospect = invite(self.account, invitation=invitation, at=self.at)
        return self.shown(prospect.public_id)

    def retrieve(self, request, prospect_id):
        """One prospect."""
        return self.shown(prospect_id)

    def destroy(self, request, prospect_id):
        """Take a prospect back; promoted, its affiliate and code stay."""
        remove_prospect(self.account, public_id=prospect_id, at=self.at)
        return self.nothing()

    def shown(self, prospect_id):
        rows = self.account.prospects.present().filter(public_id=prospect_id)
        return self.answer(prospect_shape(self.found(rows, ProspectNotFound)))
