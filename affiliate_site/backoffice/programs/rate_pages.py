"""Forms of a program's commission types, levels, group rates and bonuses."""

from decimal import Decimal
from typing import Any

from django import forms
from django.urls import reverse
from django.utils.text import capfirst

from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.forms import (
    DecimalField,
    NewIdField,
    RowChoiceField,
    ServiceForm,
)
from affiliate_site.backoffice.programs.program_pages import RATE_CHOICES
from payouts.models.bonuses import BonusPeriod, GoalType
from payouts.models.commission_types import GroupRate, Level
from payouts.services import bonus_rules, rates

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
FROM_NOW_ON = (
    "Sales from now on earn the new rate. Commissions that exist keep the rate that"
    " they were created with, also when their amount is corrected later."
)


class RateForm(ServiceForm):
    """A percentage, or an amount in the program's currency."""

    kind = forms.ChoiceField(label="Commission", choices=RATE_CHOICES)
    value = DecimalField(
        label="Rate", help_text="10 is 10 percent, or 10 units of the currency."
    )


class TitledRateForm(RateForm):
    """A rate with a title."""

    title = forms.CharField()

    field_order: tuple[str, ...] = ("title",)


class CommissionTypeForm(TitledRateForm):
    """What can change of a commission type."""

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
    """A new commission type."""

    identifier = NewIdField()

    field_order = ("title", "identifier")


class NewGroupRateForm(RateForm):
    """The rate of a group for one commission type of the program."""

    commission_type = RowChoiceField(
        "commission_types", label_from=lambda row: f"{row.title} ({row.identifier})"
    )
    group = RowChoiceField("affiliate_groups", label_from=lambda row: row.title)

    field_order = ("group", "commission_type")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        types: Any = self.fields["commission_type"]
        types.queryset = types.queryset.filter(program=self.row).in_definition_order()
        self.initial["commission_type"] = types.queryset.filter(is_default=True).first()


class BonusForm(TitledRateForm):
    """What a bonus asks for and pays."""

    goal_type = forms.ChoiceField(label="Goal", choices=GOAL_CHOICES)
    goal = DecimalField(
        label="At least", help_text="Conversions, or their amount in the currency."
    )
    period = forms.ChoiceField(
        label="Within", choices=PERIOD_CHOICES, help_text="Calendar periods in UTC."
    )

    value = DecimalField(
        label="Rate",
        help_text="10 is 10 percent of the amount of the conversions that count for the"
        " goal, or 10 units of the currency.",
    )

    field_order = ("title", "goal_type", "goal", "period", "kind", "value")


class RatePage(FormPage):
    """A page that leads back to the program; `feature` is one of the plan's."""

    permission = "tracking.change_program"
    feature = ""
    done = "was saved"

    @classmethod
    def is_offered(cls, row):
        return not cls.feature or getattr(row.account.plan, cls.feature)

    def get_subject(self):
        return describe(self.row)

    def get_done_message(self, result):
        return f"{capfirst(describe(result or self.row))} {self.done}."

    def get_done_url(self, result):
        program = getattr(self.row, "program", None) or getattr(
            getattr(self.row, "commission_type", None), "program", self.row
        )
        return reverse("admin:tracking_program_change", args=[program.pk])


def describe(row) -> str:
    """A program or one of its rates, as staff call it."""
    if isinstance(row, GroupRate):
        return f"{row.group.title}, {row.commission_type.title}"
    return f"level {row.level}" if isinstance(row, Level) else row.title


class EditRatePage(RatePage):
    """Change one row of a program's rates."""

    name = "edit"
    title = "Edit"
    explanation = FROM_NOW_ON

    def get_unlocked_initial(self, row):
        values = {name: getattr(row, name) for name in self.form_class.base_fields}
        return {
            name: f"{value.normalize():f}" if isinstance(value, Decimal) else value
            for name, value in values.items()
        }


class RemoveRatePage(RatePage):
    """Remove one row of a program's rates; `remove` is the service."""

    name = "remove"
    title = button = "Remove"
    done = "was removed"
    is_dangerous = True
    remove: Any = None

    def save(self, form, at):
        self.remove(self.account, pk=self.row.pk, at=at)


