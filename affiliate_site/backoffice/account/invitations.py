"""The page of invitations to the staff of the account."""

from django.contrib import admin
from django.utils import timezone

from accounts.models.users import Invitation, User
from accounts.services.invitations import revoke_invitation
from affiliate_site.backoffice.actions import AdminAction, run_admin_action
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin, action, display
from affiliate_site.backoffice.formatters import STATUS_COLORS
from affiliate_site.backoffice.navigation import SubList


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyBackOfficeAdmin):
    """Invitations, which owners can revoke while they are open."""

    sub_list = SubList(User, "Invitations")
    empty_state = (
        "No invitations yet. An owner sends one under Staff. Without e-mail on this"
        " installation there are none: ask your operator."
    )
    columns = fields = (
        "email",
        "role",
        "state",
        "invited_by",
        "created_at",
        "expires_at",
    )
    list_filter = ("role",)
    search_fields = ("email__exact",)
    search_help_text = "Search by e-mail"
    ordering = ("-created_at", "-id")
    readonly_fields = ("state",)
    actions = ("revoke_selected",)
    manage_permission = "accounts.change_invitation"

    @display(description="State", label=STATUS_COLORS)
    def state(self, invitation):
        return invitation.get_state(at=timezone.now())

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
