"""API keys of clients and signing secrets of pages."""

from datetime import datetime

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel


class Role(models.TextChoices):
    """A role: viewers read, managers also track, approve and edit, finance also pays,
    owners do all. API keys have no finance, but `PROXY`."""

    VIEWER = "viewer"
    MANAGER = "manager"
    FINANCE = "finance"
    OWNER = "owner"


# A role of keys only: it reads and writes nothing, and proves that the shop's own
# server passes calls of its pages on (`affiliate_site/page_proxies.py`).
PROXY = "proxy"
API_KEY_ROLES = [
    *((role.value, role.label) for role in (Role.VIEWER, Role.MANAGER, Role.OWNER)),
    (PROXY, "Page proxy"),
]


class ApiKey(TenantModel):
    """An API key of an account: the digest identifies it, the prefix is displayed."""

    digest = models.CharField(max_length=64)
    prefix = models.CharField(max_length=12)
    name = models.CharField(max_length=255, blank=True)
    role = models.CharField(max_length=16, choices=API_KEY_ROLES, default=Role.VIEWER)
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField("last used", null=True)
    revoked_at = models.DateTimeField("revoked", null=True)

    class Meta:
        default_related_name = "api_keys"
        verbose_name = "API key"
        verbose_name_plural = "API keys"
        constraints = [
            # Looked up before the account is known. Not `unique=True`, which would
            # create a second index for LIKE.
            models.UniqueConstraint(fields=["digest"], name="one_key_per_digest"),
            models.UniqueConstraint(fields=["account", "prefix"], name="one_key_per_prefix"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"


class RateWindow(models.Model):
    """The number of requests of a subject in its rate limit window; may be lost."""

    subject = models.CharField(max_length=255, primary_key=True)
    started_at = models.DateTimeField()
    hits = models.PositiveIntegerField()

    def __str__(self) -> str:
        started_at: datetime = self.started_at
        return f"{self.subject}: {self.hits} since {started_at:%H:%M:%S}"


class IdempotencyKey(TenantModel):
    """A request with an Idempotency-Key, and the bytes of its response.

    The row is inserted at the start of the request's transaction and the response
    before it commits, so other transactions never see a row without a response.
    """

    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "idempotency_keys"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "key"], name="one_response_per_idempotency_key"
            )
        ]
        indexes = [models.Index(fields=["account", "created_at"], name="idempotency_keys_by_age")]

    def __str__(self) -> str:
        return f"idempotency key {self.pk}"


class SigningSecret(TenantModel):
    """A secret of an account, stored readable because it signs; the prefix is shown."""

    not_exported = "secrets"

    secret = models.CharField(max_length=64)
    prefix = models.CharField(max_length=12)
    created_at = models.DateTimeField(default=timezone.now)
    revoked_at = models.DateTimeField("revoked", null=True)

    class Meta:
        default_related_name = "signing_secrets"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "prefix"], name="one_signing_secret_per_prefix"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"
