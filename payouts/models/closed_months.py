"""ClosedMonth: the figures of a month as they were when staff closed it."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import TenantModel


class ClosedMonth(TenantModel):
    """A closing of a month, which counts until it is reopened.

    No date before `before`, the first moment after the month, can be chosen for an entry
    meanwhile. `csv` and `pdf` are files that stay as they are, `digest` is the SHA-256 of
    the first one. A month that is closed again has another row.
    """

    month = models.DateField()  # its first day
    before = models.DateTimeField()
    csv = models.TextField()
    pdf = models.BinaryField(null=True)  # null: the server could make none
    digest = models.CharField(max_length=64)
    closed_by = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now, verbose_name="closed")
    reopened_by = models.CharField(max_length=255, blank=True)
    reopened_at = models.DateTimeField(null=True, verbose_name="reopened")
    reason = models.CharField(max_length=500, blank=True)  # why it was reopened

    class Meta:
        verbose_name = "closed month"
        default_related_name = "closed_months"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "month"],
                condition=Q(reopened_at=None),
                name="one_closing_per_month",
            )
        ]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}"

    @property
    def title(self) -> str:
        """`October 2026`."""
        return f"{self.month:%B %Y}"
