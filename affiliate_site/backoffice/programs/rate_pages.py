"""Pages of a program's commission types, levels, group rates and bonuses."""

from decimal import Decimal

from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.text import capfirst

from accounts.days import A_DAY
from affiliate_site.api.fields import parse_integer_id
from affiliate_site.backoffice.form_pages import (
    EditPage,
    FormPage,
    RemovePage,
)
from affiliate_site.backoffice.formatters import count_noun, format_money, format_person
from affiliate_site.backoffice.money_pages import MoneyFormPage
from affiliate_site.backoffice.programs.rate_effects import EffectMixin
from affiliate_site.backoffice.programs.rate_forms import (
    BonusForm,
    CommissionTypeForm,
    LevelForm,
    NewCommissionTypeForm,
    NewGroupRateForm,
    RateForm,
)
from affiliate_site.backoffice.theme import get_object_url
from payouts.models.bonuses import Bonus
from payouts.models.commission_types import CommissionType, GroupRate, Level, RateKind
from payouts.services import bonus_rules, programs
from payouts.services.bonus_rules import PeriodRange
from payouts.services.bonuses import EarnedBonus, preview_bonus
from tracking.money import ZERO, round_amount

FROM_NOW_ON = (
    "Sales from now on earn the new rate. Commissions that exist keep the rate that"
    " they were created with, also when their amount is corrected later."
)
MAX_PREVIEWED = 20  # affiliates


class RatePage(FormPage):
    """A page that leads back to the program."""

    permission = "tracking.change_program"
    done_message = "{rate} was saved."

    @classmethod
    def is_offered(cls, row):
        return not isinstance(row, Bonus) or row.ended_at is None

    def get_subject(self):
        return describe(self.row)

    def get_done_message(self, result):
        return self.done_message.format(rate=capfirst(describe(result or self.row)))

    def get_back_url(self):
        program = getattr(self.row, "program", None) or getattr(
            getattr(self.row, "commission_type", None), "program", self.row
        )
        return get_object_url(program)


def describe(row) -> str:
    """A program or one of its rates, as staff call it."""
    if isinstance(row, GroupRate):
        return f"{row.group.title}, {row.commission_type.title}"
    return f"level {row.level}" if isinstance(row, Level) else row.title


class AddRatePage(RatePage):
    """Add a rate to a program; `feature` is one of the plan's."""

    feature = ""
    has_button = False  # but a link below the rates

    @classmethod
    def is_offered(cls, row):
        return not cls.feature or getattr(row.account.plan, cls.feature)

    def get_row_arguments(self):
        return {"program": self.row}


class AddCommissionTypePage(AddRatePage):
    name = "add-commission-type"
    title = button = "Add commission type"
    form_class = NewCommissionTypeForm
    service = staticmethod(programs.create_commission_type)


class AddGroupRatePage(EffectMixin, AddRatePage):
    name = "add-group-rate"
    title = "Set group rate"
    explanation = f"Replaces the rate for affiliates of the group. {FROM_NOW_ON}"
    form_class = NewGroupRateForm

    @cached_property
    def group(self):
        """The group whose page leads here, with `?group=` and its key; else None."""
        key = parse_integer_id(self.request.GET.get("group", ""))
        return self.account.affiliate_groups.filter(pk=key).first() if key else None

    def get_initial(self):
        chosen = {"group": self.group} if self.group else {}
        return super().get_initial() | chosen

    def get_back_url(self):
        return get_object_url(self.group) if self.group else super().get_back_url()

    def get_effect_row(self, form):
        kind, group = form.values["commission_type"], form.values["group"]
        return GroupRate(account=self.account, commission_type=kind, group=group)

    def save(self, form, at):
        return programs.set_group_rate(self.account, at=at, **form.values)


class AddLevelPage(EffectMixin, AddRatePage):
    name = "add-level"
    title = button = "Add level"
    feature = "mlm"
    explanation = (
        "Level 1 is the affiliate who earned the sale. Level 2 pays the parent, who"
        " recruited this affiliate, level 3 the parent's parent, and so on. A parent"
        " who is not approved in the program earns nothing."
    )
    form_class = LevelForm
    service = staticmethod(programs.create_level)

    def get_effect_row(self, form):
        number = programs.get_next_level(self.account, self.row)
        return Level(account=self.account, program=self.row, level=number)


class BonusPage(MoneyFormPage):
    """Shows whom a bonus would have paid before it is saved."""

    form_class = BonusForm
    confirm_button = "Save"

    def must_be_confirmed(self, form):
        return True

    def list_facts(self, form, bonus):
        period, earned = preview_bonus(bonus, at=timezone.now())
        amounts = [round_amount(it.exact_amount, it.balance_key[1]) for it in earned]
        total = format_money(sum(amounts, ZERO), bonus.program.currency)
        affiliates = self.account.affiliates.in_bulk([it.affiliate_id for it in earned])
        facts = [
            (
                format_person(affiliates[it.affiliate_id]),
                f"{describe_progress(it)}: {format_money(amount, it.balance_key[1])}",
            )
            for it, amount in list(zip(earned, amounts, strict=True))[:MAX_PREVIEWED]
        ]
        number = count_noun(len(earned), "affiliate")
        return [
            (
                f"With this goal, {describe_period(period)}",
                f"{number}, together {total}" if earned else "nobody",
            ),
            *facts,
        ]


