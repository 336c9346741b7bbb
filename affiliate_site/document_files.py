"""Self-billing documents as PDF, where WeasyPrint is installed."""

from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.countries import get_country_name
from accounts.written_days import write_day
from affiliate_site.pdf import write_pdf
from payouts.models.documents import Document, DocumentKind
from tracking.services.mails import use_language_of
from tracking.written_amounts import write_amount, write_number


def list_party_lines(party: dict[str, str]) -> list[str]:
    """Name, address and VAT ID of one side."""
    vat_id, tax_number = party.get("vat_id"), party.get("tax_number")
    lines = [
        party["name"],
        f"{party['street']} {party.get('building', '')}",
        f"{party['postal_code']} {party['city']}",
        get_country_name(party["country"]),
        _("Tax number: {number}").format(number=tax_number) if tax_number else "",
        _("VAT ID: {vat_id}").format(vat_id=vat_id) if vat_id else "",
    ]
    return [line.strip() for line in lines if line.strip()]


def get_title(document: Document) -> str:
    """What is printed above a document."""
    if document.kind == DocumentKind.CORRECTION:
        text = _("Correction {number} of {corrected}")
        return text.format(number=document, corrected=document.corrects)
    return _("Self-billed invoice {number}").format(number=document)


def describe_subject(document: Document) -> str:
    """What is billed."""
    if document.first_day is None or document.last_day is None:
        text = _("Affiliate commissions, payment {payment}")
        return text.format(payment=document.payment)
    first, last = write_day(document.first_day), write_day(document.last_day)
    if first == last:
        text = _("Affiliate commissions of {day}, payment {payment}")
        return text.format(day=first, payment=document.payment)
    text = _("Affiliate commissions of {first} to {last}, payment {payment}")
    return text.format(first=first, last=last, payment=document.payment)


def list_amounts(document: Document) -> list[tuple[str, str]]:
    """The opening balance in the total, if there is one, net amount, VAT and total, and
    what of it is withheld and paid, if something is withheld."""
    rate = f"{write_number(document.vat_rate, 0)} %"
    tax = document.tax_withheld
    return [
        (title, write_amount(amount, document.currency))
        for title, amount in (
            (_("Opening balance, included in the total"), document.opening),
            (_("Net amount"), document.net),
            (_("VAT {rate}").format(rate=rate), document.vat),
            (_("Total"), document.total),
            (_("Withholding tax"), tax and -tax),
            (_("Paid out"), tax and document.total - tax),
        )
        if amount is not None
    ]


def render_document(document: Document) -> bytes:
    with use_language_of(document.affiliate):
        return write_pdf("statements/document.html", build_context(document))


def build_context(document: Document) -> dict[str, Any]:
    """What the document shows, in the language in use."""
    return {
        "document": document,
        "language": get_language(),
        "paid_on": document.account.get_day(document.payment.created_at),
        "title": get_title(document),
        "issuer": list_party_lines(document.issuer),
        "supplier": list_party_lines(document.supplier),
        "subject": describe_subject(document),
        "amounts": list_amounts(document),
    }
