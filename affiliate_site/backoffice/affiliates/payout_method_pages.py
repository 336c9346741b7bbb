"""The form of an affiliate's payout methods."""

import re

from django import forms

from affiliate_site.api.resources.payout_methods import PayoutMethodInputSerializer
from affiliate_site.backoffice.affiliates.affiliate_pages import AffiliatePage
from affiliate_site.backoffice.forms import KeyValueField, ServiceForm
from payouts.models.payments import PayoutMethodKind
from payouts.services.payout_methods import set_payout_method

IBAN_KEY = "iban"
IBAN_PATTERN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")


def is_iban(text: str) -> bool:
    """Return whether the check digits of an IBAN are right (ISO 13616)."""
    code = "".join(text.split()).upper()
    if not IBAN_PATTERN.fullmatch(code):
        return False
    digits = (str(int(character, 36)) for character in code[4:] + code[:4])
    return int("".join(digits)) % 97 == 1


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

    def clean_details(self):
        """Refuse a new IBAN with a typing error; the API takes any text."""
        details = self.cleaned_data["details"]
        stored = self.initial.get("details") or {}
        for key, value in details.items():
            is_new = key.lower() == IBAN_KEY and value and value != stored.get(key)
            if is_new and not is_iban(value):
                raise forms.ValidationError(
                    f"{value[:80]} is not an IBAN: its check digits do not match, or it"
                    " is too long or too short."
                )
        return details

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
    service = staticmethod(set_payout_method)

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

    def get_values(self, form):
        return {
            "kind": form.cleaned_data["kind"],
            "details": form.values.get("details"),
            "is_primary": form.values["primary"],
        }

    def get_done_message(self, method):
        return f"{method.get_kind_display()} was saved as a payout method."
