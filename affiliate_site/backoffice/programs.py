"""Programs: their rules, archived and opened again."""

from affiliate_site.backoffice.actions import Deed, carry_out
from affiliate_site.backoffice.seam import Inline, ReadOnlyPage, action, register
from payouts.models.commission_types import CommissionType
from tracking.models.programs import Program
from tracking.services.programs import archive, unarchive


class CommissionTypes(Inline):
    """The rates of a program."""

    model = CommissionType
    fields = ("identifier", "title", "kind", "value", "is_default", "mlm")
    can_delete = False

    def has_add_permission(self, request, obj=None):
        return False

    def has_change_permission(self, request, obj=None):
        return False


@register(Program)
class ProgramPage(ReadOnlyPage):
    """What a program pays, to whom, and for how long a click counts."""

    list_display = ("slug", "title", "currency", "rules", "archived_at")
    list_filter = ("auto_approve_commissions", "auto_approve_affiliates", "recurring")
    search_fields = ("slug__exact", "title__exact")
    ordering = ("-id",)
    inlines = (CommissionTypes,)
    actions = ("archive_chosen", "unarchive_chosen")

    def rules(self, program):
        """In plain words; the rates stand on the program's own page."""
        return ", ".join(
            [
                f"a click counts {program.cookie_time} days",
                "commissions are approved by themselves"
                if program.auto_approve_commissions
                else "commissions wait for a review",
                "affiliates are approved by themselves"
                if program.auto_approve_affiliates
                else "affiliates wait for a review",
            ]
        )

    def has_manage_permission(self, request):
        return request.user.has_perm("tracking.change_program")

    @action(description="Archive", permissions=["manage"])
    def archive_chosen(self, request, rows):
        deed = Deed(
            "Archive programs",
            does=lambda row, at: archive(row.account, slug=row.slug, at=at),
            leaves=lambda row: "it is archived already" if row.archived_at else "",
        )
        return carry_out(self, request, rows, deed)

    @action(description="Open again", permissions=["manage"])
    def unarchive_chosen(self, request, rows):
        deed = Deed(
            "Open programs again",
            does=lambda row, at: unarchive(row.account, slug=row.slug, at=at),
            leaves=lambda row: "" if row.archived_at else "it is open",
        )
        return carry_out(self, request, rows, deed)
