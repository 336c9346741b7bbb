"""The form of an affiliate's payout methods."""

import re
from unicodedata import combining, normalize

from django import forms
from django.core.validators import validate_email

from affiliate_site.api.resources.payout_methods import PayoutMethodInputSerializer
from affiliate_site.backoffice.affiliates.affiliate_pages import AffiliatePage
from affiliate_site.backoffice.forms import KeyValueField, ServiceForm
from payouts.models.payments import PayoutMethodKind
from payouts.services.payout_methods import set_payout_method

IBAN_PATTERN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
IBAN_BEGINNING = re.compile(r"[A-Z]{2}[0-9]{2}")
# Names of details, without accents; a number of an account need not be an IBAN.
IBAN_NAME = re.compile("iban")
ACCOUNT_NAME = re.compile(
    r"account|konto|rekening|compte|cuenta|\b(conto|conta|cont|tili)\b|tilinumero"
    "|racun|ucet|szamla|hesap"
)
EMAIL_NAME = re.compile("paypal|e[-_ ]?mail|courriel|correo electronico")


def is_iban(text: str) -> bool:
    """Return whether the check digits of an IBAN are right (ISO 13616)."""
    code = compact(text)
    if not IBAN_PATTERN.fullmatch(code):
        return False
    digits = (str(int(character, 36)) for character in code[4:] + code[:4])
    return int("".join(digits)) % 97 == 1


def compact(text: str) -> str:
    """A text without white space, in capital letters."""
    return "".join(text.split()).upper()


def find_mistake(name: str, value: str) -> str:
    """What is wrong with a value, as far as its name tells; empty if nothing is."""
    letters = normalize("NFKD", name.casefold())
    plain_name = "".join(each for each in letters if not combining(each))
    if not value:
        return f"Enter a value after {name[:80]}, or remove the line."
    if EMAIL_NAME.search(plain_name):
        try:
            validate_email(value)
        except forms.ValidationError:
            return (
                f"{name[:80]}: {value[:80]} is not an e-mail address. Enter one such as"
                " odette@notes.example.org."
            )
        return ""
    is_account = ACCOUNT_NAME.search(plain_name)
    looks_like_iban = is_account and IBAN_BEGINNING.match(compact(value))
    if (IBAN_NAME.search(plain_name) or looks_like_iban) and not is_iban(value):
        return (
            f"{name[:80]}: {value[:80]} is not an IBAN: its check digits do not match,"
            " or it is too long or too short. Compare it with what the affiliate sent."
        )
    return ""


class PayoutMethodForm(ServiceForm):
    """A payout method with its details."""

    serializer_class = PayoutMethodInputSerializer

    kind = forms.ChoiceField(label="Method", choices=PayoutMethodKind.choices)
    details = KeyValueField(
        help_text=(
            "One per line, such as paypal_address: odette@notes.example.org or iban:"
            " SI56 1910 0000 0123 438. They replace those of the method."
        ),
        error_messages={
            "required": "Enter the details: without them nobody can pay. A method"
            " cannot be emptied; an affiliate is paid by the first one."
        },
    )
    primary = forms.BooleanField(
        label="Pay by this method first",
        required=False,
        help_text="The first method of an affiliate always is.",
    )

    def clean_details(self):
        """Refuse new values with a typing error; the API takes any text."""
        details = self.cleaned_data["details"]
        stored = self.initial.get("details") or {}
        found = [
            find_mistake(name, value)
            for name, value in details.items()
            if value != stored.get(name)
        ]
        if mistakes := list(filter(None, found)):
            raise forms.ValidationError(mistakes)
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
