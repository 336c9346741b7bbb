"""Representations of programs and their rewards."""

from rest_framework import serializers

from affiliate_site.api.fields import ExactAmountField
from affiliate_site.api.representations.nested import (
    ProgramSummarySerializer,
    ReferralLinkSerializer,
    represent_program_summary,
    represent_referral_link,
)
from payouts.models.bonuses import BonusPeriod, GoalType
from payouts.models.commission_types import RateKind
from tracking.money import get_symbol


class ProgramCategorySerializer(serializers.Serializer):
    """The category of a program; always null in this version."""

    id = serializers.IntegerField()
    identifier = serializers.CharField()
    title = serializers.CharField()


class ProgramSerializer(serializers.Serializer):
    """A program."""

    id = serializers.CharField()
    title = serializers.CharField()
    currency = serializers.CharField()
    currency_symbol = serializers.CharField()
    cookie_time = serializers.IntegerField(help_text="days")
    default_landing_page_url = serializers.CharField(allow_null=True)
    recurring = serializers.BooleanField()
    recurring_cap = serializers.IntegerField(allow_null=True)
    recurring_period_days = serializers.IntegerField(allow_null=True)
    program_category = ProgramCategorySerializer(allow_null=True)


def represent_program(row, prefix: str = "") -> dict:
    """Represent a program; its columns may have a prefix."""
    return {
        "id": row[f"{prefix}slug"],
        "title": row[f"{prefix}title"],
        "currency": row[f"{prefix}currency"],
        "currency_symbol": get_symbol(row[f"{prefix}currency"]),
        "cookie_time": row[f"{prefix}cookie_time"],
        "default_landing_page_url": row[f"{prefix}landing_page"] or None,
        "recurring": row[f"{prefix}recurring"],
        "recurring_cap": row[f"{prefix}recurring_cap"],
        "recurring_period_days": row[f"{prefix}recurring_period_days"],
        "program_category": None,  # docs/api-contract.md, section 2.7.1
    }


class EnrolledProgramSerializer(ProgramSerializer):
    """A program of an affiliate, with the approval and coupon of the affiliate."""

    program = ProgramSummarySerializer()
    approved = serializers.BooleanField(allow_null=True)
    coupon = serializers.CharField(allow_null=True)
    applied_at = serializers.DateTimeField()
    referral_link = ReferralLinkSerializer()


def represent_enrolled_program(row) -> dict:
    """Represent a program of an affiliate."""
    return represent_program(row, "program__") | {
        "program": represent_program_summary(row),
        "approved": row["approved"],
        "coupon": row["coupon__code"],
        "applied_at": row["applied_at"],
        "referral_link": represent_referral_link(row),
    }


class GroupRateSerializer(serializers.Serializer):
    """The rate of a group, which replaces the rate of a commission type."""

    affiliate_group_id = serializers.CharField()
    type = serializers.ChoiceField(RateKind.values)
    commission_value = ExactAmountField()


def represent_group_rate(row) -> dict:
    """Represent the rate of a group."""
    return {
        "affiliate_group_id": row["group__public_id"],
        "type": row["kind"],
        "commission_value": row["value"],
    }


class CommissionTypeSerializer(serializers.Serializer):
    """A commission type; a value of 10 is 10 % or 10 units of the currency."""

    title = serializers.CharField()
    identifier = serializers.CharField()
    commission_value = ExactAmountField()
    type = serializers.ChoiceField(RateKind.values)
    is_default = serializers.BooleanField()
    mlm = serializers.BooleanField(
        help_text="whether parent affiliates earn commissions of this type"
    )
    affiliate_group_overrides = GroupRateSerializer(many=True)


def represent_commission_type(row, overrides: list[dict]) -> dict:
    """Represent a commission type with its represented group rates."""
    return {
        "title": row["title"],
        "identifier": row["identifier"],
        "commission_value": row["value"],
        "type": row["kind"],
        "is_default": row["is_default"],
        "mlm": row["mlm"],
        "affiliate_group_overrides": overrides,
    }


class LevelSerializer(serializers.Serializer):
    """The rate of the parents of an affiliate on one level."""

    level = serializers.IntegerField(min_value=2)
    title = serializers.CharField()
    identifier = serializers.CharField()
    type = serializers.ChoiceField(RateKind.values)
    commission_value = ExactAmountField()
    percentage = ExactAmountField(allow_null=True)


def represent_level(row) -> dict:
    """Represent a level."""
    is_percentage = row["kind"] == RateKind.PERCENTAGE
    return {
        "level": row["level"],
        "title": row["title"],
        "identifier": f"level-{row['level']}",
        "type": row["kind"],
        "commission_value": row["value"],
        "percentage": row["value"] if is_percentage else None,
    }


class BonusSerializer(serializers.Serializer):
    """A bonus: a goal for a calendar period and its reward."""

    id = serializers.CharField()
    title = serializers.CharField()
    name = serializers.CharField()
    goal_type = serializers.ChoiceField(GoalType.values)
    goal = ExactAmountField()
    period = serializers.ChoiceField(BonusPeriod.values)
    type = serializers.ChoiceField(RateKind.values)
    amount = ExactAmountField(help_text="the reward: 5 is 5 % of the total, or 5 units")
    currency = serializers.CharField()


def represent_bonus(row) -> dict:
    """Represent a bonus."""
    return {
        "id": row["public_id"],
        "title": row["title"],
        "name": row["title"],
        "goal_type": row["goal_type"],
        "goal": row["goal"],
        "period": row["period"],
        "type": row["kind"],
        "amount": row["value"],
        "currency": row["program__currency"],
    }
