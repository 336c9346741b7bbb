"""How an affiliate is paid: add a payout method, change it, remove it."""

from typing import Any

from django import forms
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.countries import list_countries
from affiliate_site import http_errors
from affiliate_site.payout_detail_fields import DETAIL_TEXTS, DetailField
from affiliate_site.portal.access import build_url, portal_page
from affiliate_site.portal.confirmations import (
    ConfirmedForm,
    is_valid,
    run_confirmed,
    show_form,
)
from payouts.errors import PayoutMethodIncomplete, PayoutMethodNotFound
from payouts.models.payments import PayoutMethodKind
from payouts.payout_details import DETAIL_NAMES, mask_details
from payouts.services.payout_methods import KINDS, find_obstacle
from payouts.services.self_service import (
    OWN_KINDS,
    get_own_method,
    list_own_methods,
    make_own_method_primary,
    remove_own_method,
    set_own_method,
)

# What is wrong with a detail that was entered, and what is missing.
WRONG = {
    "iban": gettext_lazy(
        "This is not an IBAN: its check digits do not match, or it is too long or too"
        " short. Compare it with your bank statement."
    ),
    "bic": gettext_lazy("This is not a BIC: it has 8 or 11 letters and digits."),
    "email": gettext_lazy("This is not an e-mail address."),
    "country": gettext_lazy("Choose the country of the bank."),
}
MISSING = {
    "iban": gettext_lazy(
        "Enter the IBAN. In a country without IBANs, enter the account number, the"
        " country, and the routing number or the BIC."
    ),
    "bic": gettext_lazy("Enter the BIC, too: this bank is outside of SEPA."),
    "email": gettext_lazy("Enter the e-mail address of your account there."),
    "country": WRONG["country"],
    "routing_number": gettext_lazy("Enter the routing number or the BIC of the bank."),
}


NEEDED: dict[str, Any] = {
    PayoutMethodKind.WISE: gettext_lazy(
        "Enter the e-mail address of your account at Wise, or its recipient ID: one of them is"
        " enough."
    ),
}


# Only accounts in some countries have these; behind a heading of their own.
RARE_DETAILS = ("bic", "account_number", "routing_number", "bank_name", "country")


class OwnDetailField(DetailField):
    is_optional = False  # as far as the page says it
    widget = forms.TextInput({"autocomplete": "off"})


class CountryField(forms.ChoiceField):
    """A country; whether it is needed depends on the other fields."""

    is_optional = False  # as far as the page says it


class PayoutMethodForm(ConfirmedForm):
    email = OwnDetailField("email")
    recipient = OwnDetailField("recipient")
    account_holder = OwnDetailField(
        "account_holder", help_text=gettext_lazy("If it is somebody else than you.")
    )
    iban = OwnDetailField("iban")
    bic = OwnDetailField("bic")
    account_number = OwnDetailField(
        "account_number", help_text=gettext_lazy("Only of an account without IBAN.")
    )
    routing_number = OwnDetailField("routing_number")
    bank_name = OwnDetailField("bank_name")
    country = CountryField(choices=list_countries, required=False, **DETAIL_TEXTS["country"])
    is_primary = forms.BooleanField(
        label=gettext_lazy("Pay me by this method"), required=False, initial=True
    )

    def __init__(self, *args, kind: str, **kwargs):
        super().__init__(*args, **kwargs)
        kept = (*DETAIL_NAMES[kind], "is_primary", "old_password")
        self.fields = {name: self.fields[name] for name in kept}
        self.details = DETAIL_NAMES[kind]

    @property
    def usual_fields(self) -> list[forms.BoundField]:
        """What nearly everybody enters."""
        return [field for field in self if field.name not in RARE_DETAILS]

    @property
    def rare_fields(self) -> list[forms.BoundField]:
        """What few enter."""
        return [field for field in self if field.name in RARE_DETAILS]

    def build_details(self) -> dict[str, str]:
        """The details that were entered."""
        return {name: text for name in self.details if (text := self.cleaned_data[name])}

    def show_error(self, error) -> None:
        """Show next to its field what is missing or wrong."""
        if not isinstance(error, PayoutMethodIncomplete):
            super().show_error(error)
            return
        for name in error.problems:
            texts = WRONG if self.cleaned_data.get(name) else MISSING
            self.add_error(name if name in self.fields else None, texts[name])


