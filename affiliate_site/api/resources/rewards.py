"""Commission types, levels and bonuses of a program."""

from collections import defaultdict

from accounts.services.rate_limits import RateLimit
from affiliate_site.api.representations.programs import (
    BonusSerializer,
    CommissionTypeSerializer,
    LevelSerializer,
    represent_bonus,
    represent_commission_type,
    represent_group_rate,
    represent_level,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.models.programs import Program
from tracking.services.programs import get_program


class RewardViewSet(TenantViewSet):
    """Rewards (docs/api-contract.md, section 2.7.3), in the order of definition."""

    permission_model = Program
    throttle_rate = RateLimit(1500, minutes=5)
    plan_features = {"list_levels": "mlm", "list_bonuses": "bonuses"}
    response_serializers = {
        "list_commission_types": CommissionTypeSerializer(many=True),
        "list_levels": LevelSerializer(many=True),
        "list_bonuses": BonusSerializer(many=True),
    }

    def list_commission_types(self, request, program_id):
        """List the commission types of a program, with the rates of groups."""
        program = get_program(self.account, program_id)
        rows = self.account.commission_types.filter(program=program)
        return self.list_page_of_rows(
            self.represent_commission_types, rows.in_definition_order()
        )

    def list_levels(self, request, program_id):
        """List the levels of a program."""
        program = get_program(self.account, program_id)
        rows = self.account.levels.filter(program=program)
        return self.list_page(represent_level, rows.in_definition_order())

    def list_bonuses(self, request, program_id):
        """List the bonuses of a program."""
        program = get_program(self.account, program_id)
        rows = self.account.bonuses.filter(program=program)
        return self.list_page(represent_bonus, rows.in_definition_order())

    def represent_commission_types(self, rows):
        """Represent commission types; one more query loads the rates of groups."""
        overrides = defaultdict(list)
        rates = self.account.group_rates.filter(
            commission_type__in=[row["id"] for row in rows]
        )
        columns = ("commission_type", "group__public_id", "kind", "value")
        for rate in rates.order_by("id").values(*columns):
            overrides[rate["commission_type"]].append(represent_group_rate(rate))
        return [represent_commission_type(row, overrides[row["id"]]) for row in rows]
