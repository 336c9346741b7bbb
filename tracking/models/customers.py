"""Customer: whom an affiliate brought, for ever."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click
from tracking.models.programs import Program


class Status(models.TextChoices):
    """Where a customer stands."""

    NEW = "new"
    TRIAL = "trial"
    LEAD = "lead"
    PAYING = "paying"
    CANCELED = "canceled"


INITIAL = (Status.NEW.value, Status.TRIAL.value, Status.LEAD.value)


class CustomerQuerySet(OwnedQuerySet["Customer"]):
    """Customers of one account."""

    def present(self) -> Self:
        """Those that were not removed."""
        return self.filter(removed_at=None)

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")

    def as_shown(self) -> models.QuerySet[Customer, Any]:
        """The columns that a customer's shape reads."""
        return self.values(
            "public_id",
            "customer_id",
            "status",
            "created_at",
            "click__created_at",
            "click__referrer",
            "click__landing_page",
            "click__meta_data",
            "program__slug",
            "program__title",
            "program__currency",
            "affiliate__slug",
            "affiliate__firstname",
            "affiliate__lastname",
            "meta_data",
            "warnings",
        )


class Customer(Owned):
    """A customer of the account's shop; `customer_id` is the shop's own id.

    Removed, it is a tombstone: the `cu_` id is never used again, the shop's is
    forgotten and may be.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="customers", db_index=False
    )
    public_id = models.CharField(max_length=32)
    customer_id = models.CharField(max_length=255)
    program = models.ForeignKey(
        Program, models.PROTECT, related_name="customers", db_index=False
    )
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="customers", db_index=False
    )
    click = models.ForeignKey(
        Click, models.PROTECT, null=True, related_name="+", db_index=False
    )
    status = models.CharField(max_length=16, choices=Status)
    first_status = models.CharField(max_length=16, choices=Status)
    meta_data = models.JSONField(default=dict)
    warnings = models.JSONField(null=True)
    user_agent = models.CharField(max_length=1000, null=True)  # noqa: DJ001 - unknown
    ip = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True)

    objects = CustomerQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "public_id"], name="one_customer_per_id"
            ),
            models.UniqueConstraint(
                fields=["account", "customer_id"],
                condition=Q(removed_at=None),
                name="one_customer_per_customer_id",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"], name="customers_newest_first"
            ),
            models.Index(
                fields=["account", "program", "-created_at", "-id"],
                name="customers_of_program",
            ),
            models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="customers_of_affiliate",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id