class AddCommissionTypePage(RatePage):
    """Add a commission type."""

    name = "add-commission-type"
    title = button = "Add commission type"
    form_class = NewCommissionTypeForm

    def save(self, form, at):
        return rates.create_commission_type(
            self.account, program=self.row, at=at, **form.cleaned_data
        )


class EditCommissionTypePage(EditRatePage):
    """Change a commission type."""

    form_class = CommissionTypeForm

    def save(self, form, at):
        return rates.update_commission_type(
            self.account, pk=self.row.pk, changes=form.cleaned_data, at=at
        )


class RemoveCommissionTypePage(RemoveRatePage):
    """Remove a commission type."""

    explanation = (
        "Calls that still name this commission type will be refused. Its group rates"
        " are removed with it; commissions that exist stay as they are."
    )
    remove = staticmethod(rates.delete_commission_type)

    @classmethod
    def is_offered(cls, row):
        return not row.is_default


class AddGroupRatePage(RatePage):
    """Set the rate of a group."""

    name = "add-group-rate"
    title = "Set group rate"
    explanation = f"Replaces the rate for affiliates of the group. {FROM_NOW_ON}"
    form_class = NewGroupRateForm

    def save(self, form, at):
        return rates.set_group_rate(self.account, at=at, **form.cleaned_data)


class EditGroupRatePage(EditRatePage):
    """Change the rate of a group."""

    form_class = RateForm

    def save(self, form, at):
        row = self.row
        return rates.set_group_rate(
            self.account,
            commission_type=row.commission_type,
            group=row.group,
            at=at,
            **form.cleaned_data,
        )


class RemoveGroupRatePage(RemoveRatePage):
    """Remove the rate of a group."""

    explanation = "The group earns the rate of the commission type again, from now on."
    remove = staticmethod(rates.delete_group_rate)


class AddLevelPage(RatePage):
    """Add the next level."""

    name = "add-level"
    title = button = "Add level"
    feature = "mlm"
    explanation = (
        "Level 2 pays the parent of the affiliate who earned the sale, level 3 the"
        " parent's parent, and so on."
    )
    form_class = TitledRateForm

    def save(self, form, at):
        return rates.create_level(
            self.account, program=self.row, at=at, **form.cleaned_data
        )


class EditLevelPage(EditRatePage):
    """Change a level."""

    form_class = TitledRateForm

    def save(self, form, at):
        return rates.update_level(
            self.account, pk=self.row.pk, changes=form.cleaned_data, at=at
        )


class RemoveLevelPage(RemoveRatePage):
    """Remove the last level."""

    explanation = "Parents of this level earn nothing from sales from now on."
    remove = staticmethod(rates.delete_level)


class AddBonusPage(RatePage):
    """Create a bonus."""

    name = "add-bonus"
    title = button = "Add bonus"
    feature = "bonuses"
    explanation = (
        "Granted once a period is over and none of its commissions is pending. Of"
        " several bonuses with the same goal and period, the highest reached counts."
    )
    form_class = BonusForm

    def save(self, form, at):
        rule = bonus_rules.BonusRule(**form.cleaned_data)
        return bonus_rules.create_bonus(
            self.account, program=self.row, rule=rule, at=at
        )


class EditBonusPage(EditRatePage):
    """Change a bonus."""

    explanation = "Counts for bonuses that are granted from now on."
    form_class = BonusForm

    @classmethod
    def is_offered(cls, row):
        return row.ended_at is None

    def save(self, form, at):
        return bonus_rules.update_bonus(
            self.account, pk=self.row.pk, changes=form.cleaned_data, at=at
        )


class EndBonusPage(RemoveRatePage):
    """End a bonus."""

    name = "end"
    title = button = "End bonus"
    done = "was ended"
    explanation = "It is not granted for the present period, nor for later ones."
    remove = staticmethod(bonus_rules.end_bonus)

    @classmethod
    def is_offered(cls, row):
        return row.ended_at is None


PROGRAM_RATE_PAGES = (
    AddCommissionTypePage,
    AddGroupRatePage,
    AddLevelPage,
    AddBonusPage,
)
