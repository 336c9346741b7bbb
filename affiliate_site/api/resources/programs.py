"""Programs: `/programs/`."""

from accounts.ids import parse_numbered_id
from accounts.services.rate_limits import RateLimit
from affiliate_site.api.filters import BaseFilterSet, TextFilter
from affiliate_site.api.representations.programs import (
    ProgramRepresentation,
    program_by_slug,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.errors import ProgramNotFound
from tracking.models.programs import Program


class ProgramFilterSet(BaseFilterSet):
    """Filters of programs."""

    asset_id = TextFilter(method="filter_by_asset")

    def filter_by_asset(self, rows, name, value):
        asset_pk, hex_digits = parse_numbered_id(value) or (0, "")
        return rows.filter(assets__pk=asset_pk, assets__hex=hex_digits)


class ProgramViewSet(TenantViewSet):
    """Programs (docs/api-contract.md, section 2.7.1)."""

    permission_model = Program
    throttle_rate = RateLimit(1500, minutes=5)
    filterset_class = ProgramFilterSet
    representation = ProgramRepresentation

    def list(self, request):
        """List programs, including archived ones, newest first."""
        return self.list_page(self.account.programs.newest_first())

    def retrieve(self, request, program_id):
        """Retrieve a program."""
        return self.render_row(
            self.get_row(program_by_slug, ProgramNotFound, slug=program_id)
        )
