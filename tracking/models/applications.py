"""Applications by the portal, and the terms that affiliates accept there."""

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel
from tracking.models.affiliates import Affiliate
from tracking.models.portal import DIGEST_LENGTH
from tracking.models.programs import Program


class PortalTerms(TenantModel):
    """A version of an account's terms; an empty text means that there are none."""

    version = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "portal_terms"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "version"], name="one_portal_terms_per_version"
            )
        ]

    def __str__(self) -> str:
        return str(self.version)


class TermsAcceptance(TenantModel):
    """An affiliate accepted a version of the terms."""

    affiliate = models.ForeignKey(
        Affiliate, models.PROTECT, related_name="+", db_index=False
    )
    terms = models.ForeignKey(
        PortalTerms, models.PROTECT, related_name="+", db_index=False
    )
    accepted_at = models.DateTimeField()

    class Meta:
        default_related_name = "terms_acceptances"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "affiliate", "terms"],
                name="one_acceptance_per_terms",
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)


class PortalApplication(TenantModel):
    """Somebody wants to join a program; they confirm it by a link in a mail.

    The row of an address that an affiliate has cannot be confirmed: it only makes both
    kinds of addresses cost the same.
    """

    program = models.ForeignKey(
        Program, models.PROTECT, related_name="+", db_index=False
    )
    email = models.CharField(max_length=254)
    email_folded = models.CharField(max_length=762)
    data = models.JSONField()  # the columns of `PersonData`, and the language
    terms = models.ForeignKey(  # what was accepted
        PortalTerms, models.PROTECT, null=True, related_name="+", db_index=False
    )
    token_hash = models.CharField(max_length=DIGEST_LENGTH)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        default_related_name = "portal_applications"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "token_hash"],
                name="one_portal_application_per_token",
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "email_folded"], name="applications_by_email"
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)
