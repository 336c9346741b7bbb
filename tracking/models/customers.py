"""Customer: a buyer, attributed to one affiliate permanently."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import TenantQuerySet
from accounts.models.row_counts import DailyCountedRow
from tracking.meta_data import find_email
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click
from tracking.models.programs import Program


class CustomerStatus(models.TextChoices):
    """The status of a customer."""

    NEW = "new"
    TRIAL = "trial"
    LEAD = "lead"
    PAYING = "paying"
    CANCELED = "canceled"


INITIAL_CUSTOMER_STATUSES = (
    CustomerStatus.NEW.value,
    CustomerStatus.TRIAL.value,
    CustomerStatus.LEAD.value,
)


class CustomerQuerySet(TenantQuerySet["Customer"]):
    """Customers of one account."""

    def not_deleted(self) -> Self:
        """Customers that are not deleted."""
        return self.filter(deleted_at=None)


class Customer(DailyCountedRow):
    """A customer of the account's shop; `customer_id` is the shop's own id.

    A deleted customer keeps its row and `public_id`. Its `customer_id` is erased and
    may be used again.
    """

    counted_by = ("program", "affiliate")
    removed_by = "deleted_at"

    public_id = models.CharField("ID", max_length=32)
    customer_id = models.CharField("customer ID", max_length=255)
    program = models.ForeignKey(Program, models.PROTECT, related_name="customers", db_index=False)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="customers", db_index=False
    )
    click = models.ForeignKey(Click, models.PROTECT, null=True, related_name="+", db_index=False)
    status = models.CharField(max_length=16, choices=CustomerStatus)
    initial_status = models.CharField(max_length=16, choices=CustomerStatus)
    # False: only a page has named it so far (docs/tracking-trust.md).
    is_confirmed = models.BooleanField("confirmed", default=True, db_default=True)
    # Pages named it for several affiliates, and nobody has confirmed it yet.
    is_contested = models.BooleanField(default=False, db_default=False)
    meta_data = models.JSONField("metadata", default=dict)
    # The address in the meta data, case-folded (`Account.customer_email_keys`).
    email_folded = models.CharField(max_length=765, null=True)  # noqa: DJ001
    warnings = models.JSONField(null=True)
    user_agent = models.CharField("browser", max_length=1000, null=True)  # noqa: DJ001 - unknown
    ip = models.GenericIPAddressField("IP address", null=True)
    created_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField("removed", null=True)

    objects: ClassVar = CustomerQuerySet.as_manager()

    class Meta:
        default_related_name = "customers"
        constraints = [
            models.UniqueConstraint(fields=["account", "public_id"], name="one_customer_per_id"),
            models.UniqueConstraint(
                fields=["account", "customer_id"],
                condition=Q(deleted_at=None),
                name="one_customer_per_customer_id",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="customers_newest_first"),
            models.Index(
                fields=["account", "program", "-created_at", "-id"],
                name="customers_of_program",
            ),
            models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="customers_of_affiliate",
            ),
            models.Index(
                fields=["account", "email_folded"],
                condition=Q(email_folded__isnull=False),
                name="customers_by_email",
            ),
            models.Index(
                fields=["account", "affiliate"],
                condition=Q(is_confirmed=False),
                name="unconfirmed_customers",
            ),
            models.Index(
                fields=["click"],
                condition=Q(click__isnull=False),
                name="customers_of_click",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    def update_row(
        self,
        *,
        expected: dict[str, Any] | None = None,
        at: datetime | None = None,
        **values: Any,
    ) -> bool:
        """Update the row, and with the meta data the address that it is found by."""
        if "meta_data" in values:
            keys = self.account.customer_email_keys
            values["email_folded"] = find_email(values["meta_data"], keys)
        return super().update_row(expected=expected, at=at, **values)
