"""Click: a visit through an affiliate's link."""

from __future__ import annotations

import re
from typing import Any, Self
from uuid import UUID

from django.db import models
from django.utils import timezone

from accounts.engines import ValueAtKey
from accounts.ids import time_ordered_uuid
from accounts.models.accounts import Account, Owned, OwnedQuerySet
from tracking.meta_data import FORBIDDEN
from tracking.models.affiliates import Affiliate
from tracking.models.enrolments import Enrolment
from tracking.models.programs import Program
from tracking.models.prospects import Prospect

FORM = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII
)


class ClickQuerySet(OwnedQuerySet["Click"]):
    """Clicks of one account."""

    def with_id(self, text: str) -> Self:
        """The click of this id; none for a text that is no id of a click."""
        if not FORM.fullmatch(text):
            return self.none()
        return self.filter(public_id=UUID(text))

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")

    def with_meta_data(self, key: str, value: str | None) -> Self:
        """Clicks that carry this sub-value; without a value, that carry the key."""
        if not FORBIDDEN.isdisjoint(key):
            return self.none()  # no click can carry it
        rows = self.annotate(sub_value=ValueAtKey("meta_data", key))
        if value is None:
            return rows.filter(sub_value__isnull=False)
        return rows.filter(sub_value=value)

    def as_shown(self) -> models.QuerySet[Click, Any]:
        """The columns that a click's shape reads."""
        return self.values(
            "public_id",
            "created_at",
            "meta_data",
            "referrer",
            "landing_page",
            "user_agent",
            "program__slug",
            "program__title",
            "program__currency",
            "affiliate__slug",
            "affiliate__firstname",
            "affiliate__lastname",
        )


class Click(Owned):
    """A visit; the user agent is kept as it came and read when it is shown.

    A visit through a prospect's link has no affiliate until the prospect is one.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="clicks", db_index=False
    )
    public_id = models.UUIDField(default=time_ordered_uuid)
    enrolment = models.ForeignKey(
        Enrolment, models.PROTECT, null=True, related_name="+", db_index=False
    )
    prospect = models.ForeignKey(
        Prospect, models.PROTECT, null=True, related_name="+", db_index=False
    )
    program = models.ForeignKey(
        Program, models.PROTECT, related_name="clicks", db_index=False
    )
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="clicks", db_index=False
    )
    referrer = models.CharField(max_length=2048, null=True)  # noqa: DJ001 - unknown
    landing_page = models.CharField(max_length=2048, null=True)  # noqa: DJ001
    user_agent = models.CharField(max_length=1000, null=True)  # noqa: DJ001
    ip = models.GenericIPAddressField(null=True)
    meta_data = models.JSONField(default=dict)
    # From a browser: what makes a repeat the same visit, as one unreadable word.
    fold = models.CharField(max_length=64, null=True)  # noqa: DJ001
    created_at = models.DateTimeField(default=timezone.now)

    objects = ClickQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "public_id"], name="one_click_per_id"
            ),
            models.CheckConstraint(
                condition=models.Q(enrolment__isnull=False, affiliate__isnull=False)
                | models.Q(prospect__isnull=False, enrolment=None, affiliate=None),
                name="a_click_is_somebodys",
            ),
            models.UniqueConstraint(
                fields=["account", "fold"],
                condition=models.Q(fold__isnull=False),
                name="one_click_per_fold",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"], name="clicks_newest_first"
            ),
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


class VisitorQuerySet(OwnedQuerySet["Visitor"]):
    """Visitors of one account."""


class Visitor(Owned):
    """A tracking id that a browser was given, and the click that it stands for."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="visitors", db_index=False
    )
    tracking_id = models.CharField(max_length=32)
    click = models.ForeignKey(Click, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now)

    objects = VisitorQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "tracking_id"], name="one_visitor_per_id"
            )
        ]

    def __str__(self) -> str:
        return self.tracking_id
