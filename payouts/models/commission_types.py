"""CommissionType: what a program pays for a sale."""

from django.db import models
from django.db.models import Q

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from tracking.amounts import AmountField
from tracking.models.programs import Program


class RateKind(models.TextChoices):
    """A share of the sub-amount, or an amount of its own."""

    PERCENTAGE = "percentage"
    FIXED = "fixed"


class CommissionType(Owned):
    """A rate of a program: `value` is 10 for 10 %, or 10 units of the currency."""

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

    objects = OwnedQuerySet.as_manager()

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
