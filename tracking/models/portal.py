"""The portal of affiliates: its settings, sessions, and links that are sent by mail."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.encryption import EncryptedTextField
from accounts.models.accounts import TenantModel
from accounts.models.users import User
from tracking.models.affiliates import Affiliate

DIGEST_LENGTH = 64  # of SHA-256, in hex


class OrderIds(models.TextChoices):
    """How much of an order ID affiliates see."""

    NONE = "none", "not at all"
    LAST_FOUR = "last_four", "the last four characters"
    WHOLE = "whole", "whole"


class Notice(models.TextChoices):
    """What affiliates can have mail about."""

    APPROVED = "approved"  # or disapproved, in a program
    NEW_SALES = "new_sales", "New sales"  # of a day
    PAID = "paid"
    NEW_CREATIVE = "new_creative", "New creative"
    ANSWER = "answer"  # of staff


class PortalSettings(TenantModel):
    """Whether the affiliates of an account can sign in, and what they see."""

    not_exported: ClassVar[dict[str, str]] = {
        "host": "a file owns no name of a host",
    }

    is_on = models.BooleanField(default=False)
    is_open = models.BooleanField(default=False)  # for applications
    welcome_text = models.TextField(blank=True)
    host = models.CharField(max_length=253, null=True)  # noqa: DJ001 - of the company
    # Of mail; null: the name of the account.
    sender_name = models.CharField(max_length=255, null=True)  # noqa: DJ001
    # That affiliates write to.
    contact_email = models.CharField(max_length=254, null=True)  # noqa: DJ001
    order_ids = models.CharField(max_length=16, choices=OrderIds, default=OrderIds.LAST_FOUR)
    # Null is no: the columns came later.
    shows_comments = models.BooleanField(null=True)  # of disapproved commissions
    shows_recruit_sales = models.BooleanField(null=True)  # how many a recruit has

    # When payments are planned, of a month; null: affiliates see no day.
    payout_day = models.PositiveSmallIntegerField(null=True)

    class Meta:
        default_related_name = "portal_settings"
        constraints = [
            models.UniqueConstraint(fields=["account"], name="one_portal_settings_per_account")
        ]

    def __str__(self) -> str:
        return "portal settings"


class PortalSession(TenantModel):
    """An affiliate that is signed in; the token itself is not stored.

    With `viewed_by` it is no affiliate but staff, who see the same and change nothing.
    """

    not_exported = "sessions"

    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    viewed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
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
            models.Index(fields=["account", "affiliate"], name="portal_sessions_of_affiliate")
        ]

    def __str__(self) -> str:
        return str(self.pk)


class PortalSecondFactor(TenantModel):
    """An app of an affiliate that shows codes, asked for after the password."""

    not_exported = "second-factor secrets"

    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    secret = EncryptedTextField()  # Base32
    confirmed_at = models.DateTimeField(null=True)  # before that it is not asked for
    last_step = models.BigIntegerField(default=0)  # of a code: each works once
    recovery_codes = models.JSONField(default=list)  # digests of the unused ones

    class Meta:
        default_related_name = "portal_second_factors"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "affiliate"], name="one_second_factor_per_affiliate"
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)


class PortalAddress(TenantModel):
    """An IP address from which an affiliate applied or signed in: a keyed digest of it."""

    not_exported = "keyed by this installation"

    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    digest = models.CharField(max_length=DIGEST_LENGTH)
    opened_account = models.BooleanField(default=False)  # by the application
    first_used_at = models.DateTimeField()
    last_used_at = models.DateTimeField()

    class Meta:
        default_related_name = "portal_addresses"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "affiliate", "digest"], name="one_portal_address_per_digest"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "digest"],
                condition=Q(opened_account=True),
                name="portal_addresses_that_opened",
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)


class LinkPurpose(models.TextChoices):
    """What a link is for."""

    SIGN_IN = "sign_in", "Sign in"
    SET_PASSWORD = "set_password", "Set password"
    VIEW = "view"  # for staff
    SECOND_FACTOR = "second_factor", "Second factor"  # the password was right
    # Another e-mail address, which both links confirm.
    LEAVE_EMAIL = "leave_email", "Leave e-mail address"  # sent to the present address
    ENTER_EMAIL = "enter_email", "Enter e-mail address"  # sent to the new one


class PortalLink(TenantModel):
    """A link for one affiliate, which works once."""

    not_exported = "one-time links"

    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    viewed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    purpose = models.CharField(max_length=16, choices=LinkPurpose)
    token_hash = models.CharField(max_length=DIGEST_LENGTH)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    new_email = models.CharField(max_length=254, null=True)  # noqa: DJ001

    class Meta:
        default_related_name = "portal_links"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "token_hash"], name="one_portal_link_per_token"
            )
        ]
        indexes = [models.Index(fields=["account", "affiliate"], name="portal_links_of_affiliate")]

    def __str__(self) -> str:
        return str(self.pk)
