"""The pages of self-billing documents and of tax rules."""

from dataclasses import replace
from functools import partial

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.urls import path, reverse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join

from accounts.countries import get_country_name
from affiliate_site.backoffice.base import ReadOnlyBackOfficeAdmin
from affiliate_site.backoffice.formatters import EMPTY_VALUE, Label, format_money
from affiliate_site.backoffice.lists.columns import PERSON, TAX_WITHHELD, build_status_column
from affiliate_site.backoffice.lists.filters import AffiliateFilter, CurrencyFilter
from affiliate_site.backoffice.lists.search import (
    AFFILIATE_SEARCH_HELP,
    AffiliateSearchMixin,
)
from affiliate_site.backoffice.navigation import MenuEntry, SubList
from affiliate_site.backoffice.object_pages import (
    LINK_TEMPLATE,
    Details,
    ObjectPageMixin,
    Section,
    link_to,
)
from affiliate_site.backoffice.payouts.document_pages import (
    OTHER_COUNTRIES,
    AddTaxRulePage,
    IssueDocumentsPage,
    RemoveTaxRulePage,
)
from affiliate_site.columns import AmountSource, Column, list_places
from affiliate_site.document_files import (
    describe_subject,
    get_title,
    list_amounts,
    list_party_lines,
    render_document,
)
from affiliate_site.downloads import send_file
from affiliate_site.http_errors import error_response
from affiliate_site.pdf import find_weasyprint
from payouts.errors import Unprintable
from payouts.models.documents import Document, DocumentKind, TaxRule


def get_kind(document) -> Label:
    return Label(document.get_kind_display().lower())


def build_amount_column(name: str, title: str) -> Column:
    """A column of one of the amounts of a document."""
    return Column(
        title,
        lambda row: format_money(getattr(row, name), row.currency),
        name=f"{name}_text",
        order=name,
        export=AmountSource(name),
    )


def document_pdf_view(model_admin, request, object_id: int):
    """The document as a PDF."""
    if not request.user.has_perm("payouts.view_document"):
        raise PermissionDenied
    document = model_admin.get_object(request, object_id)
    if document is None or not find_weasyprint():
        raise Http404
    try:
        content = render_document(document)
    except Unprintable as error:
        return error_response(request, 503, f"{error}.")
    return send_file(content, f"{document}.pdf")


@admin.register(Document)
class DocumentAdmin(AffiliateSearchMixin, ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """Self-billing documents and their corrections, newest first."""

    menu = (MenuEntry("Payouts", 50, "description"),)
    empty_state = (
        "No documents yet. Switch self-billing on in its settings, then each settled"
        " payment gets a document, if the affiliate's data for it are complete."
    )
    columns = (
        "label",
        build_status_column(get_kind, name="kind_label", export="kind"),
        replace(PERSON, order=None),
        "issued_on",
        build_amount_column("net", "Net"),
        build_amount_column("vat", "VAT"),
        build_amount_column("total", "Total"),
        TAX_WITHHELD,
        Column(name="vat_rate", is_listed=False),
        Column(name="payment", export="payment__public_id"),
        Column(name="corrects", is_listed=False, export="corrects__label"),
    )
    list_filter = ("kind", CurrencyFilter, AffiliateFilter)
    search_fields = ("label__exact", "affiliate__slug__exact")
    search_help_text = AFFILIATE_SEARCH_HELP
    amount_column = "total"
    ordering = ("-year", "-number")
    add_page = IssueDocumentsPage

    def get_queryset(self, request):
        rows = super().get_queryset(request)
        return rows.select_related("payment", "corrects", "affiliate", "account")

    def get_urls(self):
        """Add the PDF of a document."""
        view = self.admin_site.admin_view(partial(document_pdf_view, self))
        return [
            path("<int:object_id>/pdf/", view, name="document_pdf"),
            *super().get_urls(),
        ]

    def get_details(self, request, document):
        return Details(
            headline=format_money(document.total, document.currency),
            labels=[get_kind(document)],
            is_removed=document.kind == DocumentKind.CORRECTION,
            sections=[
                Section(get_title(document), facts=list_document_facts(document)),
                Section(
                    describe_subject(document),
                    columns=list_places("What", "Amount", amounts_from=1),
                    rows=list_amounts(document),
                    notes=[document.sentence] if document.sentence else [],
                ),
            ],
        )

    def find_neighbors(self, document):
        """The documents with the next numbers."""
        rows = document.account.documents.filter(year=document.year)
        return (
            rows.filter(number=document.number + 1).first(),
            rows.filter(number=document.number - 1).first(),
        )


def list_document_facts(document: Document):
    """Who bills whom, when, and for which payment."""
    rows = document.account.documents.filter(corrects=document)
    url = reverse("admin:document_pdf", args=[document.pk])
    return [
        ("Issued on", date_format(document.issued_on)),
        ("Supplier", join_lines(list_party_lines(document.supplier))),
        ("Issued by", join_lines(list_party_lines(document.issuer))),
        ("Affiliate", link_to(document.affiliate)),
        ("Payment", link_to(document.payment)),
        ("Corrects", link_to(document.corrects)),
        ("Corrected by", link_to(rows.first())),
        (
            "File",
            find_weasyprint() and format_html(LINK_TEMPLATE, url, f"{document}.pdf"),
        ),
    ]


def join_lines(lines: list[str]) -> str:
    """The lines below each other."""
    return format_html_join("", "<div>{}</div>", ((line,) for line in lines))


@admin.register(TaxRule)
class TaxRuleAdmin(ObjectPageMixin, ReadOnlyBackOfficeAdmin):
    """The VAT of affiliates by kind and country."""

    sub_list = SubList(Document, "Tax rules")
    empty_state = (
        "No tax rules yet. Choose “Add tax rule” to say which VAT applies to businesses"
        " and private persons of a country."
    )
    columns = (
        Column("Kind", lambda row: row.supplier_kind.label),
        Column(
            "Country",
            lambda row: OTHER_COUNTRIES.get(row.country) or get_country_name(row.country),
            name="country_name",
            export="country",
        ),
        Column("VAT", lambda row: f"{row.rate.normalize():f} %", export="rate"),
        Column(
            "Withholding tax",
            lambda row: (
                f"{row.withholding_rate.normalize():f} %" if row.withholding_rate else EMPTY_VALUE
            ),
            name="withholding",
            export="withholding_rate",
        ),
        Column("Sentence", lambda row: row.sentence or EMPTY_VALUE),
        Column(
            "The affiliate must give",
            lambda row: row.get_required_number_display() or EMPTY_VALUE,
            name="required",
            export="required_number",
        ),
    )
    ordering = ("is_business", "is_small_business", "country")
    add_page = AddTaxRulePage
    row_pages = (RemoveTaxRulePage,)
    has_neighbors = False  # rules have no order in time
