"""What a program pays: its commission types, levels and bonuses."""

from collections import defaultdict

from accounts.services.usage import Rate
from affiliate_site.api.filters import ListFilter
from affiliate_site.api.shapes.programs import (
    BonusShape,
    CommissionTypeShape,
    LevelShape,
    bonus_shape,
    commission_type_shape,
    group_rate_shape,
    level_shape,
)
from affiliate_site.api.viewsets import TenantViewSet
from tracking.models.programs import Program
from tracking.services.programs import program_named


class RewardViewSet(TenantViewSet):
    """Contract 2.7.3; each list in the order of definition."""

    thing = Program
    rates = Rate(1500, minutes=5)
    features = {"list_levels": "mlm", "list_bonuses": "bonuses"}
    filters = {
        "list_commission_types": ListFilter,
        "list_levels": ListFilter,
        "list_bonuses": ListFilter,
    }
    answers = {
        "list_commission_types": CommissionTypeShape(many=True),
        "list_levels": LevelShape(many=True),
        "list_bonuses": BonusShape(many=True),
    }

    def list_commission_types(self, request, program_id):
        """The rates of a program, and what groups get in their place."""
        program = program_named(self.account, program_id)
        rows = self.account.commission_types.filter(program=program)
        return self.page_of_all(self.with_overrides, rows.as_defined())

    def list_levels(self, request, program_id):
        """What the parents of whoever sold earn in a program."""
        program = program_named(self.account, program_id)
        rows = self.account.levels.filter(program=program)
        return self.page(level_shape, rows.as_defined())

    def list_bonuses(self, request, program_id):
        """The goals of a program, and what reaching them earns."""
        program = program_named(self.account, program_id)
        rows = self.account.bonuses.filter(program=program)
        return self.page(bonus_shape, rows.as_defined())

    def with_overrides(self, rows):
        """Commission types with the rates of groups, by one more statement."""
        overrides = defaultdict(list)
        rates = self.account.group_rates.filter(
            commission_type__in=[row["id"] for row in rows]
        )
        columns = ("commission_type", "group__public_id", "kind", "value")
        for rate in rates.order_by("id").values(*columns):
            overrides[rate["commission_type"]].append(group_rate_shape(rate))
        return [commission_type_shape(row, overrides[row["id"]]) for row in rows]
