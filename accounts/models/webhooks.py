"""Webhooks: WebhookEndpoint, what to call; Delivery, what is told and how that went."""

from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from accounts.models.events import Event

# Contract 6.1; the diary has other kinds as well, which nobody outside is told of.
EVENTS = (
    "affiliate.created",
    "affiliate.updated",
    "affiliate.deleted",
    "affiliate.added_to_group",
    "affiliate.added_to_program",
    "affiliate.approved",
    "affiliate.disapproved",
    "affiliate_prospect.created",
    "affiliate_prospect.promoted",
    "affiliate_prospect.deleted",
    "customer.created",
    "customer.updated",
    "customer.deleted",
    "conversion.created",
    "conversion.updated",
    "conversion.deleted",
    "commission.created",
    "commission.updated",
    "payment.created",
    "payment.canceled",
)
# Contract 4, its end: what an affiliate's own postback may be called for.
POSTBACK_EVENTS = (
    "conversion.created",
    "conversion.updated",
    "customer.created",
    "customer.updated",
)


# Why an endpoint is disabled, where it did not fail.
BY_HAND = "by hand"
AFFILIATE_REMOVED = "the affiliate was removed"
MEANT = (BY_HAND, AFFILIATE_REMOVED)


class Method(models.TextChoices):
    """How an affiliate's postback is called; a webhook is always a POST."""

    GET = "GET"
    POST = "POST"


class WebhookEndpointQuerySet(OwnedQuerySet["WebhookEndpoint"]):
    """Endpoints of one account."""

    def listening(self) -> Self:
        """Those that are told of what happens, in the order they were made."""
        return self.filter(disabled_at=None).order_by("pk")

    def of_the_account(self) -> Self:
        """Webhooks: the account's own, not an affiliate's postbacks."""
        return self.filter(affiliate="")

    def failing(self) -> Self:
        """Those that do not answer, or were disabled for it; not those by hand."""
        silent = models.Q(failing_since__isnull=False, disabled_at=None)
        given_up = models.Q(disabled_at__isnull=False) & ~models.Q(
            disabled_because__in=MEANT
        )
        return self.filter(silent | given_up)

    def with_something_due(self, *, at: datetime) -> Self:
        """Those with a delivery to send now, the longest waiting first; those that
        failed lately come by turns."""
        waiting = Delivery.objects.filter(
            account=models.OuterRef("account"),
            endpoint=models.OuterRef("pk"),
            due_at__isnull=False,
        )
        first = waiting.order_by("due_at").values("due_at")[:1]
        rows = self.listening().annotate(next_due=models.Subquery(first))
        return rows.filter(next_due__lte=at).order_by(
            Coalesce("rests_until", "next_due")
        )


class WebhookEndpoint(Owned):
    """A URL that is told of changes: a webhook of the account, signed with its secret,
    or an affiliate's own postback, with macros in the URL and unsigned."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="webhook_endpoints", db_index=False
    )
    public_id = models.CharField(max_length=32)
    url = models.CharField(max_length=2000)
    events = models.JSONField(default=list)  # names; none: every event
    affiliate = models.CharField(max_length=64, blank=True)  # whose postback it is
    method = models.CharField(max_length=4, choices=Method, default=Method.POST)
    secret = models.CharField(max_length=64, blank=True)  # readable: it signs
    old_secret = models.CharField(max_length=64, blank=True)
    old_secret_until = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)  # no success since then
    rests_until = models.DateTimeField(null=True)  # not called before, after a failure
    disabled_at = models.DateTimeField(null=True)
    disabled_because = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = WebhookEndpointQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "public_id"], name="one_endpoint_per_public_id"
            )
        ]
        indexes = [
            models.Index(fields=["account", "affiliate"], name="endpoints_by_affiliate")
        ]

    def __str__(self) -> str:
        return self.public_id

    def hears(self, kind: str) -> bool:
        """Is this endpoint told of such events?"""
        return not self.events or kind in self.events

    def secrets(self, *, at: datetime) -> list[str]:
        """What signs a call now: the secret, and for a day the one before it."""
        rotated = self.old_secret_until is not None and at < self.old_secret_until
        return [self.secret, self.old_secret] if rotated else [self.secret]


class DeliveryQuerySet(OwnedQuerySet["Delivery"]):
    """Deliveries of one account."""

    def newest_first(self) -> Self:
        return self.order_by("-id")

    def as_told(self) -> models.QuerySet["Delivery", Any]:
        """The columns that the log of deliveries shows."""
        return self.annotate(
            kind=models.F("event__kind"), subject=models.F("event__subject")
        ).values(
            "id",
            "webhook_id",
            "kind",
            "subject",
            "created_at",
            "attempts",
            "attempted_at",
            "status",
            "trouble",
            "answer",
            "delivered_at",
            "due_at",
        )


class Delivery(Owned):
    """An event for an endpoint: the bytes to send, when next, and how it went.

    Due is what `due_at` says; null: done, or given up. Whoever sends it moves that
    moment to the end of a lease first, so that nobody else does.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="deliveries", db_index=False
    )
    endpoint = models.ForeignKey(
        WebhookEndpoint, models.PROTECT, related_name="+", db_index=False
    )
    event = models.ForeignKey(Event, models.PROTECT, related_name="+", db_index=False)
    webhook_id = models.CharField(max_length=32)  # of the event: one for all endpoints
    url = models.TextField(blank=True)  # of a postback, its macros filled in
    body = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    attempted_at = models.DateTimeField(null=True)
    delivered_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.TextField(blank=True)  # its first 2 KiB
    trouble = models.CharField(max_length=255, blank=True)  # why the last try failed

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "endpoint", "event"],
                name="one_delivery_per_endpoint_and_event",
            )
        ]
        indexes = [
            models.Index(fields=["account", "webhook_id"], name="deliveries_by_id"),
            models.Index(
                fields=["account", "endpoint", "due_at"],
                condition=models.Q(due_at__isnull=False),
                name="deliveries_that_wait",
            ),
            models.Index(fields=["account", "created_at"], name="deliveries_by_age"),
        ]

    def __str__(self) -> str:
        return self.webhook_id
