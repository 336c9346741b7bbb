"""Conversion: a sale attributed to an affiliate. ConversionAttempt: a failure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import TenantModel, TenantQuerySet
from accounts.models.row_counts import DailyCountedRow
from tracking.amounts import AmountField
from tracking.claims import ClaimStatus
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click
from tracking.models.customers import Customer
from tracking.models.programs import Program


class ConversionQuerySet(TenantQuerySet["Conversion"]):
    """Conversions of one account."""

    def not_deleted(self) -> Self:
        """Conversions that are not deleted."""
        return self.filter(deleted_at=None)


class Conversion(DailyCountedRow):
    """A sale. `currency` may differ from the program's."""

    counted_by = ("program", "affiliate")
    counted_through = ("commissions__status",)
    removed_by = "deleted_at"

    external_id = models.CharField("order ID", max_length=255, null=True)  # noqa: DJ001 - none sent
    program = models.ForeignKey(Program, models.PROTECT, related_name="conversions", db_index=False)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="conversions", db_index=False
    )
    customer = models.ForeignKey(
        Customer,
        models.PROTECT,
        null=True,
        related_name="conversions",
        db_index=False,
    )
    click = models.ForeignKey(Click, models.PROTECT, null=True, related_name="+", db_index=False)
    amount = AmountField()
    # Before it was changed; null: it never was.
    first_amount: Any = AmountField(null=True)  # type: ignore[misc]
    currency = models.CharField(max_length=3)
    tracking_source = models.CharField("attributed by", max_length=16)
    meta_data = models.JSONField("metadata", default=dict)
    warnings = models.JSONField(null=True)
    user_agent = models.CharField("browser", max_length=1000, null=True)  # noqa: DJ001 - unknown
    ip = models.GenericIPAddressField("IP address", null=True)
    # Null for a fact (docs/tracking-trust.md).
    claim_status = models.CharField(  # noqa: DJ001 - null: no claim
        max_length=16,
        null=True,
        choices=[(status.value, status.value.capitalize()) for status in ClaimStatus],
    )
    # Only a page has stated the amount: no key, staff or signed call has.
    is_amount_claimed = models.BooleanField(default=False, db_default=False)
    # Two visitors claim it, and nobody has confirmed one yet.
    is_contested = models.BooleanField(default=False, db_default=False)
    # Since when its shop has an open dispute about it; null: there is none.
    disputed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField("removed", null=True)

    objects: ClassVar = ConversionQuerySet.as_manager()
    # All its commissions, if they were just stored and are of its affiliate.
    created_commissions: Sequence[Any] | None = None

    class Meta:
        default_related_name = "conversions"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "external_id"],
                condition=Q(deleted_at=None),
                name="one_conversion_per_external_id",
            ),
            models.CheckConstraint(
                condition=Q(amount__gte=0), name="conversion_amount_not_negative"
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"],
                name="conversions_newest_first",
            ),
            models.Index(
                fields=["account", "program", "-created_at", "-id"],
                name="conversions_of_program",
            ),
            models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="conversions_of_affiliate",
            ),
            models.Index(
                fields=["account", "customer", "-created_at", "-id"],
                name="conversions_of_customer",
            ),
            models.Index(
                fields=["click"],
                condition=Q(click__isnull=False),
                name="conversions_of_click",
            ),
            models.Index(
                fields=["account", "affiliate"],
                condition=Q(claim_status=ClaimStatus.OPEN.value, deleted_at=None),
                name="open_claims_of_affiliate",
            ),
            models.Index(
                fields=["account", "external_id"],
                opclasses=["int8_ops", "varchar_pattern_ops"],
                name="conversions_by_external_id",
            ),
            models.Index(
                fields=["account", "deleted_at"],
                condition=Q(deleted_at__isnull=False),
                name="conversions_by_removal",
            ),
            models.Index(
                fields=["account", "-created_at", "-id"],
                condition=Q(warnings__isnull=False),
                name="conversions_to_check",
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    def update_row(
        self,
        *,
        expected: dict[str, Any] | None = None,
        at: datetime | None = None,
        **values: Any,
    ) -> bool:
        """Update the row, and keep the amount that it had before the first change.

        A claim that becomes a sale has its currency from there, too: that changes none.
        """
        is_changed = values.get("amount", self.amount) != self.amount
        if is_changed and "currency" not in values and self.first_amount is None:
            values["first_amount"] = self.amount
        return super().update_row(expected=expected, at=at, **values)


class ConversionClaim(TenantModel):
    """One of the claims of a contested conversion, with what it would earn.

    `attribution` and `line_items` are stored as the claim was attributed, so that staff
    can confirm it later.
    """

    conversion = models.ForeignKey(
        Conversion, models.PROTECT, related_name="claims", db_index=False
    )
    tracking_id = models.CharField("tracking ID", max_length=255, null=True)  # noqa: DJ001 - coupon
    program = models.ForeignKey(Program, models.PROTECT, related_name="+", db_index=False)
    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    click = models.ForeignKey(Click, models.PROTECT, null=True, related_name="+", db_index=False)
    amount = AmountField()
    currency = models.CharField(max_length=3)
    line_items = models.JSONField(default=list)
    attribution = models.JSONField(default=dict)
    is_original = models.BooleanField("reported first", default=False)
    confirmed_at = models.DateTimeField("confirmed", null=True)
    # When the contest ended: a claim was confirmed, or the conversion deleted.
    decided_at = models.DateTimeField("decided", null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "conversion_claims"
        verbose_name = "contested claim"
        constraints = [
            models.CheckConstraint(condition=Q(amount__gte=0), name="claim_amount_not_negative"),
        ]
        indexes = [
            models.Index(fields=["account", "conversion"], name="claims_of_conversion"),
            models.Index(
                fields=["click"],
                condition=Q(click__isnull=False),
                name="claims_of_click",
            ),
            models.Index(fields=["account", "-created_at", "-id"], name="claims_newest_first"),
            models.Index(
                fields=["account"],
                condition=Q(is_original=True, decided_at=None),
                name="open_contests",
            ),
        ]

    def __str__(self) -> str:
        return f"claim {self.pk}"


class ConversionOrigin(models.TextChoices):
    """The interface of a conversion; failed attempts count for each separately."""

    API = "api", "API"
    POSTBACK = "postback"
    BROWSER = "browser"
    SHOP = "shop"


class ConversionAttempt(TenantModel):
    """The latest failure to create a conversion; it blocks retries for ten seconds."""

    origin = models.CharField(max_length=16, choices=ConversionOrigin)
    external_id = models.CharField(max_length=255)
    failed_at = models.DateTimeField()
    reason = models.CharField(max_length=64)  # `get_error_code`
    # Whose link or coupon the sale was refused for; null if it was not that far.
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )

    class Meta:
        default_related_name = "conversion_attempts"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "origin", "external_id"],
                name="one_attempt_per_external_id",
            )
        ]

    def __str__(self) -> str:
        return f"{self.origin}:{self.external_id}"


