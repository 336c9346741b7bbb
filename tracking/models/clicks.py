"""Clicks, counts of removed ones, visitors, and calls that were not stored."""

from __future__ import annotations

import ipaddress
import re
from typing import ClassVar, Self
from uuid import UUID

from django.db import models
from django.utils import timezone

from accounts.database_functions import JsonTextAtKey
from accounts.ids import generate_uuid7
from accounts.models.accounts import TenantModel, TenantQuerySet
from accounts.models.row_counts import CountedRow
from tracking.meta_data import FORBIDDEN_KEY_CHARACTERS
from tracking.models.affiliates import Affiliate
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program
from tracking.models.prospects import Prospect

UUID_PATTERN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)


def parse_click_id(text: str) -> UUID | None:
    """Return the id, or None if the text is not a click id."""
    return UUID(text) if UUID_PATTERN.fullmatch(text) else None


def parse_client_ip(text: str | None) -> str | None:
    """The first valid IP address of a comma-separated list, without IPv6 scope; None
    if there is none."""
    for part in (text or "").split(","):
        try:
            # A scope has any length, and PostgreSQL does not store it.
            return str(ipaddress.ip_address(part.partition("%")[0].strip()))
        except ValueError:
            continue
    return None


class ClickQuerySet(TenantQuerySet["Click"]):
    """Clicks of one account."""

    def with_public_id(self, text: str) -> Self:
        """The click with this id; none if the text is not a click id."""
        public_id = parse_click_id(text)
        return self.none() if public_id is None else self.filter(public_id=public_id)

    def with_meta_data(self, key: str, value: str | None) -> Self:
        """Clicks with this meta data key and value; any value if None."""
        if not FORBIDDEN_KEY_CHARACTERS.isdisjoint(key):
            return self.none()  # no click can have this key
        rows = self.annotate(sub_value=JsonTextAtKey("meta_data", key))
        if value is None:
            return rows.filter(sub_value__isnull=False)
        return rows.filter(sub_value=value)


class Click(CountedRow):
    """A visit through a link; the user agent is stored raw and parsed on output.

    A visit through a prospect's link has no affiliate until the prospect is promoted.
    """

    counted_by = ("program", "affiliate")

    public_id = models.UUIDField("ID", default=generate_uuid7)
    enrollment = models.ForeignKey(
        Enrollment, models.PROTECT, null=True, related_name="+", db_index=False
    )
    prospect = models.ForeignKey(
        Prospect, models.PROTECT, null=True, related_name="+", db_index=False
    )
    program = models.ForeignKey(Program, models.PROTECT, related_name="clicks", db_index=False)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="clicks", db_index=False
    )
    referrer = models.CharField(max_length=2048, null=True)  # noqa: DJ001 - unknown
    landing_page = models.CharField(max_length=2048, null=True)  # noqa: DJ001
    user_agent = models.CharField("browser", max_length=1000, null=True)  # noqa: DJ001
    ip = models.GenericIPAddressField("IP address", null=True)
    # Of the landing page: where the affiliate placed the link, in words of its own.
    sub_id = models.CharField(max_length=64, null=True)  # noqa: DJ001 - none
    meta_data = models.JSONField("metadata", default=dict)
    # Of browser clicks: a hash of link, address, user agent and minute.
    dedup_key = models.CharField(max_length=64, null=True)  # noqa: DJ001
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar = ClickQuerySet.as_manager()

    class Meta:
        default_related_name = "clicks"
        constraints = [
            models.UniqueConstraint(fields=["account", "public_id"], name="one_click_per_id"),
            models.CheckConstraint(
                condition=models.Q(enrollment__isnull=False, affiliate__isnull=False)
                | models.Q(prospect__isnull=False, enrollment=None, affiliate=None),
                name="click_has_affiliate_or_prospect",
            ),
            models.UniqueConstraint(
                fields=["account", "dedup_key"],
                condition=models.Q(dedup_key__isnull=False),
                name="one_click_per_dedup_key",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "-created_at", "-id"], name="clicks_newest_first"),
            models.Index(
                fields=["account", "program", "-created_at", "-id"],
                name="clicks_of_program",
            ),
            models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="clicks_of_affiliate",
            ),
            models.Index(
                fields=["account", "prospect"],
                condition=models.Q(prospect__isnull=False),
                name="clicks_of_prospect",
            ),
        ]

    def __str__(self) -> str:
        return str(self.public_id)


OTHER_TEXTS = ""  # of removed clicks, if they are not counted apart


class PrunedClickCount(TenantModel):
    """The removed clicks of a link in a quarter of an hour, counted.

    They have the landing page without query, the host of the referrer and the sub-ID
    in common, or `OTHER_TEXTS`. Days of every time zone begin with a quarter of an
    hour, so statistics add rows as they count clicks.
    """

    quarter = models.DateTimeField()
    program = models.ForeignKey(Program, models.PROTECT, related_name="+", db_index=False)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    prospect = models.ForeignKey(
        Prospect, models.PROTECT, null=True, related_name="+", db_index=False
    )
    landing_page = models.CharField(max_length=2048, null=True)  # noqa: DJ001
    referrer_host = models.CharField(max_length=255, null=True)  # noqa: DJ001
    sub_id = models.CharField(max_length=64, null=True)  # noqa: DJ001 - none
    clicks = models.PositiveIntegerField()

    class Meta:
        default_related_name = "pruned_click_counts"
        # The texts are too long for a unique index.
        indexes = [
            models.Index(fields=["account", "quarter"], name="pruned_clicks_by_time"),
            models.Index(
                fields=["account", "affiliate", "quarter"],
                name="pruned_clicks_of_affiliate",
            ),
            models.Index(
                fields=["account", "prospect"],
                condition=models.Q(prospect__isnull=False),
                name="pruned_clicks_of_prospect",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.quarter} {self.program_id} {self.affiliate_id}"


class VisitorQuerySet(TenantQuerySet["Visitor"]):
    """Visitors of one account."""


class Visitor(TenantModel):
    """A tracking id issued to a browser, and the click that it refers to."""

    tracking_id = models.CharField(max_length=32)
    click = models.ForeignKey(Click, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar = VisitorQuerySet.as_manager()

    class Meta:
        default_related_name = "visitors"
        constraints = [
            models.UniqueConstraint(fields=["account", "tracking_id"], name="one_visitor_per_id")
        ]
        indexes = [models.Index(fields=["click"], name="visitors_of_click")]

    def __str__(self) -> str:
        return self.tracking_id


class FailedPageCall(TenantModel):
    """The calls of one page that failed for one reason on one day, counted.

    Days are those of the time zone that the account had then.

    It has no personal data but the last order whose amount was refused: no ids of
    customers, no addresses.
    """

    day = models.DateField()
    reason = models.CharField(max_length=64)  # a stable code
    page = models.CharField(max_length=255, blank=True)  # without query; "": unknown
    count = models.PositiveIntegerField()
    first_at = models.DateTimeField("first")
    last_at = models.DateTimeField("last")
    # Of the last call whose amount was refused, as the page sent them.
    last_order_id = models.CharField(max_length=255, blank=True, db_default="")
    last_amount = models.CharField(max_length=255, blank=True, db_default="")

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
