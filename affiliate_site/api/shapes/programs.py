"""What goes out about programs."""

from rest_framework import serializers

from affiliate_site.api.fields import Amount
from affiliate_site.api.shapes.refs import (
    ProgramRefShape,
    ReferralLinkShape,
    program_ref_shape,
    referral_link_shape,
)
from payouts.models.bonuses import GoalType, Period
from payouts.models.commission_types import RateKind
from tracking.money import symbol


class ProgramCategoryShape(serializers.Serializer):
    """A kind of program; always null in this version."""

    id = serializers.IntegerField()
    identifier = serializers.CharField()
    title = serializers.CharField()


class ProgramShape(serializers.Serializer):
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
    program_category = ProgramCategoryShape(allow_null=True)


def program_shape(row, of: str = "") -> dict:
    """A row of `ProgramQuerySet.as_shown`, or those columns under a prefix."""
    return {
        "id": row[f"{of}slug"],
        "title": row[f"{of}title"],
        "currency": row[f"{of}currency"],
        "currency_symbol": symbol(row[f"{of}currency"]),
        "cookie_time": row[f"{of}cookie_time"],
        "default_landing_page_url": row[f"{of}landing_page"] or None,
        "recurring": row[f"{of}recurring"],
        "recurring_cap": row[f"{of}recurring_cap"],
        "recurring_period_days": row[f"{of}recurring_period_days"],
        "program_category": None,  # contract 2.7.1: always null in this version
    }


class MembershipShape(ProgramShape):
    """A program that an affiliate is in, and how it stands there."""

    program = ProgramRefShape()
    approved = serializers.BooleanField(allow_null=True)
    coupon = serializers.CharField(allow_null=True)
    applied_at = serializers.DateTimeField()
    referral_link = ReferralLinkShape()


def membership_shape(row) -> dict:
    """A row of `EnrolmentQuerySet.as_shown_by_program` as the API shows it."""
    return program_shape(row, "program__") | {
        "program": program_ref_shape(row),
        "approved": row["approved"],
        "coupon": row["coupon__code"],
        "applied_at": row["applied_at"],
        "referral_link": referral_link_shape(row),
    }


class GroupRateShape(serializers.Serializer):
    """What a group gets in place of a commission type's own rate."""

    affiliate_group_id = serializers.CharField()
    type = serializers.ChoiceField(RateKind.values)
    commission_value = Amount()


def group_rate_shape(row) -> dict:
    """A row of group rates with the group's id."""
    return {
        "affiliate_group_id": row["group__public_id"],
        "type": row["kind"],
        "commission_value": row["value"],
    }


class CommissionTypeShape(serializers.Serializer):
    """A rate of a program: 10 is 10 %, or 10 units of the currency."""

    title = serializers.CharField()
    identifier = serializers.CharField()
    commission_value = Amount()
    type = serializers.ChoiceField(RateKind.values)
    is_default = serializers.BooleanField()
    mlm = serializers.BooleanField(help_text="do parents earn by it?")
    affiliate_group_overrides = GroupRateShape(many=True)


def commission_type_shape(row, overrides: list[dict]) -> dict:
    """A row of `CommissionTypeQuerySet.as_shown`, its group rates as shown."""
    return {
        "title": row["title"],
        "identifier": row["identifier"],
        "commission_value": row["value"],
        "type": row["kind"],
        "is_default": row["is_default"],
        "mlm": row["mlm"],
        "affiliate_group_overrides": overrides,
    }


class LevelShape(serializers.Serializer):
    """What the parents of whoever sold earn on one level."""

    level = serializers.IntegerField(min_value=2)
    title = serializers.CharField()
    identifier = serializers.CharField()
    type = serializers.ChoiceField(RateKind.values)
    commission_value = Amount()
    percentage = Amount(allow_null=True)


def level_shape(row) -> dict:
    """A row of `LevelQuerySet.as_shown` as the API shows it."""
    is_share = row["kind"] == RateKind.PERCENTAGE
    return {
        "level": row["level"],
        "title": row["title"],
        "identifier": f"level-{row['level']}",
        "type": row["kind"],
        "commission_value": row["value"],
        "percentage": row["value"] if is_share else None,
    }


class BonusShape(serializers.Serializer):
    """A goal for a calendar period, and what reaching it earns."""

    id = serializers.CharField()
    title = serializers.CharField()
    name = serializers.CharField()
    goal_type = serializers.ChoiceField(GoalType.values)
    goal = Amount()
    period = serializers.ChoiceField(Period.values)
    type = serializers.ChoiceField(RateKind.values)
    amount = Amount(help_text="the reward: 5 is 5 % of the total, or 5 units")
    currency = serializers.CharField()


def bonus_shape(row) -> dict:
    """A row of `BonusQuerySet.as_shown` as the API shows it."""
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
