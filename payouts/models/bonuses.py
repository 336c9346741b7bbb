"""Bonus: a goal for a calendar period, and the reward for reaching it."""

from __future__ import annotations

from typing import ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import TenantModel, TenantQuerySet
from payouts.models.commission_types import RateKind
from tracking.amounts import AmountField
from tracking.models.programs import Program


class GoalType(models.TextChoices):
    """What the goal measures: the number of conversions, or their total amount."""

    CONVERSIONS = "conversions"
    CONVERSION_AMOUNT = "conversion_amount", "Conversion amount"


class BonusPeriod(models.TextChoices):
    """The period of a goal: calendar periods in UTC; weeks start on Monday."""

    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    ALL_TIME = "all_time", "All time"


class BonusQuerySet(TenantQuerySet["Bonus"]):
    """Bonuses of one account."""

    def not_ended(self) -> Self:
        return self.filter(ended_at=None)

    def in_definition_order(self) -> Self:
        return self.order_by("id")


class Bonus(TenantModel):
    """A reward for a goal: `value` is a percentage of the period's total, or fixed.

    `grant_bonuses` has worked through the periods that ended by `granted_until`, and
    looks at them again only if a `LateChange` is in them.
    """

    program = models.ForeignKey(Program, models.PROTECT, related_name="+", db_index=False)
    public_id = models.CharField(max_length=32)
    title = models.CharField(max_length=255)
    goal_type = models.CharField(max_length=32, choices=GoalType)
    goal = AmountField()
    period = models.CharField(max_length=16, choices=BonusPeriod)
    kind = models.CharField(max_length=16, choices=RateKind)
    value = AmountField()
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    granted_until = models.DateField(null=True)

    objects: ClassVar = BonusQuerySet.as_manager()

    class Meta:
        default_related_name = "bonuses"
        verbose_name_plural = "bonuses"
        constraints = [
            models.UniqueConstraint(fields=["account", "public_id"], name="unique_bonus_public_id"),
            models.CheckConstraint(
                condition=Q(goal__gte=0) & Q(value__gte=0),
                name="bonus_amounts_not_negative",
            ),
        ]
        indexes = [models.Index(fields=["account", "program"], name="bonuses_by_program")]

    def __str__(self) -> str:
        return self.public_id
