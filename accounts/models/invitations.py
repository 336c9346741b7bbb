"""Invitation: an e-mail with a link by which a person joins the staff of an account."""

from datetime import datetime

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel, TenantQuerySet
from accounts.models.api_keys import Role
from accounts.models.users import MAX_EMAIL_LENGTH, User


class Invitation(TenantModel):
    """An invitation; the digest identifies the token of its link, which works once."""

    digest = models.CharField(max_length=64)
    email = models.EmailField(max_length=MAX_EMAIL_LENGTH)  # lower case
    role = models.CharField(max_length=16, choices=Role)
    invited_by = models.ForeignKey(
        User, models.PROTECT, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        default_related_name = "invitations"
        constraints = [
            # Looked up before the account is known.
            models.UniqueConstraint(
                fields=["digest"], name="one_invitation_per_digest"
            ),
        ]
        indexes = [
            models.Index(fields=["account", "email"], name="invitations_by_email")
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def log_id(self) -> int:
        """The name in the audit log, which has no e-mail addresses."""
        return self.pk

    def get_state(self, *, at: datetime) -> str:
        """Return `open`, or why the link does not work any more."""
        if self.accepted_at is not None:
            return "accepted"
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at <= at else "open"
