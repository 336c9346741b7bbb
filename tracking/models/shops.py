"""Connection: a shop that reports sales by itself; its events, orders and customers."""

from __future__ import annotations

from typing import ClassVar, Self

from django.db import models
from django.utils import timezone

from accounts.encryption import EncryptedJSONField, EncryptedTextField
from accounts.models.accounts import TenantModel, TenantQuerySet
from accounts.models.queues import QueuedRow
from tracking.models.conversions import Conversion
from tracking.models.programs import Program

MAX_KEY_LENGTH = 255  # of what a shop calls its events, orders and customers


class ConnectionKind(models.TextChoices):
    """The kind of a shop."""

    STRIPE = "stripe", "Stripe"
    WOOCOMMERCE = "woocommerce", "WooCommerce"
    SHOPIFY = "shopify", "Shopify"
    PADDLE = "paddle", "Paddle"
    OTHER = "other", "Any other shop"


class ConnectionMode(models.TextChoices):
    """What the events of a connection do."""

    LISTEN = "listen", "Listen only"
    LIVE = "live", "Live"
    OFF = "off", "Off"


class Connection(TenantModel):
    """A shop whose events become sales, refunds and customers.

    `secrets` are those that the shop may sign with, at most two, the newest first.
    `settings` are described in `tracking/services/connections.py`. `refused_count` are
    the requests without a valid signature since the last event, at most
    `MAX_REFUSED_COUNT`; `refused_since` is the time of the first.
    """

    not_exported: ClassVar[dict[str, str]] = {
        "secrets": "secrets",
        "source_key": "a secret",
        "refused_count": "of the secret that is not moved",
        "refused_since": "of the secret that is not moved",
    }

    public_id = models.CharField("ID", max_length=32)
    kind = models.CharField(max_length=16, choices=ConnectionKind)
    name = models.CharField(max_length=255)
    # Null: the program of the affiliate whom the sale belongs to.
    program = models.ForeignKey(
        Program, models.PROTECT, null=True, related_name="+", db_index=False
    )
    mode = models.CharField(max_length=16, choices=ConnectionMode, default=ConnectionMode.LISTEN)
    secrets = EncryptedJSONField(default=list)
    # Reads what was missed from the shop.
    source_key = EncryptedTextField("key for catching up", blank=True)
    settings = models.JSONField(default=dict)
    caught_up_until = models.DateTimeField(null=True)
    refused_count = models.SmallIntegerField(default=0, db_default=0)
    refused_since = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "connections"
        verbose_name = "shop"
        constraints = [
            models.UniqueConstraint(fields=["public_id"], name="one_connection_per_public_id")
        ]
        indexes = [models.Index(fields=["account", "id"], name="connections_of_account")]

    def __str__(self) -> str:
        return self.public_id


class RefusalReason(models.TextChoices):
    """Why a request to the address of a connection was refused."""

    NO_SECRET = "no_secret", "No signing secret was set"
    SIGNATURE = "signature", "The signature did not match the secret"
    TIME = "time", "The signature was more than five minutes old, or had no time"
    UNREADABLE = "unreadable", "The body was no event of this kind of shop"
    TOO_LARGE = "too_large", "The body was too large"


class RefusedRequest(TenantModel):
    """The requests to a connection that were refused for one reason on one day.

    Days are those of the account's time zone. `count` ends at `MAX_REFUSED_COUNT`.
    """

    not_exported = "of the secret that is not moved"

    connection = models.ForeignKey(Connection, models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    reason = models.CharField(max_length=16, choices=RefusalReason)
    count = models.SmallIntegerField(default=1)
    last_at = models.DateTimeField()

    class Meta:
        default_related_name = "refused_requests"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "connection", "day", "reason"],
                name="one_refused_request_per_reason",
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.reason}"


class ShopOrderReason(models.TextChoices):
    """Why an order earns nobody anything, with the sentence that staff see.

    A refusal has the code of its error (`get_error_code`).
    """

    PROCESSED_AGAIN = "processed_again", "Processed again."  # nothing is decided
    NO_REFERRAL = "no_referral", "Nobody referred this customer."
    NO_AMOUNT = "no_amount", "The sale has no amount."
    REMOVED = "removed", "The sale was removed before. To count it, process the event again."
    KNOWN_ALREADY = (
        "known_already",
        "This sale was reported in another way before. The address of this shop has a"
        " secret only, so what it reports is a claim, which changes nothing there.",
    )
    NEEDS_SIGNATURE = (
        "needs_signature",
        "The account takes no sales without a signature, and the address of this shop has"
        " a secret only.",
    )
    AFFILIATE_DELETED = "affiliate_deleted", "Affiliate is deleted."
    AFFILIATE_NOT_APPROVED = (
        "affiliate_not_approved",
        "Affiliate is not approved for this program.",
    )
    COOKIE_EXPIRED = "cookie_expired", "Cookie expired."
    PROGRAM_ARCHIVED = "program_archived", "Program is archived."


