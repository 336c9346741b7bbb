"""Affiliate: who sends visitors, and earns by it; its group, fields and notes."""

from __future__ import annotations

from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet, of_the_account
from tracking.models.people import PERSON, Person, PersonQuerySet

AFFILIATE = (
    "slug",
    *PERSON,
    "meta_data",
    "parent__slug",
    "group__public_id",
    "custom_fields",
)


class AffiliateGroupQuerySet(OwnedQuerySet["AffiliateGroup"]):
    """Groups of one account."""

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")

    def as_shown(self) -> models.QuerySet[AffiliateGroup, Any]:
        """The columns that a group's shape reads."""
        shown: models.QuerySet[AffiliateGroup, Any] = self.annotate(
            member=of_the_account("members"),
            affiliate_count=models.Count("member", filter=Q(member__removed_at=None)),
        ).values("public_id", "title", "affiliate_count")
        return shown


class AffiliateGroup(Owned):
    """Affiliates who are paid by other rates; each is in one group at most."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="affiliate_groups", db_index=False
    )
    public_id = models.CharField(max_length=32)
    title = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now)

    objects = AffiliateGroupQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "public_id"], name="one_group_per_id"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"], name="groups_newest_first"
            )
        ]

    def __str__(self) -> str:
        return self.public_id


class AffiliateQuerySet(PersonQuerySet["Affiliate"]):
    """Affiliates of one account."""

    def as_shown(self) -> models.QuerySet[Affiliate, Any]:
        """The columns that an affiliate's shape reads."""
        shown: models.QuerySet[Affiliate, Any] = self.values(*AFFILIATE)
        return shown


class Affiliate(Person):
    """An affiliate of an account. `slug` is never used again, `email` is free again
    once the affiliate is removed. `parent` earns by levels."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="affiliates", db_index=False
    )
    slug = models.CharField(max_length=64)
    password = models.CharField(max_length=255)
    custom_fields = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField())
    )
    parent = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="+", db_index=False
    )
    group = models.ForeignKey(
        AffiliateGroup,
        models.PROTECT,
        null=True,
        related_name="members",
        db_index=False,
    )
    promotion_method = models.CharField(max_length=16, null=True)  # noqa: DJ001

    objects = AffiliateQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "slug"], name="one_affiliate_per_slug"
            ),
            models.UniqueConstraint(
                fields=["account", "email_folded"],
                condition=Q(removed_at=None),
                name="one_affiliate_per_email",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "-created_at", "-id"], name="affiliates_newest_first"
            ),
            models.Index(fields=["account", "parent"], name="affiliates_of_parent"),
            models.Index(fields=["account", "group"], name="affiliates_of_group"),
        ]

    def __str__(self) -> str:
        return self.slug


class FieldType(models.TextChoices):
    """How a custom field is filled in."""

    TEXT = "text"
    TEXTAREA = "textarea"
    SELECT = "select"
    MULTISELECT = "multiselect"
    CHECKBOX = "checkbox"
    URL = "url"


class CustomFieldQuerySet(OwnedQuerySet["CustomField"]):
    """Custom fields of one account."""

    def as_defined(self) -> Self:
        return self.order_by("id")

    def as_shown(self) -> models.QuerySet[CustomField, Any]:
        """The columns that a custom field's shape reads."""
        return self.values("slug", "title", "type", "required", "options")


class CustomField(Owned):
    """What an account asks its affiliates besides; `slug` is the key of the answer."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="field_definitions", db_index=False
    )
    slug = models.CharField(max_length=64)
    title = models.CharField(max_length=255)
    type = models.CharField(max_length=16, choices=FieldType)
    required = models.BooleanField(default=False)
    options = models.JSONField(null=True)

    objects = CustomFieldQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "slug"], name="one_custom_field_per_slug"
            )
        ]

    def __str__(self) -> str:
        return self.slug


class NoteQuerySet(OwnedQuerySet["Note"]):
    """Notes of one account."""

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-id")

    def as_shown(self) -> models.QuerySet[Note, Any]:
        """The columns that a note's shape reads."""
        return self.values("public_id", "note", "created_at")


class Note(Owned):
    """What somebody wants to remember about an affiliate."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="notes", db_index=False
    )
    public_id = models.CharField(max_length=32)
    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="+", db_index=False
    )
    note = models.CharField(max_length=5000)
    created_at = models.DateTimeField(default=timezone.now)

    objects = NoteQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "public_id"], name="one_note_per_id"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "affiliate", "-created_at", "-id"],
                name="notes_of_affiliate",
            )
        ]

    def __str__(self) -> str:
        return self.public_id
