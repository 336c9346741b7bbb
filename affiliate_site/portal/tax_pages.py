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
from payouts.models.documents import SupplierKind
from payouts.services.documents import DocumentProblem
from payouts.services.self_service import (
    find_document_settings,
    find_own_tax_data,
    list_own_problems,
    pays_with_documents_only,
    set_own_tax_data,
)

OBSTACLES = {
    DocumentProblem.NO_TAX_DATA: gettext_lazy(
        "No document can be issued for your payments yet: enter your tax data."
    ),
    DocumentProblem.NO_CONSENT: gettext_lazy(
        "No document can be issued for your payments yet: agree to self-billing in your tax data."
    ),
    DocumentProblem.NO_ADDRESS: gettext_lazy(
        "No document can be issued for your payments yet: enter your address in your profile."
    ),
    DocumentProblem.NO_VAT_ID: gettext_lazy(
        "No document can be issued for your payments yet: enter your VAT ID in your tax data."
    ),
    DocumentProblem.NO_TAX_NUMBER: gettext_lazy(
        "No document can be issued for your payments yet: enter your tax number in your tax data."
    ),
    DocumentProblem.NO_NUMBER: gettext_lazy(
        "No document can be issued for your payments yet: enter your VAT ID or your tax"
        " number in your tax data."
    ),
}
# What only the company can mend.
OF_THE_COMPANY = gettext_lazy(
    "No document can be issued for your payments yet: {account} has to say first how"
    " they are taxed."
)
UNPAID = gettext_lazy("Payments wait until then.")


class TaxDataForm(ConfirmedForm):
    kind = forms.TypedChoiceField(
        label=gettext_lazy("For taxes, you are"),
        choices=[
            (SupplierKind.BUSINESS, gettext_lazy("a business or self-employed")),
            (
                SupplierKind.SMALL_BUSINESS,
                gettext_lazy("a small business that is exempt from VAT"),
            ),
            (SupplierKind.PRIVATE, gettext_lazy("a private person")),
        ],
        coerce=SupplierKind,
        widget=forms.RadioSelect,
    )
    legal_name = forms.CharField(
        label=gettext_lazy("Name on documents"),
        max_length=140,
        required=False,
        help_text=gettext_lazy(
            "Only if it is not the name or company in your profile. The address is the"
            " one in your profile."
        ),
    )
    country = forms.ChoiceField(
        label=gettext_lazy("Country where you pay taxes"),
        choices=list_countries,
    )
    tax_number = forms.CharField(label=gettext_lazy("Tax number"), max_length=32, required=False)
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
            _("This VAT ID does not fit: check it and the country. Private persons have none."),
        )


TAX_FIELDS = tuple(TaxDataForm.declared_fields.keys() - ConfirmedForm.declared_fields)


@portal_page("GET", "HEAD", "POST")
def tax_data(request):
    """Say how taxes apply, and agree to self-billing."""
    account, affiliate = request.account, request.affiliate
    settings = find_document_settings(account)
    if settings is None:
        raise Http404
    data = find_own_tax_data(affiliate)
    initial = {"country": affiliate.country or ""}
    if data is not None:
        initial = {
            "kind": data.supplier_kind,
            "legal_name": data.legal_name,
            "country": data.country,
            "tax_number": data.tax_number,
            "vat_id": data.vat_id,
            "has_consented": data.consented_on is not None,
        }
    form, status = TaxDataForm(request.POST or None, initial=initial), 200
    if request.method == "POST" and is_valid(request, form):
        values = {it: form.cleaned_data[it] for it in TAX_FIELDS}
        at = timezone.now()
        status = run_confirmed(request, form, set_own_tax_data, **values, at=at)
        if not status:
            page = "tax_data" if list_own_problems(affiliate, settings) else "profile"
            return redirect(f"{build_url(account, page)}?saved=1")
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
        is_saved="saved" in request.GET,
        missing=list_obstacles(affiliate, settings) if data is not None else [],
    )


def describe_obstacle(affiliate) -> tuple[str, str] | None:
    """The first thing that documents lack, and the page where to enter it."""
    account = affiliate.account
    settings = find_document_settings(account)
    if settings is None:
        return None
    for text, url in list_obstacles(affiliate, settings):
        waits = pays_with_documents_only(settings, account.get_day(timezone.now()))
        return (f"{text} {UNPAID}" if waits else text), url
    return None


def list_obstacles(affiliate, settings) -> list[tuple[str, str]]:
    """What documents lack, and the pages where to enter it; what the company has to do
    last, without a page."""
    account, found = affiliate.account, list_own_problems(affiliate, settings)
    pages = {DocumentProblem.NO_ADDRESS: build_url(account, "edit_profile")}
    own = [
        (str(OBSTACLES[problem]), pages.get(problem, build_url(account, "tax_data")))
        for problem in found
        if problem in OBSTACLES
    ]
    text = OF_THE_COMPANY.format(account=account.name)
    return [*own, *([(text, "")] if len(own) < len(found) else [])]
