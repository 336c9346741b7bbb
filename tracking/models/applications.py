"""Applications by the portal, and the terms that affiliates accept there."""

from django.db import models
from django.utils import timezone

from accounts.models.accounts import TenantModel
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.models.portal import DIGEST_LENGTH
from tracking.models.programs import Program


class PortalTerms(TenantModel):
    """A version of an account's terms; an empty text means that there are none.

    Nobody changes it later: affiliates have accepted it.
    """

    version = models.PositiveIntegerField()
    text = models.TextField(blank=True)  # in languages without one of their own
    translations = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
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

    def choose_language(self, language: str) -> str:
        """Return the language if the terms have a text in it, else empty."""
        return language if language in self.translations else ""

    def get_text(self, language: str) -> str:
        """Return the text that somebody reads in this language."""
        return str(self.translations.get(language, self.text))


class TermsAcceptance(TenantModel):
    """An affiliate accepted a version of the terms, in the language they read."""

    affiliate = models.ForeignKey(Affiliate, models.PROTECT, related_name="+", db_index=False)
    terms = models.ForeignKey(PortalTerms, models.PROTECT, related_name="+", db_index=False)
    # A key of its translations; empty: the text for all other languages.
    language = models.CharField(max_length=8, blank=True, default="", db_default="")
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

    @property
    def label(self) -> str:
        """`3`, or `3 (de)`."""
        return f"{self.terms} ({self.language})" if self.language else str(self.terms)

    @property
    def text(self) -> str:
        """What was accepted."""
        return self.terms.get_text(self.language)


class ProgramInvitation(TenantModel):
    """A link by which people apply for a program, a private one, too.

    Who joins by it gets its group and its parent. `uses` are those who joined.
    """

    program = models.ForeignKey(Program, models.PROTECT, related_name="invitations", db_index=False)
    public_id = models.CharField("ID", max_length=32)
    title = models.CharField(max_length=255)
    group = models.ForeignKey(
        AffiliateGroup, models.PROTECT, null=True, related_name="+", db_index=False
    )
    parent = models.ForeignKey(
        Affiliate, models.PROTECT, null=True, related_name="+", db_index=False
    )
    max_uses = models.PositiveIntegerField("limit", null=True)
    uses = models.PositiveIntegerField("joined", default=0)
    ends_at = models.DateTimeField("ends", null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_related_name = "program_invitations"
        verbose_name = "invitation to a program"
        verbose_name_plural = "invitations to programs"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "public_id"], name="unique_program_invitation_public_id"
            ),
            models.CheckConstraint(
                condition=models.Q(max_uses=None) | models.Q(uses__lte=models.F("max_uses")),
                name="program_invitation_within_limit",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "program"], name="invitations_by_program"),
            models.Index(fields=["account", "group"], name="invitations_by_group"),
        ]

    def __str__(self) -> str:
        return self.public_id


class PortalApplication(TenantModel):
    """Somebody wants to join a program; they confirm it by a link in a mail.

    The row of an address that an affiliate has cannot be confirmed: it only makes both
    kinds of addresses cost the same.
    """

    not_exported = "one-time links"

    program = models.ForeignKey(Program, models.PROTECT, related_name="+", db_index=False)
    email = models.CharField(max_length=254)
    email_folded = models.CharField(max_length=762)
    data = models.JSONField()  # the columns of `PersonData`, and the language
    invitation = models.ForeignKey(
        ProgramInvitation, models.PROTECT, null=True, related_name="+", db_index=False
    )
    terms = models.ForeignKey(  # what was accepted
        PortalTerms, models.PROTECT, null=True, related_name="+", db_index=False
    )
    token_hash = models.CharField(max_length=DIGEST_LENGTH)
    # Of the client, as in `PortalAddress`; null if it has none.
    address_digest = models.CharField(max_length=DIGEST_LENGTH, null=True)  # noqa: DJ001
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
        indexes = [models.Index(fields=["account", "email_folded"], name="applications_by_email")]

    def __str__(self) -> str:
        return str(self.pk)
