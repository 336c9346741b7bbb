"""Keys and staff: a key is shown once; who signs in, and what they may do."""

from django.urls import reverse
from django.utils import timezone

from accounts.models.keys import ApiKey
from accounts.models.users import User
from accounts.services.keys import issue, revoke
from affiliate_site.backoffice.actions import Deed, carry_out, shown_once
from affiliate_site.backoffice.seam import (
    Page,
    ReadOnlyPage,
    action,
    register,
)


@register(ApiKey)
class KeyPage(Page):
    """API keys: made here, shown once, revoked for good."""

    list_display = (
        "prefix",
        "name",
        "role",
        "created_at",
        "last_used_at",
        "revoked_at",
    )
    list_filter = ("role",)
    search_fields = ("prefix__exact",)
    ordering = ("-created_at", "-id")
    fields = ("name", "role")
    actions = ("revoke_chosen",)

    def has_change_permission(self, request, obj=None):
        return False

    def has_delete_permission(self, request, obj=None):
        return False

    def has_add_permission(self, request):
        """Operators make keys by command: they belong to no account."""
        return super().has_add_permission(request) and request.user.account is not None

    def has_revoke_permission(self, request):
        return request.user.has_perm("accounts.delete_apikey")

    def save_model(self, request, obj, form, change):
        """The service makes the key; its text goes to the page that shows it."""
        told = form.cleaned_data
        key, request.made = issue(
            request.user.account,
            name=told["name"],
            role=told["role"],
            at=timezone.now(),
        )
        obj.pk, obj.prefix = key.pk, key.prefix

    def response_add(self, request, obj, post_url_continue=None):
        return shown_once(
            self,
            request,
            title="The new API key",
            secret=request.made,
            back=reverse("admin:accounts_apikey_changelist"),
        )

    @action(description="Revoke", permissions=["revoke"])
    def revoke_chosen(self, request, rows):
        deed = Deed(
            "Revoke API keys",
            does=lambda row, at: revoke(row.account, prefix=row.prefix, at=at),
            leaves=lambda row: "it is revoked already" if row.revoked_at else "",
        )
        return carry_out(self, request, rows, deed)


@register(User)
class StaffPage(ReadOnlyPage):
    """Who signs in here; made with the command `create_staff`."""

    list_display = ("email", "role", "is_active", "last_login", "created_at")
    list_filter = ("role", "is_active")
    search_fields = ("email__exact",)
    ordering = ("email",)
    exclude = ("password", "is_superuser")
