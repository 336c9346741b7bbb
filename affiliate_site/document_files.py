"""Self-billing documents as PDF, where WeasyPrint is installed."""

from decimal import Decimal

from django.utils.formats import date_format
from django_countries import countries

from affiliate_site.cells import format_money
from affiliate_site.pdf import write_pdf
from payouts.models.documents import Document, DocumentKind


def list_party_lines(party: dict[str, str]) -> list[str]:
    """Name, address and VAT ID of one side."""
    vat_id = party.get("vat_id")
    lines = [
        party["name"],
        f"{party['street']} {party.get('building', '')}",
        f"{party['postal_code']} {party['city']}",
        str(countries.name(party["country"])),
        f"VAT ID: {vat_id}" if vat_id else "",
    ]
    return [line.strip() for line in lines if line.strip()]


def format_rate(rate: Decimal) -> str:
    """`19 %`."""
    return f"{rate.normalize():f} %"


def get_title(document: Document) -> str:
    """What is printed above a document."""
    if document.kind == DocumentKind.CORRECTION:
        return f"Correction {document} of {document.corrects}"
    return f"Self-billed invoice {document}"


def describe_subject(document: Document) -> str:
    """What is billed."""
    if document.first_day is None or document.last_day is None:
        return f"Affiliate commissions, payment {document.payment}"
    first, last = date_format(document.first_day), date_format(document.last_day)
    days = first if first == last else f"{first} to {last}"
    return f"Affiliate commissions of {days}, payment {document.payment}"


def list_amounts(document: Document) -> list[tuple[str, str]]:
    """Net amount, VAT and total."""
    return [
        (title, format_money(amount, document.currency))
        for title, amount in (
            ("Net amount", document.net),
            (f"VAT {format_rate(document.vat_rate)}", document.vat),
            ("Total", document.total),
        )
    ]


def render_document(document: Document) -> bytes:
    """The document as a PDF."""
    context = {
        "document": document,
        "paid_on": document.account.get_day(document.payment.created_at),
        "title": get_title(document),
        "issuer": list_party_lines(document.issuer),
        "supplier": list_party_lines(document.supplier),
        "subject": describe_subject(document),
        "amounts": list_amounts(document),
    }
    return write_pdf("statements/document.html", context)
