"""Commission rates: CommissionType of a program, GroupRate of an affiliate group in its
place, and Level for the parents of the affiliate."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Self

from django.db import models
from django.db.models import Q

from accounts.models.accounts import TenantModel, TenantQuerySet
from tracking.amounts import AmountField
from tracking.models.affiliates import AffiliateGroup
from tracking.models.programs import Program


class RateKind(models.TextChoices):
    """A percentage of the sub-amount, or a fixed amount."""

    PERCENTAGE = "percentage"
    FIXED = "fixed"


def not_ended(at: datetime) -> Q:
    """Rates that hold at this time, or that begin later."""
    return Q(ends_at=None) | Q(ends_at__gt=at)


class CommissionTypeQuerySet(TenantQuerySet["CommissionType"]):
    """Commission types of one account."""

    def in_definition_order(self) -> Self:
        return self.order_by("id")


class CommissionType(TenantModel):
    """A rate of a program: `value` is 10 for 10 %, or 10 units of the currency.

    If `mlm` is off, the affiliate's parents earn no level commissions. From `ends_at` on
    only rates of `Rate` count.
    """

    program = models.ForeignKey(
        Program, models.PROTECT, related_name="commission_types", db_index=False
    )
    identifier = models.CharField(max_length=64)
    title = models.CharField(max_length=255)
    kind = models.CharField(max_length=16, choices=RateKind)
    value = AmountField()
    is_default = models.BooleanField(default=False)
    mlm = models.BooleanField("pays parents", default=True, db_default=True)
    ends_at = models.DateTimeField(null=True)

    objects: ClassVar = CommissionTypeQuerySet.as_manager()

    class Meta:
        default_related_name = "commission_types"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "program", "identifier"],
                name="unique_commission_type_identifier",
            ),
            models.UniqueConstraint(
                fields=["account", "program"],
                condition=Q(is_default=True),
                name="unique_default_commission_type",
            ),
            models.CheckConstraint(
                condition=Q(value__gte=0), name="commission_type_value_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.program_id}/{self.identifier}"

    @property
    def log_id(self) -> str:
        return f"{self.program.slug}/{self.identifier}"


class GroupRate(TenantModel):
    """The rate of a commission type for the affiliates of a group, until `ends_at`."""

    commission_type = models.ForeignKey(
        CommissionType, models.PROTECT, related_name="+", db_index=False
    )
    group = models.ForeignKey(AffiliateGroup, models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=16, choices=RateKind)
    value = AmountField()
    ends_at = models.DateTimeField(null=True)

    class Meta:
        default_related_name = "group_rates"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "commission_type", "group"],
                name="unique_group_rate",
            ),
            models.CheckConstraint(condition=Q(value__gte=0), name="group_rate_value_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.commission_type_id}/{self.group_id}"

    @property
    def log_id(self) -> str:
        return f"{self.commission_type.log_id}/{self.group.public_id}"


MIN_PARENT_LEVEL = 2  # level 1 is the affiliate of the conversion


class LevelQuerySet(TenantQuerySet["Level"]):
    """Levels of one account."""

    def in_definition_order(self) -> Self:
        return self.order_by("id")


class Level(TenantModel):
    """The rate that a program pays the parent (2), the parent's parent (3) etc."""

    program = models.ForeignKey(Program, models.PROTECT, related_name="+", db_index=False)
    level = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=255)
    kind = models.CharField(max_length=16, choices=RateKind)
    value = AmountField()

    objects: ClassVar = LevelQuerySet.as_manager()

    class Meta:
        default_related_name = "levels"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "program", "level"], name="unique_program_level"
            ),
            models.CheckConstraint(
                condition=Q(value__gte=0) & Q(level__gte=MIN_PARENT_LEVEL),
                name="level_at_least_minimum",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.program_id}/{self.level}"

    @property
    def log_id(self) -> str:
        return f"{self.program.slug}/{self.level}"
