"""Alert: what a watch found, until it is over."""

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel
from payouts.models.refunds import MAX_REASON_LENGTH
from tracking.models.affiliates import Affiliate

MAX_WATCH_LENGTH = 32


class AlertState(models.TextChoices):
    """Whether what was found lasts, and whether staff have seen it."""

    OPEN = "open"
    DISMISSED = "dismissed"  # it lasts, and staff know why
    OVER = "over"


class Alert(TenantModel):
    """What a watch of `payouts/services/watches.py` found of one subject.

    At most one of a watch and subject lasts. `object_id` is the row that its page is
    about, if the watch is about rows. `text` has the figures that were found last, and
    no personal data.
    """

    not_exported = "found again where the account moves to"

    watch = models.CharField(max_length=MAX_WATCH_LENGTH)
    subject = models.CharField(max_length=64, blank=True)
    object_id = models.BigIntegerField(null=True)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    text = models.CharField(max_length=500)
    state = models.CharField(max_length=16, choices=AlertState, default=AlertState.OPEN)
    note = models.CharField(max_length=MAX_REASON_LENGTH, blank=True)
    dismissed_by = models.CharField(max_length=255, blank=True)
    dismissed_at = models.DateTimeField("dismissed", null=True)
    mailed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField("opened", default=timezone.now)
    closed_at = models.DateTimeField("over since", null=True)

    class Meta:
        default_related_name = "alerts"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "watch", "subject"],
                condition=models.Q(closed_at=None),
                name="one_lasting_alert_per_subject",
            )
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="alerts_newest_first")
        ]

    def __str__(self) -> str:
        return self.watch
