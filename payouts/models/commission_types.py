"""CommissionType: what a program pays for a sale; GroupRate: what a group gets instead;
Level: what the parents of whoever sold get on top."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.db.models import Q

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from tracking.amounts import AmountField
from tracking.models.affiliates import AffiliateGroup
from tracking.models.programs import Program


class RateKind(models.TextChoices):
    """A share of the sub-amount, or an amount of its own."""

    PERCENTAGE = "percentage"
    FIXED = "fixed"


class CommissionTypeQuerySet(OwnedQuerySet["CommissionType"]):
    """Commission types of one account."""

    def as_defined(self) -> Self:
        return self.order_by("id")

    def as_shown(self) -> models.QuerySet[CommissionType, Any]:
        """The columns that a commission type's shape reads, its group rates apart."""
        return self.values(
            "id", "title", "identifier", "value", "kind", "is_default", "mlm"
        )


class CommissionType(Owned):
    """A rate of a program: `value` is 10 for 10 %, or 10 units of the currency.

    Where `mlm` is off, the parents of whoever sold earn nothing by it.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="commission_types", db_index=False
    )
    program = models.ForeignKey(
        Program, models.PROTECT, related_name="commission_types", db_index=False
    )
    identifier = models.CharField(max_length=64)
    title = models.CharField(max_length=255)
    kind = models.CharField(max_length=16, choices=RateKind)
    value = AmountField()
    is_default = models.BooleanField(default=False)
    mlm = models.BooleanField(default=True, db_default=True)

    objects = CommissionTypeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "program", "identifier"],
                name="one_commission_type_per_identifier",
            ),
            models.UniqueConstraint(
                fields=["account", "program"],
                condition=Q(is_default=True),
                name="one_default_commission_type",
            ),
            models.CheckConstraint(
                condition=Q(value__gte=0), name="a_rate_is_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.program_id}/{self.identifier}"


class GroupRate(Owned):
    """What the affiliates of a group get in place of a commission type's own rate."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="group_rates", db_index=False
    )
    commission_type = models.ForeignKey(
        CommissionType, models.PROTECT, related_name="+", db_index=False
    )
    group = models.ForeignKey(
        AffiliateGroup, models.PROTECT, related_name="+", db_index=False
    )
    kind = models.CharField(max_length=16, choices=RateKind)
    value = AmountField()

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "commission_type", "group"],
                name="one_rate_per_type_and_group",
            ),
            models.CheckConstraint(
                condition=Q(value__gte=0), name="a_group_rate_is_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.commission_type_id}/{self.group_id}"


FIRST_LEVEL = 2  # whoever sold stands on the first


class LevelQuerySet(OwnedQuerySet["Level"]):
    """Levels of one account."""

    def as_defined(self) -> Self:
        return self.order_by("id")

    def as_shown(self) -> models.QuerySet[Level, Any]:
        """The columns that a level's shape reads."""
        return self.values("level", "title", "kind", "value")


class Level(Owned):
    """What a program pays the parent (2), the parent's parent (3) and so on."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="levels", db_index=False
    )
    program = models.ForeignKey(
        Program, models.PROTECT, related_name="+", db_index=False
    )
    level = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=255)
    kind = models.CharField(max_length=16, choices=RateKind)
    value = AmountField()

    objects = LevelQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "program", "level"], name="one_rate_per_level"
            ),
            models.CheckConstraint(
                condition=Q(value__gte=0) & Q(level__gte=FIRST_LEVEL),
                name="a_level_is_above_the_seller",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.program_id}/{self.level}"
