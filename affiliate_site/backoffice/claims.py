"""The pages of contested claims and of the secrets that sign page calls."""

from django.contrib import admin
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from accounts.models.signing_secrets import SigningSecret
from accounts.services.signing_secrets import (
    create_signing_secret,
    revoke_signing_secret,
)
from affiliate_site.backoffice.actions import (
    AdminAction,
    render_secret,
    run_admin_action,
)
from affiliate_site.backoffice.base import (
    CreateOnlyBackOfficeAdmin,
    ReadOnlyBackOfficeAdmin,
    action,
    display,
)
from affiliate_site.backoffice.filters import (
    AffiliateFilter,
    CurrencyFilter,
    DateFilter,
    DecidedFilter,
)
from affiliate_site.backoffice.formatters import EMPTY_VALUE, format_money
from payouts.services.claim_confirmation import confirm_claim
from tracking.models.conversions import ConversionClaim

ADD_FORM_HINT = (
    "“Save” creates a secret and shows it once. The server of your shop signs with it"
    " what its pages report; two secrets can be valid while you change over."
)


@admin.register(ConversionClaim)
class ConversionClaimAdmin(ReadOnlyBackOfficeAdmin):
    """Conversions that two visitors claim: each claim, and an action to decide."""

    list_display = (
        "claim_id",
        "conversion_link",
        "affiliate",
        "formatted_amount",
        "outcome",
        "visitor",
        "created_at",
    )
    list_select_related = ("conversion", "affiliate")
    search_fields = ("conversion__external_id__begins_with",)
    search_help_text = "Search by order ID"
    list_filter = (AffiliateFilter, CurrencyFilter, DecidedFilter, DateFilter)
    extra_lookups = ("conversion_id",)
    ordering = ("-created_at", "-id")
    exclude = ("amount", "line_items", "attribution")
    readonly_fields = ("formatted_amount", "outcome")
    actions = ("confirm_selected",)

    @display(description="ID")
    def claim_id(self, claim):
        return claim.pk

    @display(description="Conversion")
    def conversion_link(self, claim):
        conversion = claim.conversion
        url = reverse("admin:tracking_conversion_change", args=[conversion.pk])
        text = conversion.external_id or conversion.pk
        return format_html('<a href="{}">{}</a>', url, text)

    @display(description="Amount")
    def formatted_amount(self, claim):
        return format_money(claim.amount, claim.currency)

    @display(description="Visitor")
    def visitor(self, claim):
        """The beginning of the tracking id; the page of the claim has all of it."""
        return claim.tracking_id[:8] if claim.tracking_id else EMPTY_VALUE

    @display(description="Outcome")
    def outcome(self, claim):
        if claim.confirmed_at:
            return "confirmed"
        if claim.decided_at:
            return "rejected"
        return "waiting, reported first" if claim.is_original else "waiting"

    def has_confirm_permission(self, request):
        return request.user.has_perm("tracking.change_conversionclaim")

    @action(description="Confirm this claim", permissions=["confirm"])
    def confirm_selected(self, request, rows):
        """One claim is confirmed; the others of the same conversion are rejected."""
        admin_action = AdminAction(
            "Confirm claims",
            perform=lambda row, at: confirm_claim(row.account, claim_id=row.pk, at=at),
            skip_reason=lambda row: "already decided" if row.decided_at else "",
            amount_field="amount",
        )
        return run_admin_action(
            self, request, rows.select_related("conversion"), admin_action
        )


@admin.register(SigningSecret)
class SigningSecretAdmin(CreateOnlyBackOfficeAdmin):
    """Secrets that sign what pages report: shown once, later revoked."""

    list_display = ("prefix", "created_at", "revoked_at")
    search_fields = ("prefix__exact",)
    search_help_text = "Search by prefix"
    ordering = ("-created_at", "-id")
    actions = ("revoke_selected",)

    def get_fieldsets(self, request, obj=None):
        if obj is None:
            return [(None, {"fields": (), "description": ADD_FORM_HINT})]
        return [(None, {"fields": self.list_display})]

    def has_revoke_permission(self, request):
        return request.user.has_perm("accounts.delete_signingsecret")

    def save_model(self, request, obj, form, change):
        """Create the secret through its service; `response_add` shows it."""
        secret = create_signing_secret(request.user.account, at=timezone.now())
        obj.pk, obj.prefix, request.created_secret = (
            secret.pk,
            secret.prefix,
            secret.secret,
        )

    def response_add(self, request, obj, post_url_continue=None):
        return render_secret(
            self, request, title="New signing secret", secret=request.created_secret
        )

    @action(description="Revoke", permissions=["revoke"])
    def revoke_selected(self, request, rows):
        admin_action = AdminAction(
            "Revoke signing secrets",
            perform=lambda row, at: revoke_signing_secret(
                row.account, prefix=row.prefix, at=at
            ),
            skip_reason=lambda row: "already revoked" if row.revoked_at else "",
        )
        return run_admin_action(self, request, rows, admin_action)
