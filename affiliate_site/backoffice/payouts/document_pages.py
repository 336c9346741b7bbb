"""Forms of self-billing: its settings, tax rules, tax data, and issuing documents."""

from decimal import Decimal
from itertools import groupby

from django import forms
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from accounts.countries import list_countries
from affiliate_site.backoffice.affiliates.affiliate_pages import AffiliatePage
from affiliate_site.backoffice.fields import MULTI_LINE, DecimalField
from affiliate_site.backoffice.form_pages import AddPage, FormPage, RemovePage
from affiliate_site.backoffice.formatters import format_money
from affiliate_site.backoffice.forms import FieldSets, ServiceForm
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.object_pages import LINK_TEMPLATE, link_to
from affiliate_site.backoffice.payouts.payer_settings_page import PayerSettingsPage
from payouts.models.documents import OTHER_EU, RequiredNumber, SupplierKind, TaxRule
from payouts.services.documents import count_unbilled, issue_documents, list_unbilled
from payouts.services.payout_settings import get_payout_settings
from payouts.services.tax_data import remove_tax_rule, set_tax_data, set_tax_rule
from tracking.money import ZERO

OTHERS = "others"
MAX_LISTED = 500  # payments without a document
MAX_NAMED = 10  # of those with the same problem
OTHER_COUNTRIES = {OTHER_EU: "Other EU countries", "": "All other countries"}
YOUR_DUTY = (
    "Which VAT applies is for you and your tax adviser to decide: nothing is guessed,"
    " and without a rule there is no document. Of several rules that fit, the one of"
    " the country counts, then that of other EU countries."
)


def list_taxed_countries() -> list[tuple[str, str]]:
    """The countries of a tax rule, after those that have no name."""
    empty, *rows = list_countries("Choose a country")
    others = [(OTHER_EU, OTHER_COUNTRIES[OTHER_EU]), (OTHERS, OTHER_COUNTRIES[""])]
    return [empty, *others, *rows]


def build_kind_field() -> forms.TypedChoiceField:
    """As what an affiliate sells."""
    return forms.TypedChoiceField(label="Kind", choices=SupplierKind.choices, coerce=SupplierKind)


class SelfBillingForm(ServiceForm):
    """From when on documents are made, and what stands on them."""

    documents_from = forms.DateField(
        label="Documents for payments from",
        required=False,
        help_text="Payments from this day on. Empty: no documents are made.",
    )
    document_prefix = forms.CharField(
        label="Numbers begin with",
        max_length=16,
        required=False,
        help_text="Then come year and number, without gaps: SB-2026-00001.",
    )
    payer_vat_id = forms.CharField(label="Your VAT ID", max_length=32, required=False)
    requires_documents = forms.BooleanField(
        label="Pay with a document only",
        required=False,
        help_text="Payout runs leave out whose document lacks something, by name, until"
        " it is there. Else they only say so.",
    )

    fieldsets: FieldSets = (
        (
            "Self-billing",
            (
                *("documents_from", "document_prefix", "payer_vat_id"),
                "requires_documents",
            ),
        ),
    )


class SelfBillingPage(PayerSettingsPage):
    title = "Self-billing settings"
    url_name = "self_billing"
    menu = MenuEntry("Payouts", 90, "request_quote")
    form_class: type[ServiceForm] = SelfBillingForm


class TaxRuleForm(ServiceForm):
    kind = build_kind_field()
    country = forms.ChoiceField(
        choices=list_taxed_countries,
        help_text="Other EU countries: not the one of your payer settings.",
    )
    rate = DecimalField(
        label="VAT in percent",
        help_text="Included in what you pay: 119.00 with 19 % is 100.00 and 19.00 VAT.",
    )
    withholding_rate = DecimalField(
        label="Withholding tax in percent",
        required=False,
        help_text="Of the amount without VAT. Payout runs pay so much less, and keep it"
        " in the ledger for the tax office: only of affiliates with tax data, and only while"
        " self-billing is switched on.",
    )
    sentence = forms.CharField(
        max_length=500,
        required=False,
        widget=MULTI_LINE({"rows": 2}),
        help_text="On the document. Needed without VAT, such as: Reverse charge.",
    )
    required_number = forms.ChoiceField(
        label="The affiliate must give",
        choices=[("", RequiredNumber.__empty__), *RequiredNumber.choices],
        required=False,
        help_text="Without it there is no document.",
    )

    def clean_country(self) -> str:
        """Empty for all other countries."""
        return self.cleaned_data["country"].removeprefix(OTHERS)

    def clean_withholding_rate(self) -> Decimal:
        """Nothing without a rate."""
        return self.cleaned_data["withholding_rate"] or ZERO


