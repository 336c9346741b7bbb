"""WebhookEndpoint: a URL that receives events; Delivery: an event for an endpoint."""

from datetime import datetime
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.models.accounts import TenantModel, TenantQuerySet
from accounts.models.audit_log import AuditLogEntry
from accounts.models.queues import QueuedRow

# docs/api-contract.md, section 6.1. The audit log has other kinds of events as well.
WEBHOOK_EVENTS = (
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
    "alert.opened",
)
TEST_EVENT = "webhook.test"  # sent by hand, whatever a webhook subscribes to
# The events of affiliate postbacks: docs/api-contract.md, section 4.
POSTBACK_EVENTS = (
    "conversion.created",
    "conversion.updated",
    "customer.created",
    "customer.updated",
)

# Reasons for disabling an endpoint other than failure.
DISABLED_MANUALLY = "by hand"
DISABLED_AFFILIATE_DELETED = "the affiliate was removed"
INTENTIONAL_REASONS = (DISABLED_MANUALLY, DISABLED_AFFILIATE_DELETED)


class PostbackMethod(models.TextChoices):
    """The HTTP method of an affiliate postback; webhooks always use POST."""

    GET = "GET"
    POST = "POST"


class WebhookEndpointQuerySet(TenantQuerySet["WebhookEndpoint"]):
    """Operations on webhook endpoints."""

    def enabled(self) -> Self:
        """Return enabled endpoints."""
        return self.filter(disabled_at=None)

    def account_webhooks(self) -> Self:
        """Return the account's own webhooks, without affiliate postbacks."""
        return self.filter(affiliate="")

    def postbacks(self) -> Self:
        """Return the postbacks of affiliates."""
        return self.exclude(affiliate="")

    def needing_attention(self) -> Self:
        """Return endpoints that fail, or were disabled because they failed."""
        failing = models.Q(failing_since__isnull=False, disabled_at=None)
        given_up = models.Q(disabled_at__isnull=False) & ~models.Q(
            disabled_because__in=INTENTIONAL_REASONS
        )
        return self.filter(failing | given_up)

    def with_due_deliveries(self, *, at: datetime) -> Self:
        """Return endpoints with a delivery due now, the longest waiting first.

        An endpoint that failed recently is ordered by the end of its backoff instead.
        """
        pending = Delivery.objects.across_accounts().filter(
            account=models.OuterRef("account"),
            endpoint=models.OuterRef("pk"),
            due_at__isnull=False,
        )
        first_due = pending.order_by("due_at").values("due_at")[:1]
        rows = self.enabled().annotate(next_due=models.Subquery(first_due))
        return rows.filter(next_due__lte=at).order_by(Coalesce("backoff_until", "next_due"))


class WebhookEndpoint(TenantModel):
    """A URL that receives events.

    Either a webhook of the account, signed with its secret, or an affiliate postback,
    unsigned and with macros in the URL.
    """

    not_exported: ClassVar[dict[str, str]] = {
        "secret": "a secret; the import makes a new one",
        "old_secret": "a secret",
        "old_secret_until": "of the old secret",
    }

    public_id = models.CharField("ID", max_length=32)
    url = models.CharField("URL", max_length=2000)
    events = models.JSONField(default=list)  # names; empty: all events
    affiliate = models.CharField(max_length=64, blank=True)  # the ID, for postbacks
    method = models.CharField(max_length=4, choices=PostbackMethod, default=PostbackMethod.POST)
    secret = models.CharField(max_length=64, blank=True)  # plain text, for signing
    old_secret = models.CharField(max_length=64, blank=True)
    old_secret_until = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)  # no success since then
    backoff_until = models.DateTimeField("paused until", null=True)  # pause after a failure
    disabled_at = models.DateTimeField("disabled", null=True)
    disabled_because = models.CharField("reason", max_length=255, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar = WebhookEndpointQuerySet.as_manager()

    class Meta:
        default_related_name = "webhook_endpoints"
        verbose_name = "webhook"
        verbose_name_plural = "webhooks"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "public_id"], name="one_endpoint_per_public_id"
            )
        ]
        indexes = [models.Index(fields=["account", "affiliate"], name="endpoints_by_affiliate")]

    def __str__(self) -> str:
        return self.public_id

    @property
    def needs_sender(self) -> bool:
        """Whether something of it may have to be sent, now or later."""
        return self.disabled_at is None

    def subscribes_to(self, kind: str) -> bool:
        """Return whether the endpoint receives events of this kind."""
        return not self.events or kind in self.events

    def get_signing_secrets(self, *, at: datetime) -> list[str]:
        """Return the secrets that sign a request: also the old one after a rotation."""
        is_old_valid = self.old_secret_until is not None and at < self.old_secret_until
        return [self.secret, self.old_secret] if is_old_valid else [self.secret]


class DeliveryQuerySet(TenantQuerySet["Delivery"]):
    """Operations on deliveries."""

    def newest_first(self) -> Self:
        return self.order_by("-id")

    def without_content(self) -> Self:
        """Leave what was sent and answered in the database: lists do not show it."""
        return self.defer("url", "body", "response_body")

    def for_delivery_log(self) -> models.QuerySet["Delivery", Any]:
        """Return the columns of the delivery log."""
        return self.annotate(
            kind=models.F("event__kind"), subject=models.F("event__subject")
        ).values(
            "id",
            "message_id",
            "kind",
            "subject",
            "created_at",
            "attempts",
            "attempted_at",
            "status",
            "error",
            "response_body",
            "delivered_at",
            "due_at",
        )


class Delivery(QueuedRow):
    """An event to send to an endpoint, and the result of the last attempt.

    `due_at` is the time of the next attempt; null means delivered or given up. A worker
    claims a delivery by moving `due_at` to the end of its lease.
    """

    endpoint = models.ForeignKey(
        WebhookEndpoint, models.PROTECT, related_name="+", db_index=False, verbose_name="webhook"
    )
    event = models.ForeignKey(AuditLogEntry, models.PROTECT, related_name="+", db_index=False)
    # The `webhook-id` of Standard Webhooks: the same for all endpoints.
    message_id = models.CharField("message ID", max_length=32)
    # Of a postback, with macros filled in: releases before 0.1 stored it.
    url = models.TextField("URL", blank=True)
    body = models.BinaryField()  # what is sent; of a postback, values of its macros
    created_at = models.DateTimeField(default=timezone.now)
    attempted_at = models.DateTimeField("last attempt", null=True)
    delivered_at = models.DateTimeField("delivered", null=True)
    status = models.PositiveSmallIntegerField(null=True)
    response_body = models.TextField(blank=True)  # the first 2 KiB
    error = models.CharField(max_length=255, blank=True)  # of the last attempt

    objects: ClassVar = DeliveryQuerySet.as_manager()

    class Meta:
        default_related_name = "deliveries"
        verbose_name = "webhook delivery"
        verbose_name_plural = "webhook deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "endpoint", "event"],
                name="one_delivery_per_endpoint_and_event",
            )
        ]
        indexes = [
            models.Index(fields=["account", "message_id"], name="deliveries_by_message_id"),
            models.Index(
                fields=["account", "endpoint", "due_at"],
                condition=models.Q(due_at__isnull=False),
                name="deliveries_due",
            ),
            models.Index(fields=["account", "created_at"], name="deliveries_by_age"),
        ]

    def __str__(self) -> str:
        return self.message_id

    @property
    def needs_sender(self) -> bool:
        """Whether it is to be sent, now or later."""
        return self.due_at is not None