class ShopOrder(TenantModel):
    """An order, invoice or transaction of a shop, with all that its events say of it.

    `name` is its number as the shop shows it, normalized (`normalize_order_name`).
    `facts` are `payouts.shop_facts.OrderFacts`. `lines` are the regular commissions
    that the sale was created with: `commission` is the ID, `type` the commission type,
    `gross` and `target` sub-amounts as texts. `settings` are those of the connection
    that counted when it was first recorded (`pick_pricing`), null before. `suspended` are
    the commissions that wait for the end of a dispute. Without a `conversion` the order
    earns nobody anything, and `reason` says why.
    """

    connection = models.ForeignKey(
        Connection, models.PROTECT, related_name="orders", db_index=False
    )
    label = models.CharField(max_length=MAX_KEY_LENGTH, blank=True)
    name = models.CharField(max_length=MAX_KEY_LENGTH, blank=True, default="", db_default="")
    customer_key = models.CharField(max_length=MAX_KEY_LENGTH, blank=True)
    facts = models.JSONField(default=dict)
    settings = models.JSONField(null=True)
    conversion = models.ForeignKey(
        Conversion, models.PROTECT, null=True, related_name="+", db_index=False
    )
    is_adopted = models.BooleanField(default=False)  # reported in another way before
    lines = models.JSONField(default=list)
    suspended = models.JSONField(default=list)
    removed_at = models.DateTimeField(null=True)  # with its conversion, by a refund
    reason = models.CharField(max_length=32, choices=ShopOrderReason, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "shop_orders"
        indexes = [
            models.Index(
                fields=["account", "conversion"],
                condition=models.Q(conversion__isnull=False),
                name="shop_orders_by_conversion",
            ),
            models.Index(
                fields=["account", "connection", "customer_key"],
                name="shop_orders_by_customer",
            ),
            models.Index(
                fields=["account", "name"],
                opclasses=["int8_ops", "varchar_pattern_ops"],
                condition=~models.Q(name=""),
                name="shop_orders_by_name",
            ),
        ]

    def __str__(self) -> str:
        return f"order {self.pk}"


class ShopReference(TenantModel):
    """One of the IDs by which the events of a shop name an order."""

    connection = models.ForeignKey(Connection, models.PROTECT, related_name="+", db_index=False)
    reference = models.CharField(max_length=MAX_KEY_LENGTH)
    order = models.ForeignKey(ShopOrder, models.PROTECT, related_name="references", db_index=False)

    class Meta:
        default_related_name = "shop_references"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "connection", "reference"],
                name="one_shop_order_per_reference",
            )
        ]
        indexes = [models.Index(fields=["account", "order"], name="references_of_shop_order")]

    def __str__(self) -> str:
        return self.reference


class ShopCustomer(TenantModel):
    """A customer of a shop; `facts` are `payouts.shop_facts.CustomerFacts`."""

    connection = models.ForeignKey(Connection, models.PROTECT, related_name="+", db_index=False)
    key = models.CharField(max_length=MAX_KEY_LENGTH)
    facts = models.JSONField(default=dict)

    class Meta:
        default_related_name = "shop_customers"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "connection", "key"],
                name="one_shop_customer_per_key",
            )
        ]

    def __str__(self) -> str:
        return f"shop customer {self.pk}"


class ShopEventState(models.TextChoices):
    """What became of an event."""

    RECEIVED = "received", "Received"
    DONE = "done", "Done"
    NO_REFERRAL = "no_referral", "No referral"
    WAITING = "waiting", "Waits for its sale"
    IGNORED = "ignored", "Ignored"
    FAILED = "failed", "Failed"


class ShopEventQuerySet(TenantQuerySet["ShopEvent"]):
    """Events of one account."""

    def failed(self) -> Self:
        """Those that staff should look at."""
        return self.filter(state=ShopEventState.FAILED)


class ShopEvent(QueuedRow):
    """An event as a shop sent it, stored before it is processed.

    `result` is what the last attempt did (`inbox.Effect`). `body` is empty once the
    person is erased.
    `is_claim`: it had no signature when it arrived, whatever the shop has now.
    """

    connection = models.ForeignKey(
        Connection, models.PROTECT, related_name="events", db_index=False, verbose_name="shop"
    )
    key = models.CharField("ID", max_length=MAX_KEY_LENGTH)  # of the shop
    kind = models.CharField(max_length=MAX_KEY_LENGTH)
    body = models.TextField(blank=True)
    is_claim = models.BooleanField(default=False, db_default=False)
    occurred_at = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now)
    state = models.CharField(max_length=16, choices=ShopEventState, default=ShopEventState.RECEIVED)
    result = models.JSONField(default=list)
    order = models.ForeignKey(
        ShopOrder, models.PROTECT, null=True, related_name="+", db_index=False
    )
    customer_key = models.CharField(max_length=MAX_KEY_LENGTH, blank=True)

    objects: ClassVar = ShopEventQuerySet.as_manager()

    class Meta:
        default_related_name = "shop_events"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "connection", "key"], name="one_shop_event_per_key"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "due_at"],
                condition=models.Q(due_at__isnull=False),
                name="shop_events_due",
            ),
            models.Index(
                fields=["account", "-created_at", "-id"],
                name="shop_events_newest_first",
            ),
            models.Index(
                fields=["account", "-created_at", "-id"],
                condition=models.Q(state="failed"),
                name="shop_events_failed",
            ),
            models.Index(
                fields=["account", "connection", "-created_at", "-id"],
                name="shop_events_of_connection",
            ),
            models.Index(
                fields=["account", "connection", "customer_key"],
                name="shop_events_by_customer",
            ),
            models.Index(fields=["account", "order"], name="shop_events_of_order"),
        ]

    def __str__(self) -> str:
        return self.key
