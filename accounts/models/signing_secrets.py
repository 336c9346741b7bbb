"""SigningSecret: signs what the pages of a shop report (docs/tracking-trust.md)."""

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel, TenantQuerySet


class SigningSecret(TenantModel):
    """A secret of an account, stored readable because it signs; the prefix is shown."""

    secret = models.CharField(max_length=64)
    prefix = models.CharField(max_length=12)
    created_at = models.DateTimeField(default=timezone.now)
    revoked_at = models.DateTimeField(null=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        default_related_name = "signing_secrets"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "prefix"], name="one_signing_secret_per_prefix"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"
