"""The portal of affiliates: its settings, sessions, and links that are sent by mail."""

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel
from tracking.models.affiliates import Affiliate

DIGEST_LENGTH = 64  # of SHA-256, in hex


class OrderIds(models.TextChoices):
    """How much of an order ID affiliates see."""

    NONE = "none", "not at all"
    LAST_FOUR = "last_four", "the last four characters"
    WHOLE = "whole", "whole"


class PortalSettings(TenantModel):
    """Whether the affiliates of an account can sign in, and what they see."""

    is_on = models.BooleanField(default=False)
    is_open = models.BooleanField(default=False)  # for applications
    welcome_text = models.TextField(blank=True)
    order_ids = models.CharField(
        max_length=16, choices=OrderIds, default=OrderIds.LAST_FOUR
    )

    class Meta:
        default_related_name = "portal_settings"
        constraints = [
            models.UniqueConstraint(
                fields=["account"], name="one_portal_settings_per_account"
            )
        ]

    def __str__(self) -> str:
        return "portal settings"


class PortalSession(TenantModel):
    """An affiliate that is signed in; the token itself is not stored."""

    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="+", db_index=False
    )
    token_hash = models.CharField(max_length=DIGEST_LENGTH)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()

    class Meta:
        default_related_name = "portal_sessions"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "token_hash"], name="one_portal_session_per_token"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "affiliate"], name="portal_sessions_of_affiliate"
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)


class LinkPurpose(models.TextChoices):
    """What a link is for."""

    SIGN_IN = "sign_in"
    SET_PASSWORD = "set_password"  # noqa: S105 - no password


class PortalLink(TenantModel):
    """A link for one affiliate, which works once."""

    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="+", db_index=False
    )
    purpose = models.CharField(max_length=16, choices=LinkPurpose)
    token_hash = models.CharField(max_length=DIGEST_LENGTH)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        default_related_name = "portal_links"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "token_hash"], name="one_portal_link_per_token"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "affiliate"], name="portal_links_of_affiliate"
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)
