"""Programs with their commission types, levels and bonuses."""

from django.utils import timezone

from accounts.ids import parse_numbered_id
from accounts.lookups import get_or_raise
from accounts.services.rate_limits import RateLimit
from affiliate_site.api.filters import BaseFilterSet, TextFilter
from affiliate_site.api.representations.programs import (
    BonusRepresentation,
    CommissionTypeRepresentation,
    LevelRepresentation,
    ProgramRepresentation,
    program_by_slug,
    show_first_order_rates,
)
from affiliate_site.api.viewsets import TenantViewSet
from payouts.services.program_rates import with_further_rates
from tracking.errors import ProgramNotFound
from tracking.models.programs import Program
from tracking.services.programs import get_program


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
    row_query = (program_by_slug, "slug", ProgramNotFound)

    def list(self, request):
        """List programs, including archived ones, newest first."""
        return self.list_page(self.account.programs.newest_first())

    def retrieve(self, request, program_id):
        """Retrieve a program."""
        return self.render_key(program_id)


class RewardViewSet(TenantViewSet):
    """Rewards (docs/api-contract.md, section 2.7.3), in the order of definition."""

    permission_model = Program
    throttle_rate = RateLimit(1500, minutes=5)
    plan_features = {"list_levels": "mlm", "list_bonuses": "bonuses"}
    representations = {
        "list_commission_types": [CommissionTypeRepresentation],
        "list_levels": [LevelRepresentation],
        "list_bonuses": [BonusRepresentation],
    }

    def list_commission_types(self, request, program_id):
        """List the commission types of a program, with the rates of groups."""
        programs = with_further_rates(self.account)
        program = get_or_raise(programs, ProgramNotFound, slug=program_id)
        rows = self.account.commission_types.filter(program=program)
        response = self.list_page(rows.in_definition_order())
        if program.has_further_rates:
            at = timezone.now()
            response.data = show_first_order_rates(self.account, program, response.data, at=at)
        return response

    def list_levels(self, request, program_id):
        """List the levels of a program."""
        program = get_program(self.account, program_id)
        rows = self.account.levels.filter(program=program)
        return self.list_page(rows.in_definition_order())

    def list_bonuses(self, request, program_id):
        """List the bonuses of a program."""
        program = get_program(self.account, program_id)
        rows = self.account.bonuses.not_ended().filter(program=program)
        return self.list_page(rows.in_definition_order())