class FormerExternalId(TenantModel):
    """An `external_id` that a conversion had before it was changed.

    A signed call of a page can be repeated; by this it is recognized afterwards.
    """

    conversion = models.ForeignKey(
        Conversion, models.PROTECT, related_name="former_external_ids", db_index=False
    )
    external_id = models.CharField(max_length=255)

    class Meta:
        default_related_name = "former_external_ids"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "external_id", "conversion"],
                name="one_former_external_id_per_conversion",
            )
        ]

    def __str__(self) -> str:
        return self.external_id


class FormerIdDigest(TenantModel):
    """The digest of an ID that a customer lost, or a conversion at its erasure.

    A signed call of a page can be repeated; by this it is recognized although the ID
    is stored no more.
    """

    digest = models.CharField(max_length=64)

    class Meta:
        default_related_name = "former_id_digests"
        constraints = [
            models.UniqueConstraint(fields=["account", "digest"], name="one_digest_per_former_id")
        ]

    def __str__(self) -> str:
        return self.digest


class AttributionRecord(TenantModel):
    """The stored, verifiable attribution of one customer or one conversion.

    The latest record of a subject counts: confirming a claim adds one.
    `inputs` and `outcome` are canonical JSON. Replaying the inputs with the version
    `engine` of the attribution produces the same outcome to the byte.
    """

    customer = models.ForeignKey(
        Customer, models.PROTECT, null=True, related_name="+", db_index=False
    )
    conversion = models.ForeignKey(
        Conversion, models.PROTECT, null=True, related_name="+", db_index=False
    )
    engine = models.CharField(max_length=16)
    inputs = models.TextField()
    outcome = models.TextField()

    class Meta:
        default_related_name = "attribution_records"
        indexes = [
            models.Index(fields=["account", "customer"], name="attribution_of_customer"),
            models.Index(fields=["account", "conversion"], name="attribution_of_conversion"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(customer=None) ^ Q(conversion=None),
                name="attribution_record_has_one_subject",
            ),
        ]

    def __str__(self) -> str:
        return f"attribution record {self.pk}"
