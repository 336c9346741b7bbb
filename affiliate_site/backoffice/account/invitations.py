"""The page of invitations to the staff of the account."""

from dataclasses import replace

from django.contrib import admin
from django.utils import timezone

from accounts.models.users import Invitation, User
from accounts.services.invitations import revoke_invitation
from affiliate_site.backoffice.actions import AdminAction, run_admin_action
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, action
from affiliate_site.backoffice.formatters import Label
from affiliate_site.backoffice.lists.columns import build_status_column
from affiliate_site.backoffice.navigation import SubList

COLORS = {"open": "info", "accepted": "success", "expired": "warning"}


def get_state(invitation) -> Label:
    state = invitation.get_state(at=timezone.now())
    return Label(state, COLORS.get(state, ""))


STATE = replace(build_status_column(get_state, "state"), title="State")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyBackOfficeAdmin):
    """Invitations, which owners can revoke while they are open."""

    sub_list = SubList(User, "Invitations")
    empty_state = (
        "No invitations yet. An owner sends one under Staff. Without e-mail on this"
        " installation there are none: ask your operator."
    )
    columns = fields = (  # type: ignore[assignment]  # Django takes functions
        "email",
        "role",
        STATE,
        "invited_by",
        "created_at",
        "expires_at",
    )
    list_filter = ("role",)
    search_fields = ("email__exact",)
    search_help_text = "Search by e-mail"
    ordering = ("-created_at", "-id")
    readonly_fields = (STATE,)  # type: ignore[assignment]
    actions = ("revoke_selected",)
    manage_permission = "accounts.change_invitation"

    @action(description="Revoke", permissions=["manage"])
    def revoke_selected(self, request, rows):
        admin_action = AdminAction(
            "Revoke invitations",
            is_dangerous=True,
            perform=lambda row, at: revoke_invitation(row.account, invitation_id=row.pk, at=at),
            skip_reason=lambda row: (
                "already accepted"
                if row.accepted_at
                else "already revoked"
                if row.revoked_at
                else ""
            ),
        )
        return run_admin_action(self, request, rows, admin_action)