def describe_period(period: PeriodRange) -> str:
    """`from 2026-10-01 to 2026-10-31`, or `until now`."""
    if period.end is None:
        return "until now"
    return f"from {period.start} to {period.end - A_DAY}"


def describe_progress(earned: EarnedBonus) -> str:
    """`12 conversions of 300.00 EUR`."""
    progress, currency = earned.progress, earned.balance_key[1]
    number = progress.conversion_count
    amount = format_money(progress.conversion_amount, currency)
    return f"{count_noun(number, 'conversion')} of {amount}"


class AddBonusPage(BonusPage, AddRatePage):
    name = "add-bonus"
    title = confirm_button = "Add bonus"
    feature = "bonuses"
    explanation = (
        "Granted once a period is over and none of its commissions is pending. Of"
        " several bonuses with the same goal and period, the highest reached counts."
    )
    service = staticmethod(bonus_rules.create_bonus)

    def get_values(self, form):
        return {"rule": bonus_rules.BonusRule(**form.values)}


def update_group_rate(account, *, pk: int, changes, at):
    row = account.group_rates.select_related("commission_type", "group").get(pk=pk)
    return programs.set_group_rate(
        account, commission_type=row.commission_type, group=row.group, at=at, **changes
    )


def format_commission_rate(row, currency: str) -> str:
    """`7.5 %` or `12.00 EUR`."""
    if row.kind == RateKind.FIXED:
        return format_money(row.value, currency)
    return f"{row.value.normalize():f} %"


def format_rate(row) -> str:
    owner = row.commission_type if isinstance(row, GroupRate) else row
    return format_commission_rate(row, owner.program.currency)


def describe_reach(row) -> str:
    """For how many affiliates a rate of a commission type, or of a group, counts."""
    if not isinstance(row, CommissionType | GroupRate):
        return ""
    kind = row.commission_type if isinstance(row, GroupRate) else row
    enrollments = row.account.enrollments.filter(
        program=kind.program, approved=True, affiliate__deleted_at=None
    )
    if isinstance(row, GroupRate):
        found = enrollments.filter(affiliate__group=row.group)
    else:
        groups = row.account.group_rates.filter(commission_type=row).values("group")
        found = enrollments.exclude(affiliate__group__in=groups)
    number = found.count()
    return f"It counts for {count_noun(number, 'approved affiliate')}."


class EditRatePage(RatePage, EditPage):
    """Change a rate; the service takes `changes`."""

    explanation = FROM_NOW_ON

    def get_explanation(self):
        return " ".join(filter(None, [self.explanation, describe_reach(self.row)]))

    def get_done_message(self, result):
        before, after = format_rate(self.row), format_rate(result)
        if before == after:
            return super().get_done_message(result)
        scope = "" if isinstance(result, Bonus) else ", for sales from now on"
        return f"{capfirst(describe(result))} was saved: {before} → {after}{scope}."

    def get_unlocked_initial(self, row):
        return {
            name: value.normalize() if isinstance(value, Decimal) else value
            for name, value in super().get_unlocked_initial(row).items()
        }

    def get_values(self, form):
        return {"changes": form.values}


class EditCommissionTypePage(EffectMixin, EditRatePage):
    form_class = CommissionTypeForm
    service = staticmethod(programs.update_commission_type)


class EditGroupRatePage(EffectMixin, EditRatePage):
    form_class = RateForm
    service = staticmethod(update_group_rate)

    def lock_row(self, at):
        return programs.lock_group_rate(self.account, pk=self.row.pk)


class EditLevelPage(EffectMixin, EditRatePage):
    form_class = LevelForm
    service = staticmethod(programs.update_level)


class EditBonusPage(BonusPage, EditRatePage):
    explanation = "Counts for bonuses that are granted from now on."
    service = staticmethod(bonus_rules.update_bonus)


class RemoveRatePage(RatePage, RemovePage):
    button = "Remove"
    done_message = "{rate} was removed."


class RemoveCommissionTypePage(RemoveRatePage):
    explanation = (
        "Calls that still name this commission type will be refused. Its group rates"
        " are removed with it; commissions that exist stay as they are."
    )
    service = staticmethod(programs.delete_commission_type)

    @classmethod
    def is_offered(cls, row):
        return super().is_offered(row) and not row.is_default


class WithoutRate(EffectMixin):
    """Its effect is that there is no rate."""

    def get_rate(self, form):
        return None


class RemoveGroupRatePage(WithoutRate, RemoveRatePage):
    explanation = "The group earns the rate of the commission type again, from now on."
    service = staticmethod(programs.delete_group_rate)


class RemoveLevelPage(WithoutRate, RemoveRatePage):
    explanation = "Parents of this level earn nothing from sales from now on."
    service = staticmethod(programs.delete_level)


class EndBonusPage(RemoveRatePage):
    name = "end"
    title = button = "End bonus"
    explanation = "It is not granted for the present period, nor for later ones."
    service = staticmethod(bonus_rules.end_bonus)
    done_message = "{rate} was ended."


PROGRAM_RATE_PAGES = (
    AddCommissionTypePage,
    AddGroupRatePage,
    AddLevelPage,
    AddBonusPage,
)
