"""Forms of affiliate groups: create, rename and remove one."""

from django import forms

from affiliate_site.api.resources.groups import (
    AffiliateGroupInputSerializer,
    AffiliateGroupUpdateSerializer,
)
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.forms import ServiceForm
from payouts.services.groups import delete_group
from tracking.services.hierarchy import create_group, update_group


class GroupTitleForm(ServiceForm):
    """The title of a new group."""

    serializer_class: type = AffiliateGroupInputSerializer

    title = forms.CharField()


class GroupTitleUpdateForm(GroupTitleForm):
    """Another title."""

    serializer_class = AffiliateGroupUpdateSerializer


class AddGroupPage(FormPage):
    """Create a group."""

    title = "Create group"
    button = "Create group"
    permission = "tracking.add_affiliategroup"
    explanation = (
        "Affiliates of a group can earn by rates of their own. An affiliate is in at"
        " most one group."
    )
    form_class = GroupTitleForm

    def save(self, form, at):
        return create_group(self.account, title=form.validated["title"], at=at)

    def get_done_message(self, group):
        return f"The group {group.title} was created."


class RenameGroupPage(FormPage):
    """Change the title of a group."""

    name = "edit"
    title = "Rename"
    permission = "tracking.change_affiliategroup"
    form_class = GroupTitleUpdateForm

    def get_subject(self):
        return self.row.title

    def get_unlocked_initial(self, group):
        return {"title": group.title}

    def save(self, form, at):
        return update_group(
            self.account,
            group_id=self.row.public_id,
            title=form.validated["title"],
            at=at,
        )

    def get_done_message(self, group):
        return f"The group is called {group.title} now."


class RemoveGroupPage(FormPage):
    """Remove a group, after a page that says whom it concerns."""

    name = "remove"
    title = "Remove"
    button = "Remove group"
    permission = "tracking.delete_affiliategroup"
    is_dangerous = True

    def get_subject(self):
        return self.row.title

    def get_explanation(self):
        affiliates = self.account.affiliates.not_deleted().filter(group=self.row)
        rates = self.account.group_rates.filter(group=self.row)
        return (
            f"{self.row.title} is removed for good.\n"
            f"Affiliates: {affiliates.count():,} leave the group.\n"
            f"Rates of the group: {rates.count():,} are removed. Sales from now on earn"
            " by the rates of the program; earlier commissions stay as they are."
        )

    def save(self, form, at):
        delete_group(self.account, group_id=self.row.public_id, at=at)
        self.row = None  # the next page is the list

    def get_done_message(self, result):
        return "The group was removed."


GROUP_PAGES = (RenameGroupPage, RemoveGroupPage)
