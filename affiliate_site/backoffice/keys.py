"""Keys and staff: a key is shown once; who signs in, and what they may do."""

from django.urls import reverse
from django.utils import timezone

from accounts.models.keys import ApiKey, Role
from accounts.models.users import User
from accounts.services.keys import issue, revoke
from accounts.services.staff import (
    activate,
    change_role,
    deactivate,
    invite_staff,
    new_password,
)
from affiliate_site.backoffice.actions import Deed, carry_out, hand_out, shown_once
from affiliate_site.backoffice.seam import Page, action, register

STAFF = "admin:accounts_user_changelist"


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
class StaffPage(Page):
    """Who signs in here, and what they may do; owners invite, promote and dismiss."""

    list_display = ("email", "role", "is_active", "last_login", "created_at")
    list_filter = ("role", "is_active")
    search_fields = ("email__exact",)
    ordering = ("email",)
    actions = (
        "make_owner",
        "make_manager",
        "make_viewer",
        "renew_password",
        "deactivate_chosen",
        "activate_chosen",
    )

    def get_fields(self, request, obj=None):
        return ("email", "role") if obj is None else self.list_display

    def get_changeform_initial_data(self, request):
        """Who is invited in a hurry may look, and no more."""
        return {"role": Role.VIEWER}

    def has_change_permission(self, request, obj=None):
        return False

    def has_delete_permission(self, request, obj=None):
        return False

    def has_add_permission(self, request):
        """Operators invite by command: they belong to no account."""
        return super().has_add_permission(request) and request.user.account is not None

    def has_manage_permission(self, request):
        return request.user.has_perm("accounts.change_user")

    def save_model(self, request, obj, form, change):
        """The service makes the sign-in; its password goes to a page of its own."""
        told = form.cleaned_data
        user, request.made = invite_staff(
            request.user.account,
            email=told["email"],
            role=told["role"],
            password=None,
            by=request.user,
            at=timezone.now(),
        )
        obj.pk, obj.email = user.pk, user.email

    def response_add(self, request, obj, post_url_continue=None):
        return shown_once(
            self,
            request,
            title=f"The password of {obj}",
            secret=request.made,
            back=reverse(STAFF),
        )

    @action(description="Make owner", permissions=["manage"])
    def make_owner(self, request, rows):
        return self._make(request, rows, Role.OWNER)

    @action(description="Make manager", permissions=["manage"])
    def make_manager(self, request, rows):
        return self._make(request, rows, Role.MANAGER)

    @action(description="Make viewer", permissions=["manage"])
    def make_viewer(self, request, rows):
        return self._make(request, rows, Role.VIEWER)

    @action(description="Give a new password", permissions=["manage"])
    def renew_password(self, request, rows):
        user = request.user
        deed = managing(
            user,
            "Give a new password",
            does=lambda row, at: new_password(
                row.account, email=row.email, by=user, at=at
            ),
            left=lambda row: (
                "" if row.is_active else "it is not active: activate it instead"
            ),
        )
        return self._hand_out(request, rows, deed)

    @action(description="Deactivate", permissions=["manage"])
    def deactivate_chosen(self, request, rows):
        user = request.user
        deed = managing(
            user,
            "Deactivate staff",
            does=lambda row, at: deactivate(
                row.account, email=row.email, by=user, at=at
            ),
            left=lambda row: "" if row.is_active else "it is deactivated already",
        )
        return carry_out(self, request, rows, deed)

    @action(description="Activate again", permissions=["manage"])
    def activate_chosen(self, request, rows):
        user = request.user
        deed = managing(
            user,
            "Activate again",
            does=lambda row, at: activate(row.account, email=row.email, by=user, at=at),
            left=lambda row: "it is active" if row.is_active else "",
        )
        return self._hand_out(request, rows, deed)

    def _make(self, request, rows, role):
        user = request.user
        deed = managing(
            user,
            f"Make {role}",
            does=lambda row, at: change_role(
                row.account, email=row.email, role=role, by=user, at=at
            ),
            left=lambda row: "it is so already" if row.role == role else "",
        )
        return carry_out(self, request, rows, deed)

    def _hand_out(self, request, rows, deed):
        title = "The new password"
        return hand_out(self, request, rows, deed, title=title, back=reverse(STAFF))


def managing(user, title, *, does, left) -> Deed:
    """What somebody does with the sign-ins of others, as far as they reach."""
    return Deed(title, does, leaves=lambda row: out_of_reach(row, user) or left(row))


def out_of_reach(row, user) -> str:
    """Why somebody does not manage this sign-in; nothing: they do."""
    if row.account_id is None:
        return "operators are managed by command"
    return "it is your own: ask another owner" if row == user else ""
