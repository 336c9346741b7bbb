"""Tax data of an affiliate, and consent to self-billing."""

from django import forms
from django.http import Http404
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.countries import list_countries
from affiliate_site.portal.access import build_url, portal_page
from affiliate_site.portal.confirmations import (
    ConfirmedForm,
    is_valid,
    run_confirmed,
    show_form,
)
from payouts.errors import InvalidTaxData
from payouts.services.documents import DocumentProblem
from payouts.services.own_tax_data import (
    find_document_obstacle,
    find_own_tax_data,
    issues_documents,
    set_own_tax_data,
)

OBSTACLES = {
    DocumentProblem.NO_TAX_DATA: gettext_lazy(
        "No document can be issued for your payments yet: enter your tax data."
    ),
    DocumentProblem.NO_CONSENT: gettext_lazy(
        "No document can be issued for your payments yet: agree to self-billing in your"
        " tax data."
    ),
    DocumentProblem.NO_ADDRESS: gettext_lazy(
        "No document can be issued for your payments yet: enter your address in your"
        " profile."
    ),
}


class TaxDataForm(ConfirmedForm):
    """Business or private, where, the consent, and the password."""

    is_business = forms.TypedChoiceField(
        label=gettext_lazy("You sell as"),
        choices=[
            ("True", gettext_lazy("a business or self-employed")),
            ("False", gettext_lazy("a private person")),
        ],
        coerce=lambda value: value == "True",
        widget=forms.RadioSelect,
    )
    country = forms.ChoiceField(
        label=gettext_lazy("Country where you pay taxes"),
        choices=list_countries,
    )
    vat_id = forms.CharField(
        label=gettext_lazy("VAT ID"),
        max_length=32,
        required=False,
        help_text=gettext_lazy("Only of a business, if it has one."),
    )
    has_consented = forms.BooleanField(
        label=gettext_lazy("I agree to self-billing"), required=False
    )

    def show_error(self, error) -> None:
        """Say in the language of the page what is wrong with a VAT ID."""
        if not isinstance(error, InvalidTaxData):
            super().show_error(error)
            return
        self.add_error(
            "vat_id",
            _(
                "This VAT ID does not fit: check it and the country. Private persons"
                " have none."
            ),
        )


@portal_page("GET", "HEAD", "POST")
def tax_data(request):
    """Say how taxes apply, and agree to self-billing."""
    account, affiliate = request.account, request.affiliate
    if not issues_documents(account):
        raise Http404
    data = find_own_tax_data(affiliate)
    initial = {"country": affiliate.country or ""}
    if data is not None:
        initial = {
            "is_business": str(data.is_business),
            "country": data.country,
            "vat_id": data.vat_id,
            "has_consented": data.consented_on is not None,
        }
    form, status = TaxDataForm(request.POST or None, initial=initial), 200
    if request.method == "POST" and is_valid(request, form):
        names = ("is_business", "country", "vat_id", "has_consented")
        values = {name: form.cleaned_data[name] for name in names}
        at = timezone.now()
        status = run_confirmed(request, form, set_own_tax_data, **values, at=at)
        if not status:
            return redirect(f"{build_url(account, 'profile')}?saved=1")
    text = _(
        "Self-billing means: {account} writes the invoice for your commissions in your"
        " name and gives you a copy, so you write none. Without your consent no"
        " document is issued. You can withdraw it here at any time; documents that"
        " exist stay."
    ).format(account=account.name)
    return show_form(
        request,
        _("Tax data"),
        form,
        _("Save"),
        text=text,
        back="profile",
        status=status,
    )


def describe_obstacle(affiliate) -> tuple[str, str] | None:
    """What is missing for documents, and the page where to enter it."""
    obstacle = find_document_obstacle(affiliate)
    if not obstacle:
        return None
    is_address = obstacle == DocumentProblem.NO_ADDRESS
    page = "edit_profile" if is_address else "tax_data"
    return str(OBSTACLES[DocumentProblem(obstacle)]), build_url(affiliate.account, page)
