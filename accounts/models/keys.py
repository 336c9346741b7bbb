"""API keys, the windows in which their requests are counted, and kept answers."""

from datetime import datetime

from django.db import models
from django.utils import timezone

from accounts.models.accounts import Account, Owned, OwnedQuerySet


class Role(models.TextChoices):
    """What a key may do: read; track, approve, edit as well; everything."""

    VIEWER = "viewer"
    MANAGER = "manager"
    OWNER = "owner"


class ApiKey(Owned):
    """A key of an account: a digest to recognise it, a prefix to show."""

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="api_keys", db_index=False
    )
    digest = models.CharField(max_length=64)
    prefix = models.CharField(max_length=12)
    name = models.CharField(max_length=255, blank=True)
    role = models.CharField(max_length=16, choices=Role, default=Role.OWNER)
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            # Asked before the account is known; no `unique=True`, which would make
            # a second index for LIKE.
            models.UniqueConstraint(fields=["digest"], name="one_key_per_digest"),
            models.UniqueConstraint(
                fields=["account", "prefix"], name="one_key_per_prefix"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"


class RateWindow(models.Model):
    """How many hits a subject has had since its window began. May be lost."""

    subject = models.CharField(max_length=255, primary_key=True)
    started = models.DateTimeField()
    hits = models.PositiveIntegerField()

    def __str__(self) -> str:
        started: datetime = self.started
        return f"{self.subject}: {self.hits} since {started:%H:%M:%S}"


class IdempotencyKey(Owned):
    """A request that came with an Idempotency-Key, and the bytes of its answer.

    The row is written first in the transaction of the request's effect, and its
    answer before COMMIT: nobody ever sees it without one.
    """

    account = models.ForeignKey(
        Account, models.PROTECT, related_name="idempotency_keys", db_index=False
    )
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "key"], name="one_answer_per_idempotency_key"
            )
        ]
        indexes = [
            models.Index(fields=["account", "created_at"], name="answers_by_age")
        ]

    def __str__(self) -> str:
        return f"idempotency key {self.pk}"
