"""Conversion: a sale that an affiliate brought; ConversionAttempt: one that failed."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet
from tracking.amounts import AmountField
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click
from tracking.models.customers import Customer
from tracking.models.programs import Program


class ConversionQuerySet(OwnedQuerySet["Conversion"]):
    """Conversions of one account."""

    def present(self) -> Self:
        """Those that were not removed."""
        return self.filter(removed_at=None)

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")

    def as_shown(self) -> models.QuerySet[Conversion, Any]:
        """The columns that a conversion's shape reads, its commissions apart."""
        return self.values(
            "id",
            "external_id",
            "amount",
            "click__created_at",
            "click__referrer",
            "click__landing_page",
            "click__meta_data",
            "click__affiliate_id",
            "program__slug",
            "program__title",
            "program__currency",
            "affiliate_id",
            "affiliate__slug",
            "affiliate__firstname",
            "affiliate__lastname",
            "customer__public_id",
            "customer__customer_id",
            "customer__status",
            "customer__removed_at",
            "meta_data",
            "created_at",
            "warnings",
            "tracking_source",
        )


class Conversion(Owned):
    """A sale; its number is what the API shows. `currency` is of this sale alone."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="conversions", db_index=False
    )
    external_id = models.CharField(max_length=255, null=True)  # noqa: DJ001 - none sent
    program = models.ForeignKey(
        Program, models.PROTECT, related_name="conversions", db_index=False
    )
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
    click = models.ForeignKey(
        Click, models.PROTECT, null=True, related_name="+", db_index=False
    )
    amount = AmountField()
    currency = models.CharField(max_length=3)
    tracking_source = models.CharField(max_length=16)
    meta_data = models.JSONField(default=dict)
    warnings = models.JSONField(null=True)
    user_agent = models.CharField(max_length=1000, null=True)  # noqa: DJ001 - unknown
    ip = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True)

    objects = ConversionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "external_id"],
                condition=Q(removed_at=None),
                name="one_conversion_per_external_id",
            ),
            models.CheckConstraint(
                condition=Q(amount__gte=0), name="a_sale_is_not_negative"
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
        ]

    def __str__(self) -> str:
        return str(self.pk)


class Origin(models.TextChoices):
    """By which face a sale came: the attempts of one never delay another."""

    API = "api"
    POSTBACK = "postback"
    BROWSER = "browser"


class ConversionAttempt(Owned):
    """A sale that was refused, and why: its retries wait ten seconds."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="conversion_attempts", db_index=False
    )
    source = models.CharField(max_length=16, choices=Origin)
    external_id = models.CharField(max_length=255)
    failed_at = models.DateTimeField()
    message = models.TextField()

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "source", "external_id"],
                name="one_attempt_per_external_id",
            )
        ]

    def __str__(self) -> str:
        return f"{self.source}:{self.external_id}"
