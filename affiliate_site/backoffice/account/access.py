"""The pages of API keys, signing secrets and staff users."""

from functools import partial
from typing import Any

from django.contrib import admin

from accounts.models.api_keys import ApiKey, Role, SigningSecret
from accounts.models.users import User
from accounts.services.api_keys import revoke_api_key, revoke_signing_secret
from accounts.services.staff import (
    activate_staff_user,
    deactivate_staff_user,
    reset_password,
    update_role,
)
from affiliate_site.backoffice.account.access_pages import (
    AddApiKeyPage,
    AddSigningSecretPage,
    AddStaffUserPage,
    explain_password,
    get_sign_in_url,
)
from affiliate_site.backoffice.actions import AdminAction, run_admin_action
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, action
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import ObjectPageMixin
from affiliate_site.backoffice.secret_page import show_secret_once

SIGNING_SECRETS_NOTE = (
    "Your server signs with them what your pages report, so that nobody else can report"
    " sales. A webhook has a secret of its own."
)


class SecretAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Secrets with a prefix: created and shown once, later revoked by `revoke`."""

    search_fields = ("prefix__exact",)
    search_help_text = "Search by prefix"
    ordering = ("-created_at", "-id")
    actions = ("revoke_selected",)
    revoke: Any = None  # a staticmethod

    @action(description="Revoke", permissions=["manage"])
    def revoke_selected(self, request, rows):
        admin_action = AdminAction(
            f"Revoke {self.opts.verbose_name_plural}",
            is_dangerous=True,
            perform=lambda row, at: self.revoke(row.account, prefix=row.prefix, at=at),
            skip_reason=lambda row: "already revoked" if row.revoked_at else "",
        )
        return run_admin_action(self, request, rows, admin_action)


@admin.register(ApiKey)
class ApiKeyAdmin(SecretAdmin):
    menu = (MenuEntry("Integration", 10, "key"),)
    empty_state = "No API keys yet. An owner chooses “Add API key”; it is shown only once."
    columns = fields = (
        "prefix",
        "name",
        "role",
        "created_at",
        "last_used_at",
        "revoked_at",
    )
    list_filter = ("role",)
    add_page = AddApiKeyPage
    manage_permission = "accounts.delete_apikey"
    revoke = staticmethod(revoke_api_key)


@admin.register(SigningSecret)
class SigningSecretAdmin(SecretAdmin):
    menu = (MenuEntry("Integration", 20, "signature"),)
    empty_state = (
        "No signing secrets yet. An owner chooses “Add signing secret” to sign what"
        " the shop's pages report; it is shown only once."
    )
    columns = fields = ("prefix", "created_at", "revoked_at")
    add_page = AddSigningSecretPage
    manage_permission = "accounts.delete_signingsecret"
    revoke = staticmethod(revoke_signing_secret)

    def changelist_view(self, request, extra_context=None):
        """Say what the secrets are for: webhooks have others."""
        note = {"list_note": SIGNING_SECRETS_NOTE}
        return super().changelist_view(request, note | (extra_context or {}))


def build_role_action(role: Role):
    """The action that gives staff users a role."""

    @action(description=f"Make {role}", permissions=["manage"])
    def make(model_admin, request, rows):
        admin_action = build_staff_action(
            request.user,
            f"Make {role}",
            partial(update_role, role=role),
            skip_reason=lambda row: f"already {role}" if row.role == role else "",
        )
        return run_admin_action(model_admin, request, rows, admin_action)

    make.__name__ = f"make_{role}"
    return make


@admin.register(User)
class StaffUserAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    menu = (MenuEntry("Account", 20, "badge"),)
    list_title = "Staff"
    empty_state = (
        "No staff users yet. An owner chooses “Add staff user” for each person of the team."
    )
    columns = fields = ("email", "role", "is_active", "last_login", "created_at")
    list_filter = ("role", "is_active")
    search_fields = ("email__exact",)
    search_help_text = "Search by e-mail"
    ordering = ("email",)
    add_page = AddStaffUserPage
    actions = (
        *map(build_role_action, (Role.OWNER, Role.FINANCE, Role.MANAGER, Role.VIEWER)),
        "reset_password",
        "deactivate_selected",
        "activate_selected",
    )
    manage_permission = "accounts.change_user"

    @action(description="Reset password", permissions=["manage"])
    def reset_password(self, request, rows):
        admin_action = build_staff_action(
            request.user,
            "Reset password",
            reset_password,
            skip_reason=lambda row: "" if row.is_active else "inactive: activate it instead",
        )
        return self._show_password_once(request, rows, admin_action)

    @action(description="Deactivate", permissions=["manage"])
    def deactivate_selected(self, request, rows):
        admin_action = build_staff_action(
            request.user,
            "Deactivate staff",
            deactivate_staff_user,
            skip_reason=lambda row: "" if row.is_active else "already inactive",
        )
        return run_admin_action(self, request, rows, admin_action)

    @action(description="Reactivate", permissions=["manage"])
    def activate_selected(self, request, rows):
        admin_action = build_staff_action(
            request.user,
            "Reactivate",
            activate_staff_user,
            skip_reason=lambda row: "already active" if row.is_active else "",
        )
        return self._show_password_once(request, rows, admin_action)

    def _show_password_once(self, request, rows, admin_action):
        user = rows.first()  # the only one, of an account
        return show_secret_once(
            self,
            request,
            rows,
            admin_action,
            title="New password",
            explain=explain_password,
            sign_in_url=get_sign_in_url(user.account) if user else "",
        )


def build_staff_action(user, title, service, *, skip_reason) -> AdminAction:
    """An action by `user` on staff users that skips those whom `user` cannot manage."""
    return AdminAction(
        title,
        perform=lambda row, at: service(row.account, email=row.email, by=user, at=at),
        skip_reason=lambda row: get_unmanageable_reason(row, user) or skip_reason(row),
    )


def get_unmanageable_reason(row, user) -> str:
    """Why `user` cannot manage this staff user; empty if they can."""
    if row.account_id is None:
        return "operators are managed with manage.py"
    return "you cannot change your own sign-in; ask another owner" if row == user else ""
