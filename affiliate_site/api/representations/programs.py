"""Programs and their rewards."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.compiled_queries import compiled
from accounts.models.accounts import Account
from affiliate_site.api.representations.base import (
    AlwaysNull,
    Amount,
    Boolean,
    Choice,
    Inline,
    Integer,
    Nested,
    NestedList,
    Representation,
    Text,
    Time,
)
from affiliate_site.api.representations.nested import (
    ProgramSummaryRepresentation,
    ReferralLinkRepresentation,
)
from payouts.calculation import CommissionRate
from payouts.models.bonuses import Bonus, BonusPeriod, GoalType
from payouts.models.commission_types import CommissionType, GroupRate, Level, RateKind
from payouts.services.program_rates import list_first_order_rates
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program
from tracking.money import get_symbol


class ProgramCategoryRepresentation(Representation):
    """The category of a program; always null in this version."""

    id = Integer()
    identifier = Text()
    title = Text()


def get_landing_page(landing_page: str) -> str | None:
    """Return the landing page of a program; None if it is empty."""
    return landing_page or None


class ProgramRepresentation(Representation):
    """A program."""

    model = Program

    id = Text("slug", example="tea-circle")
    title = Text(example="Tea Circle")
    currency = Text(example="EUR")
    currency_symbol = Text("currency", function=get_symbol, example="€")
    cookie_time = Integer(example=45, help_text="days")
    default_landing_page_url = Text(
        "landing_page",
        function=get_landing_page,
        null=True,
        example="https://tea.example.net/",
    )
    recurring = Boolean(example=True)
    recurring_cap = Integer(null=True)
    recurring_period_days = Integer(null=True)
    program_category = AlwaysNull(ProgramCategoryRepresentation)


@compiled
def program_by_slug(account: Account, slug: str) -> Any:
    """The program with this slug."""
    rows = Program.objects.of(account)
    return ProgramRepresentation.select(rows.filter(slug=slug))


class EnrolledProgramRepresentation(Representation):
    """A program of an affiliate, with the approval and coupon of the affiliate."""

    model = Enrollment
    join_method = "with_link_parts"

    program_keys = Inline(ProgramRepresentation, "program")
    program = Nested(ProgramSummaryRepresentation, "program")
    approved = Boolean(null=True, example=True)
    coupon = Text("coupon__code", null=True, example="NORA5")
    applied_at = Time(example="2026-05-01T07:45:00+00:00")
    referral_link = Nested(ReferralLinkRepresentation)


class GroupRateRepresentation(Representation):
    """The rate of a group, which replaces the rate of a commission type."""

    model = GroupRate

    affiliate_group_id = Text("group__public_id", example="ag_m3Rk7TsYb9Qx4LhC")
    type = Choice("kind", choices=RateKind.values, example="percentage")
    commission_value = Amount("value", example=12.5)


@compiled
def rates_of_commission_types(account: Account, parents: list[int]) -> Any:
    """The rates of groups for commission types, in the order of definition."""
    rows = GroupRate.objects.of(account).filter(commission_type__pk__in=parents)
    return GroupRateRepresentation.select(rows.order_by("id"), "commission_type")


class CommissionTypeRepresentation(Representation):
    """A commission type; a value of 10 is 10 % or 10 units of the currency."""

    model = CommissionType

    title = Text(example="Standard")
    identifier = Text(example="standard")
    commission_value = Amount("value", example=10)
    type = Choice("kind", choices=RateKind.values, example="percentage")
    is_default = Boolean(example=True)
    mlm = Boolean(
        example=True,
        help_text="whether parent affiliates earn commissions of this type",
    )
    affiliate_group_overrides = NestedList(GroupRateRepresentation, rates_of_commission_types)


def show_first_order_rates(
    account: Account, program: Program, answers: list[dict[str, Any]], *, at: datetime
) -> list[dict[str, Any]]:
    """Return the answers of commission types with the rates of first orders in them.

    Called for a program that has others than its plain ones.
    """
    plain = account.group_rates.filter(commission_type__program=program)
    groups: dict[str, int] = {}
    for rows in (plain, account.rates.filter(program=program).exclude(group=None)):
        groups |= dict(rows.order_by("id").values_list("group__public_id", "group"))
    rates = list_first_order_rates(account, program, at=at)
    of_groups = {
        public_id: list_first_order_rates(account, program, group_id=pk, at=at)
        for public_id, pk in groups.items()
    }
    return [
        answer
        | show_rate(rates[answer["identifier"]])
        | {
            "affiliate_group_overrides": [
                {"affiliate_group_id": public_id, **show_rate(of_group[answer["identifier"]])}
                for public_id, of_group in of_groups.items()
                if of_group[answer["identifier"]].source.is_of_group
            ]
        }
        for answer in answers
    ]


def show_rate(rate: CommissionRate) -> dict[str, Any]:
    """Return the type and value of a rate; `fixed_value` where both parts are there."""
    fixed = {"fixed_value": rate.fixed} if rate.fixed else {}
    return {"type": rate.kind, "commission_value": rate.value} | fixed


def build_level_identifier(level: int) -> str:
    """Return the identifier of a level."""
    return f"level-{level}"


def get_percentage(kind: str, value: Decimal) -> Decimal | None:
    """Return the value of a percentage; None if it is a fixed amount."""
    return value if kind == RateKind.PERCENTAGE else None


class LevelRepresentation(Representation):
    """The rate of the parents of an affiliate on one level."""

    model = Level

    level = Integer(example=2, min_value=2)
    title = Text(example="Parents")
    identifier = Text("level", function=build_level_identifier, example="level-2")
    type = Choice("kind", choices=RateKind.values, example="percentage")
    commission_value = Amount("value", example=3)
    percentage = Amount("kind", "value", function=get_percentage, null=True, example=3)


class BonusRepresentation(Representation):
    """A bonus: a goal for a calendar period and its reward."""

    model = Bonus

    id = Text("public_id", example="bo_c8Vn2JfLq5Xw1ZpK")
    title = Text(example="Ten in a month")
    name = Text("title", example="Ten in a month")
    goal_type = Choice(choices=GoalType.values, example="conversions")
    goal = Amount(example=10)
    period = Choice(choices=BonusPeriod.values, example="month")
    type = Choice("kind", choices=RateKind.values, example="fixed")
    amount = Amount("value", example=25, help_text="the reward: 5 is 5 % of the total, or 5 units")
    currency = Text("program__currency", example="EUR")
