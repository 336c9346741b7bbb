"""The form of an affiliate's payout methods."""

from django import forms

from affiliate_site.api.resources.payout_methods import PayoutMethodInputSerializer
from affiliate_site.backoffice.affiliates.affiliate_pages import AffiliatePage
from affiliate_site.backoffice.forms import KeyValueField, ServiceForm
from payouts.models.payments import PayoutMethodKind
from payouts.services.payout_methods import set_payout_method


class PayoutMethodForm(ServiceForm):
    """A payout method with its details; without changed details they stay."""

    serializer_class = PayoutMethodInputSerializer

    kind = forms.ChoiceField(label="Method", choices=PayoutMethodKind.choices)
    details = KeyValueField(
        required=False,
        help_text=(
            "One per line, such as paypal_address: odette@notes.example.org or iban:"
            " SI56 1910 0000 0123 438. They replace those of the method."
        ),
    )
    primary = forms.BooleanField(
        label="Pay by this method first",
        required=False,
        help_text="The first method of an affiliate always is.",
    )

    def build_body(self):
        body = {"primary": self.cleaned_data.get("primary")}
        details = self.cleaned_data.get("details")
        if "details" in self.changed_data or ("kind" in self.changed_data and details):
            body["details"] = details
        return body


class SetPayoutMethodPage(AffiliatePage):
    """Set a payout method; `?kind=bank` opens the one that is set."""

    name = "payout"
    title = "Set payout method"
    permission = "payouts.change_payoutmethod"
    explanation = (
        "An affiliate has at most one method of each kind. A method cannot be removed:"
        " pay by another one first."
    )
    form_class = PayoutMethodForm

    def get_unlocked_initial(self, affiliate):
        kind = self.request.GET.get("kind", "")
        rows = affiliate.account.payout_methods.filter(affiliate=affiliate)
        method = rows.filter(kind=kind).first() if kind else None
        if method is None:
            return {}
        return {
            "kind": kind,
            "details": method.details,
            "primary": method.is_primary,
        }

    def save(self, form, at):
        return set_payout_method(
            self.account,
            affiliate_id=self.row.slug,
            kind=form.cleaned_data["kind"],
            details=form.validated.get("details"),
            is_primary=form.validated["primary"],
            at=at,
        )

    def get_done_message(self, method):
        return f"{method.get_kind_display()} was saved as a payout method."
