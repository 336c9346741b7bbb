"""What a program pays, as sentences: rates, bonuses, and levels for recruits."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.days import A_DAY
from affiliate_site.portal.formats import format_number, long_day
from payouts.calculation import CommissionRate, RateSourceKind
from payouts.models.bonuses import Bonus, BonusPeriod, GoalType
from payouts.models.commission_types import CommissionType, Level, RateKind
from payouts.rates import (
    COUNTRY,
    CUSTOMER_KIND,
    META_DATA,
    NEW,
    Condition,
    Orders,
    RateRule,
    SaleFacts,
)
from payouts.services.calculation_input import list_rates as list_program_rates
from tracking.models.programs import Program
from tracking.written_amounts import write_amount

PERIODS = {
    BonusPeriod.WEEK: gettext_lazy("in a week"),
    BonusPeriod.MONTH: gettext_lazy("in a month"),
    BonusPeriod.QUARTER: gettext_lazy("in a quarter"),
    BonusPeriod.YEAR: gettext_lazy("in a year"),
    BonusPeriod.ALL_TIME: gettext_lazy("in all"),
}


def list_rates(account, programs: Sequence[Any], affiliate=None) -> dict[int, list[str]]:
    """The sentences of each program by its primary key, by the rates of an affiliate.

    The programs are those of `with_further_rates`.
    """
    at, group = timezone.now(), affiliate and affiliate.group
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
            *(
                describe_further_rates(rows[program.pk], program, affiliate, at)
                if program.has_further_rates
                else describe_types(rows[program.pk], own, program.currency)
            ),
            *describe_further(further, program),
        ]
        for program in programs
    }


def describe_further_rates(
    types: Sequence[CommissionType], program: Program, affiliate, at: datetime
) -> Iterable[str]:
    """The rates of a program that pays some sales otherwise: what always counts, then those."""
    rates = list_program_rates(
        *(program.account, program),
        group_id=affiliate and affiliate.group_id,
        affiliate=affiliate,
        at=at,
    )
    lasting = [it for it in rates.rules if not (it.orders or it.conditions or it.ends_at)]
    facts = SaleFacts(day=program.account.get_day(at))
    chosen = replace(rates, rules=lasting).choose(facts)
    own = {row.pk: chosen[row.identifier] for row in types if row.identifier in chosen}
    own = {pk: rate for pk, rate in own.items() if rate.source.kind != RateSourceKind.NONE}
    paid = [row for row in types if row.pk in own]
    yield from describe_types(paid, own, program.currency)
    titles = {row.identifier: row.title for row in types}
    for rule in rates.rules:
        if rule not in lasting:
            cases = ", ".join(list_cases(rule, titles, program)) or _("all sales")
            reward = describe_reward(rule, program.currency)
            yield _("{reward}: {cases}.").format(reward=reward, cases=cases)


def describe_reward(rate: RateRule | CommissionRate, currency: str) -> str:
    """`10 %`, `3.00 EUR` or `10 % + 3.00 EUR`."""
    if rate.kind == RateKind.FIXED:
        return write_amount(rate.value, currency)
    share = f"{format_number(rate.value.normalize())} %"
    return f"{share} + {write_amount(rate.fixed, currency)}" if rate.fixed else share


def list_cases(rule: RateRule, titles: Mapping[str, str], program: Program) -> Iterable[str]:
    """The sales that a rate is for, each condition in words."""
    if "type" in rule.words:
        yield f"“{titles[rule.words['type']]}”"
    if rule.orders is not None:
        yield describe_orders(rule.orders)
    for condition in rule.conditions:
        yield describe_condition(condition, program.currency)
    if rule.ends_at is not None:
        yield _("until {day}").format(day=long_day(program.account.get_day(rule.ends_at) - A_DAY))


def describe_orders(orders: Orders) -> str:
    """`first order of a customer`, or which others."""
    if orders.months is not None:
        text = _("orders in the first {months} months of a customer")
    elif orders.last == 1:
        text = _("first order of a customer")
    elif orders.last is None:
        text = _("orders of a customer from number {first} on")
    else:
        text = _("orders {first} to {last} of a customer")
    return text.format(first=orders.first, last=orders.last, months=orders.months)


def describe_condition(condition: Condition, currency: str) -> str:
    """`sales above 100.00 EUR`, `new customers`, `customers in DE, AT` or `channel: b2b`."""
    texts = ", ".join(condition.texts)
    if condition.above is not None:
        amount = write_amount(condition.above, currency)
        return _("sales above {amount}").format(amount=amount)
    if condition.field == CUSTOMER_KIND and len(condition.texts) == 1:
        return _("new customers") if texts == NEW else _("returning customers")
    if condition.field == COUNTRY:
        return _("customers in {countries}").format(countries=texts)
    return f"{condition.field.removeprefix(META_DATA)}: {texts}"


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
        if fixed := getattr(rate, "fixed", None):
            amount = write_amount(fixed, currency)
            yield _("In addition, {amount} for each of these sales.").format(amount=amount)


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
