"""Pages of prospects: what one shows, and its forms."""

from affiliate_site.api.person_serializers import build_person_data
from affiliate_site.api.resources.prospects import ProspectInputSerializer
from affiliate_site.backoffice.affiliates.affiliate_detail import (
    get_full_name,
    list_details,
)
from affiliate_site.backoffice.affiliates.person_forms import PersonForm
from affiliate_site.backoffice.fields import ProgramField, RowChoiceField
from affiliate_site.backoffice.form_pages import AddPage, FormPage, RemovePage
from affiliate_site.backoffice.formatters import REMOVED, Label, format_day
from affiliate_site.backoffice.object_pages import find_neighbors
from affiliate_site.backoffice.theme import get_object_url
from tracking.models.prospects import Prospect
from tracking.referral_links import build_referral_link
from tracking.services.prospects import (
    ProspectData,
    create_prospect,
    delete_prospect,
    promote_prospect_manually,
)


def build_prospect_context(prospect) -> dict:
    """What the page of a prospect shows."""
    account = prospect.account
    code = account.referral_codes.filter(prospect=prospect).first()
    landing_page = prospect.program.landing_page
    previous, following = find_neighbors(prospect, account.prospects.not_deleted())
    return {
        "prospect": prospect,
        "full_name": get_full_name(prospect),
        "title": get_full_name(prospect),
        "subtitle": "",
        "badges": list_badges(prospect),
        "referral_link": build_referral_link(landing_page, code.code) if code else "",
        "details": list_details(prospect),
        "previous": previous,
        "next": following,
    }


def list_badges(prospect) -> list[Label]:
    """The labels beside the name."""
    if prospect.deleted_at:
        return [REMOVED]
    if prospect.promoted_at:
        return [Label(f"affiliate since {format_day(prospect.promoted_at)}", "success")]
    return [Label("no sale yet", "warning")]


class ProspectPage(FormPage):
    model = Prospect
    subject = "{row.firstname} {row.lastname}"
    row_argument = ("public_id", "public_id")


class AddProspectPage(ProspectPage, AddPage):
    title = button = "Create prospect"
    explanation = (
        "A prospect gets a referral link at once. The first customer or sale through it"
        " makes the prospect an affiliate of the program."
    )
    service = staticmethod(create_prospect)
    done_message = "{result.firstname} {result.lastname} was created."

    class Form(PersonForm):
        serializer_class = ProspectInputSerializer
        first_fields = (*PersonForm.first_fields, "program_id", "affiliate_group_id")

        program_id = ProgramField(
            label="Program", required=False, empty_label="The oldest active program"
        )
        affiliate_group_id = RowChoiceField(
            "affiliate_groups", label="Group", required=False, empty_label="No group"
        )

    def get_values(self, form):
        body = form.values
        data = ProspectData(
            person=build_person_data(body),
            program_id=body.get("program_id"),
            group_id=body.get("affiliate_group_id"),
        )
        return {"data": data}


class PromoteProspectPage(ProspectPage):
    """Make a prospect an affiliate without waiting for a sale."""

    name = "promote"
    title = button = "Make affiliate"
    service = staticmethod(promote_prospect_manually)

    @classmethod
    def is_offered(cls, prospect):
        return (
            super().is_offered(prospect)
            and prospect.promoted_at is None
            and prospect.program.archived_at is None
        )

    def get_explanation(self):
        prospect = self.row
        return (
            f"{prospect.firstname} {prospect.lastname} becomes an affiliate, approved"
            f" in {prospect.program.title}. The referral link and its clicks stay."
        )

    def get_done_url(self, enrollment):
        return get_object_url(enrollment.affiliate)

    def get_done_message(self, enrollment):
        text = f"{enrollment.affiliate} is an affiliate now"
        if self.row.email and not enrollment.affiliate.email:
            text += f", without {self.row.email}: another affiliate has this address"
        return f"{text}."


class RemoveProspectPage(ProspectPage, RemovePage):
    service = staticmethod(delete_prospect)

    def get_explanation(self):
        if self.row.promoted_at:
            return "The prospect is removed. The affiliate and its link stay."
        return "The prospect is removed, and the referral link stops working."


PROSPECT_PAGES = (PromoteProspectPage, RemoveProspectPage)