def describe_methods(account, methods) -> list[dict[str, Any]]:
    """Payout methods as texts that name no account."""
    return [
        {
            "kind": KINDS[method.kind],
            "account": mask_details(method.kind, method.details),
            "is_primary": method.is_primary,
            "obstacle": find_obstacle(method),
            "set_url": build_url(account, "set_method", kind=method.kind)
            if method.kind in OWN_KINDS
            else "",
            "primary_url": build_url(account, "primary_method", kind=method.kind),
            "remove_url": build_url(account, "remove_method", kind=method.kind),
        }
        for method in methods
    ]


def list_new_methods(account, methods) -> list[tuple[str, str]]:
    """The kinds that the affiliate can add, and their pages."""
    present = {method.kind for method in methods}
    return [
        (KINDS[kind], build_url(account, "set_method", kind=kind))
        for kind in OWN_KINDS
        if kind not in present
    ]


@portal_page("GET", "HEAD", "POST")
def set_method(request, kind: str):
    """Add a payout method, or replace its details."""
    if kind not in OWN_KINDS:
        return http_errors.not_found(request)
    form, status = PayoutMethodForm(request.POST or None, kind=kind), 200
    if request.method == "POST" and is_valid(request, form):
        status = run_confirmed(
            request,
            form,
            set_own_method,
            kind=kind,
            details=form.build_details(),
            is_primary=form.cleaned_data["is_primary"],
            at=timezone.now(),
        )
        if not status:
            return redirect_to_payments(request)
    return show_form(
        request,
        str(KINDS[kind]),
        form,
        _("Save"),
        text=describe_present(request.affiliate, kind),
        template="payout_method",
        status=status,
    )


def describe_present(affiliate, kind: str) -> str:
    """What a new account replaces; what is needed if there is none of this kind."""
    try:
        method = get_own_method(affiliate, kind)
    except PayoutMethodNotFound:
        return str(NEEDED.get(kind, ""))
    return _("Now: {method}. What you enter replaces it.").format(
        method=mask_details(kind, method.details)
    )


@portal_page("GET", "HEAD", "POST")
def make_primary(request, kind: str):
    """Be paid by another method."""
    title, button = str(KINDS.get(kind, "")), _("Pay me by this method")
    return confirm_change(request, kind, make_own_method_primary, title, button)


@portal_page("GET", "HEAD", "POST")
def remove_method(request, kind: str):
    """Remove a payout method."""
    title = _("Remove {method}").format(method=KINDS.get(kind, ""))
    return confirm_change(request, kind, remove_own_method, title, _("Remove"), describe_removal)


def describe_account(affiliate, method) -> str:
    """The account of a method, without its whole number."""
    return mask_details(method.kind, method.details)


def describe_removal(affiliate, method) -> str:
    """What becomes of the money if an affiliate removes the method."""
    account = describe_account(affiliate, method)
    if not method.is_primary:
        return account
    others = [each for each in list_own_methods(affiliate) if each != method]
    if not others:
        text = _(
            "{method}. You have chosen it for your payments: without it you are not paid until you"
            " add another method. What you have earned stays yours."
        )
        return text.format(method=account)
    text = _("{method}. You have chosen it for your payments: without it you are paid by {other}.")
    following = f"{KINDS[others[0].kind]} {mask_details(others[0].kind, others[0].details)}"
    return text.format(method=account, other=following)


def confirm_change(request, kind: str, service, title: str, button: str, describe=describe_account):
    """Change a method of the affiliate after the password was entered."""
    try:
        method = get_own_method(request.affiliate, kind)
    except PayoutMethodNotFound:
        return http_errors.not_found(request)
    form, status = ConfirmedForm(request.POST or None), 200
    if request.method == "POST":
        status = run_confirmed(request, form, service, kind=kind, at=timezone.now())
        if not status:
            return redirect_to_payments(request)
    text = describe(request.affiliate, method)
    return show_form(request, title, form, button, text=text, status=status)


def redirect_to_payments(request):
    """Lead to the payments, which say that it was saved."""
    return redirect(f"{build_url(request.account, 'payments')}?saved=1")
