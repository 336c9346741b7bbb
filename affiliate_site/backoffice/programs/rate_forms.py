"""The fields of commission types, levels, group rates and bonuses."""

from typing import Any

from django import forms

from affiliate_site.backoffice.fields import DecimalField, NewIdField, RowChoiceField
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.programs.program_pages import RATE_CHOICES
from payouts.models.bonuses import BonusPeriod, GoalType
from payouts.models.commission_types import RateKind

GOAL_CHOICES = (
    (GoalType.CONVERSIONS, "Number of conversions"),
    (GoalType.CONVERSION_AMOUNT, "Total amount of conversions"),
)
PERIOD_CHOICES = (
    (BonusPeriod.WEEK, "Week"),
    (BonusPeriod.MONTH, "Month"),
    (BonusPeriod.QUARTER, "Quarter"),
    (BonusPeriod.YEAR, "Year"),
    (BonusPeriod.ALL_TIME, "All time"),
)


class RateForm(ServiceForm):
    """A percentage, or an amount in the program's currency."""

    kind = forms.ChoiceField(label="Commission", choices=RATE_CHOICES)
    value = DecimalField(label="Rate", help_text="10 is 10 percent, or 10 units of the currency.")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        value: Any = self.fields["value"]
        value.unit = "%" if self.data.get("kind") == RateKind.PERCENTAGE else ""


class TitledRateForm(RateForm):
    title = forms.CharField()

    field_order: tuple[str, ...] = ("title",)


class LevelForm(TitledRateForm):
    """What a parent earns."""

    value = DecimalField(
        label="Rate",
        help_text="10 is 10 percent of the sale's amount (not of the affiliate's"
        " commission), or 10 units of the currency for each sale.",
    )

    field_order = ("title", "kind", "value")


class CommissionTypeForm(TitledRateForm):
    mlm = forms.BooleanField(
        label="Parents earn, too",
        required=False,
        initial=True,
        help_text="By the levels of the program.",
    )
    is_default = forms.BooleanField(
        label="Default",
        required=False,
        help_text="For sales that name no commission type.",
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        plan, field = self.account.plan, self.fields["mlm"]
        if not plan.mlm:
            field.disabled = True
            field.help_text = f"Not yet: the plan {plan} has no levels."


class NewCommissionTypeForm(CommissionTypeForm):
    identifier = NewIdField()

    field_order = ("title", "identifier")


class NewGroupRateForm(RateForm):
    commission_type = RowChoiceField(
        "commission_types", label_from=lambda row: f"{row.title} ({row.identifier})"
    )
    group = RowChoiceField("affiliate_groups")

    field_order = ("group", "commission_type")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        types: Any = self.fields["commission_type"]
        types.queryset = types.queryset.filter(program=self.row).in_definition_order()
        self.initial["commission_type"] = types.queryset.filter(is_default=True).first()


class BonusForm(TitledRateForm):
    """What a bonus asks for and pays."""

    kind = forms.ChoiceField(label="Commission", choices=RATE_CHOICES, initial=RateKind.FIXED)
    goal_type = forms.ChoiceField(label="Goal", choices=GOAL_CHOICES)
    goal = DecimalField(label="At least", help_text="Conversions, or their amount in the currency.")
    period = forms.ChoiceField(
        label="Within", choices=PERIOD_CHOICES, help_text="Calendar periods in UTC."
    )

    value = DecimalField(
        label="Rate",
        help_text="10 is 10 percent of the amount of the conversions that count for the"
        " goal, or 10 units of the currency.",
    )

    field_order = ("title", "goal_type", "goal", "period", "kind", "value")
