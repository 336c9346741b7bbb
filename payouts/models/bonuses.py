"""Bonus: a goal for a calendar period, and what reaching it earns."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from payouts.models.commission_types import RateKind
from tracking.amounts import AmountField
from tracking.models.programs import Program


class GoalType(models.TextChoices):
    """What is counted: sales, or what they came to."""

    CONVERSIONS = "conversions"
    CONVERSION_AMOUNT = "conversion_amount"


class Period(models.TextChoices):
    """For how long it is counted: calendar periods in UTC, weeks from Monday."""

    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    ALL_TIME = "all_time"


class BonusQuerySet(OwnedQuerySet["Bonus"]):
    """Bonuses of one account."""

    def as_defined(self) -> Self:
        return self.order_by("id")

    def as_shown(self) -> models.QuerySet[Bonus, Any]:
        """The columns that a bonus's shape reads."""
        return self.values(
            "public_id",
            "title",
            "goal_type",
            "goal",
            "period",
            "kind",
            "value",
            "program__currency",
        )


class Bonus(Owned):
    """A reward for a goal: `value` is a share of the period's total, or an amount."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="bonuses", db_index=False
    )
    program = models.ForeignKey(
        Program, models.PROTECT, related_name="+", db_index=False
    )
    public_id = models.CharField(max_length=32)
    title = models.CharField(max_length=255)
    goal_type = models.CharField(max_length=32, choices=GoalType)
    goal = AmountField()
    period = models.CharField(max_length=16, choices=Period)
    kind = models.CharField(max_length=16, choices=RateKind)
    value = AmountField()
    created_at = models.DateTimeField(default=timezone.now)

    objects = BonusQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "public_id"], name="one_bonus_per_id"
            ),
            models.CheckConstraint(
                condition=Q(goal__gte=0) & Q(value__gte=0),
                name="a_bonus_is_not_negative",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "program"], name="bonuses_of_program")
        ]

    def __str__(self) -> str:
        return self.public_id
