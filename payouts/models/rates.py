"""Rate: what a program pays in place of the rate of a commission type, where it holds."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from accounts.models.accounts import TenantModel
from payouts.models.commission_types import CommissionType, RateKind
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.models.programs import Program


class Rate(TenantModel):
    """A rate of a program for some of its sales; null: for all of them.

    `value` is 10 for 10 %, or 10 units of the currency; `fixed` comes on top of a
    percentage. The customer's order counts from 1. `conditions` is a list as in the file
    of `set_rates`; `position` is the place in it.
    """

    program = models.ForeignKey(Program, models.PROTECT, related_name="+", db_index=False)
    commission_type = models.ForeignKey(
        CommissionType, models.PROTECT, null=True, related_name="+", db_index=False
    )
    group = models.ForeignKey(
        AffiliateGroup, models.PROTECT, null=True, related_name="+", db_index=False
    )
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    kind = models.CharField(max_length=16, choices=RateKind)
    value = AmountField()
    fixed = AmountField(null=True)  # type: ignore[misc]
    first_order = models.PositiveIntegerField(null=True)
    last_order = models.PositiveIntegerField(null=True)
    order_months = models.PositiveSmallIntegerField(null=True)
    conditions = models.JSONField(null=True)
    starts_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)  # exclusive
    counts_from = models.DateTimeField()  # since when it was set, whatever its start
    position = models.PositiveIntegerField()

    class Meta:
        default_related_name = "rates"
        constraints = [
            models.CheckConstraint(
                condition=Q(value__gte=0) & (Q(fixed=None) | Q(fixed__gte=0)),
                name="rate_amounts_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(starts_at=None)
                | Q(ends_at=None)
                | Q(ends_at__gt=models.F("starts_at")),
                name="rate_ends_after_its_start",
            ),
        ]
        indexes = [models.Index(fields=["account", "program"], name="rates_by_program")]

    def __str__(self) -> str:
        return f"{self.program_id}/{self.pk}"

    @property
    def log_id(self) -> str:
        return f"{self.program.slug}/{self.pk}"
