"""Pages of affiliate groups: affiliates, rates, and forms."""

from django import forms
from django.utils import timezone

from affiliate_site.api.resources.groups import AffiliateGroupInputSerializer
from affiliate_site.backoffice.affiliates.affiliate_pages import SetGroupPage
from affiliate_site.backoffice.fields import RowsChoiceField
from affiliate_site.backoffice.form_pages import AddPage, EditPage, FormPage, RemovePage
from affiliate_site.backoffice.formatters import describe_hold_days, format_totals
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.object_pages import RowPage, list_page_links
from affiliate_site.backoffice.programs.rate_pages import AddGroupRatePage
from payouts.models.commission_types import RateKind, not_ended
from payouts.services.payables import get_payable_balances
from payouts.services.programs import delete_group
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.services.hierarchy import add_to_group, create_group, update_group
from tracking.services.programs import MAX_HOLD_DAYS

MAX_PROGRAMS = 10  # the newest, to set a rate in


def build_group_context(request, group) -> dict:
    """What the page of a group shows."""
    account = group.account
    members = account.affiliates.not_deleted().filter(group=group)
    section = RowPage(request, members.newest_first())
    balances = get_payable_balances(account, [row.pk for row in section.rows])
    rates = account.group_rates.filter(not_ended(timezone.now()), group=group)
    rates = rates.select_related("commission_type__program").order_by("id")
    return {
        "group": group,
        "title": group.title,
        "subtitle": "",
        "hold": describe_hold_days(group.hold_days),
        "section": section,
        "members": [(row, format_totals(balances.get(row.pk, {}))) for row in section.rows],
        "affiliate_count": members.count(),
        "rates": [
            (
                rate.commission_type.program,
                rate.commission_type.title,
                format_group_rate(rate),
            )
            for rate in rates
        ],
        "new_rate_links": list_new_rate_links(request.user, group),
    }


def list_new_rate_links(user, group) -> list[tuple[str, str]]:
    """Title of a program and the URL on which the user sets the group's rate in it."""
    programs = group.account.programs.filter(archived_at=None).order_by("-id")
    return [
        (program.title, f"{url}?group={group.pk}")
        for program in programs.select_related("account__plan")[:MAX_PROGRAMS]
        for page, url in list_page_links(user, program)
        if page is AddGroupRatePage
    ]


def format_group_rate(rate) -> str:
    """`12.5 %`, or `4 EUR` of each sale."""
    value = f"{rate.value.normalize():f}"
    if rate.kind == RateKind.PERCENTAGE:
        return f"{value} %"
    return f"{value} {rate.commission_type.program.currency}"


class GroupPage(FormPage):
    model = AffiliateGroup
    noun = "group"
    subject = "{row.title}"
    row_argument = ("group_id", "public_id")


class AddGroupPage(GroupPage, AddPage):
    title = button = "Create group"
    explanation = (
        "Affiliates of a group can earn by rates of their own. An affiliate is in at"
        " most one group."
    )
    service = staticmethod(create_group)

    class Form(ServiceForm):
        serializer_class = AffiliateGroupInputSerializer

        title = forms.CharField()


class AddMembersPage(GroupPage):
    """Put affiliates into the group."""

    name = "members"
    title = button = "Add affiliates"
    permission = "tracking.change_affiliate"
    explanation = SetGroupPage.explanation
    service = staticmethod(add_to_group)

    class Form(ServiceForm):
        affiliates = RowsChoiceField(
            "affiliates",
            search_field=Affiliate._meta.get_field("parent"),
            help_text="One or several. Those in another group leave it.",
        )

    def get_values(self, form):
        rows = form.values["affiliates"].select_related("group")
        self.left = {row: f" (out of {row.group.title})" for row in rows if row.group}
        return {"affiliate_ids": [row.slug for row in rows]}

    def get_done_message(self, moved):
        texts = [f"{row}{self.left.get(row, '')}" for row in moved]
        names = ", ".join(texts) or "nobody, as they were in it before"
        return f"Added to {self.row.title}: {names}."


class EditGroupPage(GroupPage, EditPage):
    explanation = "A new hold counts for sales from now on."
    service = staticmethod(update_group)
    done_message = "The group {result.title} was saved."

    class Form(AddGroupPage.Form):
        hold_days = forms.IntegerField(
            label="Days on hold",
            required=False,
            help_text=f"From a sale until its commissions are due, 0 to {MAX_HOLD_DAYS}."
            " Empty: as each program says.",
        )

    def get_values(self, form):
        hold_days = form.cleaned_data["hold_days"]
        return {"changes": {"title": form.values["title"], "hold_days": hold_days}}


class RemoveGroupPage(GroupPage, RemovePage):
    service = staticmethod(delete_group)
    leads_to_list = True

    def get_explanation(self):
        affiliates = self.account.affiliates.not_deleted().filter(group=self.row)
        rates = self.account.group_rates.filter(group=self.row)
        return (
            f"{self.row.title} is removed for good.\n"
            f"Affiliates: {affiliates.count():,} leave the group.\n"
            f"Rates of the group: {rates.count():,} are removed. Sales from now on earn"
            " by the rates of the program; earlier commissions stay as they are."
        )


GROUP_PAGES = (EditGroupPage, AddMembersPage, RemoveGroupPage)