class AddTaxRulePage(AddPage):
    model = TaxRule
    button = "Save"
    explanation = (
        "A rule of the same kind and country is replaced. A document has the VAT of the day of"
        " its issue, when the payment is settled; withheld is what the payout run said when it"
        f" was confirmed. {YOUR_DUTY}"
    )
    form_class = TaxRuleForm
    service = staticmethod(set_tax_rule)
    done_message = "The tax rule was saved."
    leads_to_list = True


class RemoveTaxRulePage(RemovePage):
    model = TaxRule
    explanation = "Documents that were issued stay as they are."
    service = staticmethod(remove_tax_rule)
    leads_to_list = True


class SetTaxDataPage(AffiliatePage):
    name = "tax"
    title = "Set tax data"
    permission = "payouts.change_taxdata"
    explanation = "Documents also show the name and address of the affiliate, as they are then."
    service = staticmethod(set_tax_data)
    done_message = "The tax data of {row} were saved."

    class Form(ServiceForm):
        kind = build_kind_field()
        legal_name = forms.CharField(
            max_length=140,
            required=False,
            help_text="On documents, if it is not the name or company of the affiliate.",
        )
        country = forms.ChoiceField(
            label="Country of taxation", choices=lambda: list_countries("Choose a country")
        )
        tax_number = forms.CharField(max_length=32, required=False)
        vat_id = forms.CharField(
            label="VAT ID",
            max_length=32,
            required=False,
            help_text="Of businesses. Its form is checked, not whether it was given.",
        )
        consented_on = forms.DateField(
            label="Agreed to self-billing on",
            required=False,
            help_text="Without this agreement there is no document.",
        )

    def get_unlocked_initial(self, affiliate):
        row = affiliate.account.tax_data.filter(affiliate=affiliate).first()
        if row is None:
            return {"country": affiliate.country or ""}
        return {
            "kind": row.supplier_kind,
            "legal_name": row.legal_name,
            "country": row.country,
            "tax_number": row.tax_number,
            "vat_id": row.vat_id,
            "consented_on": row.consented_on,
        }


class IssueDocumentsPage(FormPage):
    """Issue the documents of all payments that arrived and have none."""

    title = "Issue documents"
    button = "Issue"
    permission = "payouts.add_document"
    leads_to_list = True

    def dispatch(self, request, *args, **kwargs):
        account = request.user.account
        self.unbilled = list_unbilled(account, limit=MAX_LISTED) if account else []
        return super().dispatch(request, *args, **kwargs)

    def get_explanation(self):
        if get_payout_settings(self.account).documents_from is None:
            url = reverse("admin:self_billing")
            link = format_html(LINK_TEMPLATE, url, "Switch it on")
            return format_html("Self-billing is off. {}", link)
        ready = [each.payment for each in self.unbilled if each.problem is None]
        rest = count_unbilled(self.account) - len(self.unbilled)
        return format_html(
            "{}.{} Those of a payout run get a document when they are settled, others only here.",
            describe_payments(f"{len(ready):,} can be billed now", ready)
            if ready
            else "No payment can be billed now",
            f" {rest:,} more payments were not looked at yet." if rest else "",
        )

    def list_alerts(self):
        """Why other payments cannot be billed."""

        def get_problem(each) -> str:
            return each.problem.label if each.problem else ""

        ordered = sorted(self.unbilled, key=get_problem)
        return [
            describe_payments(problem, [each.payment for each in group])
            for problem, group in groupby(ordered, key=get_problem)
            if problem
        ]

    def save(self, form, at):
        return issue_documents(self.account, at=at)

    def get_done_message(self, documents):
        number = len(documents)
        return f"{number:,} document{'s were' if number != 1 else ' was'} issued."


def describe_payments(what: str, payments) -> str:
    """`The affiliate has no tax data: Ada Stone (40.00 EUR), …`."""
    parts = [
        (link_to(it.affiliate), link_to(it, format_money(it.amount, it.currency)))
        for it in payments[:MAX_NAMED]
    ]
    rest = len(payments) - len(parts)
    names = format_html_join(", ", "{} ({})", parts)
    return format_html("{}: {}{}", what, names, f", and {rest:,} more" if rest else "")
