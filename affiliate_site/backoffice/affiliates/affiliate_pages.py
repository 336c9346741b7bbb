"""Forms of affiliates: edit and remove one, set its group and parent."""

from django.urls import reverse

from affiliate_site.backoffice.affiliates.person_forms import (
    AffiliateForm,
    get_person_values,
)
from affiliate_site.backoffice.fields import AffiliateField, RowChoiceField
from affiliate_site.backoffice.form_pages import FormPage, RemovePage
from affiliate_site.backoffice.formatters import format_totals
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.money_pages import MoneyFormPage
from payouts.models.commission_types import MIN_PARENT_LEVEL
from payouts.services.payables import get_payable_balances
from tracking.models.affiliates import Affiliate
from tracking.services.affiliates import (
    delete_affiliate,
    update_affiliate,
)
from tracking.services.hierarchy import set_group, set_parent


def get_tab_url(affiliate_id: int, tab: str) -> str:
    """A tab on the page of an affiliate, such as `notes`."""
    url = reverse("admin:tracking_affiliate_change", args=[affiliate_id])
    return f"{url}?tab={tab}"


class AffiliatePage(FormPage):
    model = Affiliate
    subject = "{row.firstname} {row.lastname}"
    row_argument = ("affiliate_id", "slug")


class EditAffiliatePage(AffiliatePage):
    title = "Edit"
    form_class = AffiliateForm
    service = staticmethod(update_affiliate)
    done_message = "The changes were saved."

    def get_unlocked_initial(self, affiliate):
        return get_person_values(affiliate)

    def get_values(self, form):
        return {"changes": form.get_changes()}


class RemoveAffiliatePage(AffiliatePage, RemovePage):
    """Remove an affiliate, after a page that says what stays."""

    service = staticmethod(delete_affiliate)
    done_message = "{row} was removed."

    def get_explanation(self):
        affiliate, account = self.row, self.account
        balances = get_payable_balances(account, [affiliate.pk]).get(affiliate.pk, {})
        children = account.affiliates.not_deleted().filter(parent=affiliate).count()
        commissions = account.commissions.not_deleted().filter(affiliate=affiliate)
        lines = [
            f"{affiliate.firstname} {affiliate.lastname} earns nothing more: the links,"
            " codes and coupons stop working. This cannot be undone.",
            f"Commissions: {commissions.count():,} stay as they are. Pending ones can"
            " still be approved or disapproved.",
        ]
        if balances:
            lines.append(f"Balance due: {format_totals(balances)}. It stays and can still be paid.")
        if children:
            lines.append(
                f"Recruited affiliates: {children:,} lose their parent; from then on,"
                " nobody earns level commissions from their sales through it."
            )
        lines.append(
            "The e-mail address becomes free for another affiliate; the ID, the"
            " referral codes and the coupons do not."
        )
        return "\n".join(lines)


class AffiliateGroupForm(ServiceForm):
    group_id = RowChoiceField(
        "affiliate_groups", label="Group", required=False, empty_label="No group"
    )


class SetGroupPage(AffiliatePage):
    name = "group"
    title = "Set group"
    explanation = (
        "Sales from now on earn by the rates of the group, where it has some. Earlier"
        " commissions stay as they are."
    )
    form_class = AffiliateGroupForm
    service = staticmethod(set_group)

    def get_unlocked_initial(self, affiliate):
        return {"group_id": affiliate.group_id}

    def get_values(self, form):
        group = form.values["group_id"]
        return {"group_id": group.public_id if group else None}

    def get_done_message(self, affiliate):
        if affiliate.group is None:
            return f"{affiliate} is in no group now."
        return f"{affiliate} is in the group {affiliate.group.title} now."


class ParentForm(ServiceForm):
    affiliate_id = AffiliateField(
        label="Parent",
        required=False,
        help_text="The affiliate who recruited this one. Empty: none.",
    )


class SetParentPage(AffiliatePage, MoneyFormPage):
    """Set or remove the affiliate who earns level commissions from this one's sales.

    A parent who earns nothing in a program must be confirmed.
    """

    name = "parent"
    title = "Set parent"
    explanation = (
        "The parent earns level commissions from this affiliate's sales from now on, by"
        " the levels of the program, if the parent is approved in the program, too."
        " Earlier commissions stay as they are."
    )
    form_class = ParentForm
    button = "Save"
    locks_account = True
    service = staticmethod(set_parent)

    @classmethod
    def is_offered(cls, affiliate):
        return super().is_offered(affiliate) and affiliate.account.plan.mlm

    def get_unlocked_initial(self, affiliate):
        return {"affiliate_id": affiliate.parent_id}

    def get_values(self, form):
        parent = form.values["affiliate_id"]
        return {"parent_id": parent.slug if parent else None}

    def must_be_confirmed(self, form):
        return bool(warn_of_parent(self.row, form.values["affiliate_id"]))

    def list_facts(self, form, affiliate):
        parent = form.values["affiliate_id"]
        return [("Parent", parent), ("Note", warn_of_parent(affiliate, parent))]

    def get_done_message(self, affiliate):
        if affiliate.parent is None:
            return f"{affiliate} has no parent now."
        return f"The parent of {affiliate} is {affiliate.parent} now."


def warn_of_parent(affiliate, parent) -> str:
    """Where a parent would earn nothing from an affiliate's sales; else empty."""
    if parent is None:
        return ""
    account = affiliate.account
    approved = account.enrollments.filter(approved=True).values("program")
    programs = account.programs.filter(
        pk__in=approved.filter(affiliate=affiliate), archived_at=None
    )
    levels = account.levels.filter(level=MIN_PARENT_LEVEL).values("program")
    earning = programs.filter(pk__in=levels)
    earning = earning.filter(pk__in=approved.filter(affiliate=parent))
    titles = list(programs.difference(earning).values_list("title", flat=True))
    if not titles:
        return ""
    return (
        f"{parent} earns nothing in {', '.join(sorted(titles))}: the program has no"
        f" levels, or {parent} is not approved in it."
    )


AFFILIATE_PAGES = (
    EditAffiliatePage,
    SetGroupPage,
    SetParentPage,
    RemoveAffiliatePage,
)
