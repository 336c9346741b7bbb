"""The pages of programs."""

from django.contrib import admin

from affiliate_site.backoffice.actions import AdminAction, run_admin_action
from affiliate_site.backoffice.base import (
    BackOfficeInline,
    ReadOnlyBackOfficeAdmin,
    action,
    display,
)
from affiliate_site.backoffice.filters import ArchivedFilter, CurrencyFilter
from payouts.models.commission_types import CommissionType
from tracking.models.programs import Program
from tracking.services.programs import archive_program, unarchive_program


class CommissionTypeInline(BackOfficeInline):
    """The commission types of a program."""

    model = CommissionType
    fields = ("identifier", "title", "kind", "value", "is_default", "mlm")
    can_delete = False

    def has_add_permission(self, request, obj=None):
        return False

    def has_change_permission(self, request, obj=None):
        return False


@admin.register(Program)
class ProgramAdmin(ReadOnlyBackOfficeAdmin):
    """Programs with their settings and commission types."""

    list_display = ("slug", "title", "currency", "rules_summary", "archived_at")
    list_filter = (
        "auto_approve_commissions",
        "auto_approve_affiliates",
        "recurring",
        CurrencyFilter,
        ArchivedFilter,
    )
    search_fields = ("slug__exact", "title__exact")
    search_help_text = "Search by ID or title"
    ordering = ("-id",)
    inlines = (CommissionTypeInline,)
    actions = ("archive_selected", "unarchive_selected")

    @display(description="Rules")
    def rules_summary(self, program):
        return ", ".join(
            [
                f"cookie lifetime {program.cookie_time} days",
                "commissions approved automatically"
                if program.auto_approve_commissions
                else "commissions need approval",
                "affiliates approved automatically"
                if program.auto_approve_affiliates
                else "affiliates need approval",
                *(
                    ["sales reported by pages approved like others"]
                    if program.auto_approve_browser_sales
                    else []
                ),
                *(
                    ["customers named by pages trusted"]
                    if program.trust_browser_customers
                    else []
                ),
            ]
        )

    def has_manage_permission(self, request):
        return request.user.has_perm("tracking.change_program")

    @action(description="Archive", permissions=["manage"])
    def archive_selected(self, request, rows):
        admin_action = AdminAction(
            "Archive programs",
            perform=lambda row, at: archive_program(row.account, slug=row.slug, at=at),
            skip_reason=lambda row: "already archived" if row.archived_at else "",
        )
        return run_admin_action(self, request, rows, admin_action)

    @action(description="Unarchive", permissions=["manage"])
    def unarchive_selected(self, request, rows):
        admin_action = AdminAction(
            "Unarchive programs",
            perform=lambda row, at: unarchive_program(
                row.account, slug=row.slug, at=at
            ),
            skip_reason=lambda row: "" if row.archived_at else "not archived",
        )
        return run_admin_action(self, request, rows, admin_action)
