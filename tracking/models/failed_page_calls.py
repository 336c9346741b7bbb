"""FailedPageCall: calls of the browser script that were not stored."""

from django.db import models

from accounts.models.accounts import TenantModel, TenantQuerySet


class FailedPageCall(TenantModel):
    """The calls of one page that failed for one reason on one day (UTC), counted.

    It has no personal data: no ids of orders or customers, no addresses.
    """

    day = models.DateField()
    reason = models.CharField(max_length=64)  # a stable code
    page = models.CharField(max_length=255, blank=True)  # without query; "": unknown
    count = models.PositiveIntegerField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    objects = TenantQuerySet.as_manager()

    class Meta:
        default_related_name = "failed_page_calls"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "day", "reason", "page"],
                name="one_failed_page_call_per_page",
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.reason} {self.page}"
