"""Commission types, levels and bonuses of a program."""

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.representations.programs import (
    BonusRepresentation,
    CommissionTypeRepresentation,
    LevelRepresentation,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.models.programs import Program
from tracking.services.programs import get_program


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
        program = get_program(self.account, program_id)
        rows = self.account.commission_types.filter(program=program)
        return self.list_page(rows.in_definition_order())

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
