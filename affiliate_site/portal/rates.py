"""What a program pays, as sentences: rates, bonuses, and levels for recruits."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from affiliate_site.portal.formats import format_number
from payouts.models.bonuses import Bonus, BonusPeriod, GoalType
from payouts.models.commission_types import CommissionType, Level, RateKind
from tracking.models.programs import Program
from tracking.written_amounts import write_amount

PERIODS = {
    BonusPeriod.WEEK: gettext_lazy("in a week"),
    BonusPeriod.MONTH: gettext_lazy("in a month"),
    BonusPeriod.QUARTER: gettext_lazy("in a quarter"),
    BonusPeriod.YEAR: gettext_lazy("in a year"),
    BonusPeriod.ALL_TIME: gettext_lazy("in all"),
}


def list_rates(account, programs: Sequence[Program], group) -> dict[int, list[str]]:
    """The sentences of each program by its primary key, by the rates of a group."""
    of_group = account.group_rates.filter(group=group) if group else ()
    own = {row.commission_type_id: row for row in of_group}
    rows = defaultdict(list)
    of_programs = {"program__in": programs}
    for each in account.commission_types.filter(**of_programs).in_definition_order():
        rows[each.program_id].append(each)
    bonuses = account.bonuses.not_ended().filter(**of_programs).order_by("goal", "id")
    levels = account.levels.filter(**of_programs).order_by("level")
    further = [*bonuses, *(levels if account.plan.mlm else ())]
    return {
        program.pk: [
            *describe_types(rows[program.pk], own, program.currency),
            *describe_further(further, program),
        ]
        for program in programs
    }


def describe_types(
    types: Sequence[CommissionType], own: dict[int, Any], currency: str
) -> Iterable[str]:
    """The rate of the default type first, then each that differs by its name."""
    for row in sorted(types, key=lambda each: not each.is_default):
        rate = own.get(row.pk, row)
        amount = write_amount(rate.value, currency)
        share = format_number(rate.value.normalize())
        is_fixed = rate.kind == RateKind.FIXED
        if not row.is_default and is_fixed:
            text = _("“{name}”: {amount} for each of these sales.")
        elif not row.is_default:
            text = _("“{name}”: {share} % of these sales.")
        elif is_fixed and len(types) == 1:
            text = _("You earn {amount} for each sale.")
        elif is_fixed:
            text = _("You earn {amount} for a sale, except for:")
        elif len(types) == 1:
            text = _("You earn {share} % of each sale.")
        else:
            text = _("You earn {share} % of a sale, except for:")
        yield text.format(name=row.title, amount=amount, share=share)


def describe_further(rows: Iterable[Bonus | Level], program: Program) -> Iterable[str]:
    """Bonuses with their goals, and levels."""
    for row in rows:
        if row.program_id != program.pk:
            continue
        if isinstance(row, Bonus):
            yield describe_bonus(row, program.currency)
        else:
            yield describe_level(row, program.currency)


def describe_bonus(bonus: Bonus, currency: str) -> str:
    """`Bonus: 50.00 EUR for at least 10 sales in a month.`"""
    reward = write_amount(bonus.value, currency)
    if bonus.kind != RateKind.FIXED:
        share = format_number(bonus.value.normalize())
        reward = _("{share} % of these sales").format(share=share)
    if bonus.goal_type == GoalType.CONVERSIONS:
        goal = format_number(bonus.goal.normalize())
        text = _("Bonus: {reward} for at least {goal} sales {period}.")
    else:
        goal = write_amount(bonus.goal, currency)
        text = _("Bonus: {reward} for sales of at least {goal} {period}.")
    period = PERIODS[BonusPeriod(bonus.period)]
    return text.format(reward=reward, goal=goal, period=period)


def describe_level(row: Level, currency: str) -> str:
    """What the sales of recruits earn, by how far below they are."""
    if row.kind == RateKind.FIXED:
        text = _("Recruits, level {level}: {amount} for each of their sales.")
    else:
        text = _("Recruits, level {level}: {share} % of each of their sales.")
    amount = write_amount(row.value, currency)
    share = format_number(row.value.normalize())
    return text.format(level=row.level - 1, amount=amount, share=share)
