"""The payments of an affiliate, their documents, and statements."""

from datetime import date, timedelta
from functools import partial
from operator import itemgetter
from typing import Any
from urllib.parse import urlencode

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from affiliate_site import http_errors
from affiliate_site.columns import Column
from affiliate_site.document_files import render_document
from affiliate_site.downloads import send_file
from affiliate_site.pdf import find_weasyprint
from affiliate_site.portal.access import (
    build_url,
    portal_page,
    show,
    translate_error,
)
from affiliate_site.portal.balances import describe_balances
from affiliate_site.portal.formats import long_day
from affiliate_site.portal.forms import PeriodForm
from affiliate_site.portal.payout_method_pages import (
    describe_methods,
    list_new_methods,
)
from affiliate_site.portal.statement_files import (
    MOVEMENTS,
    OwnStatementFile,
    find_reference,
)
from affiliate_site.portal.tables import MAX_ID, PAGE_SIZE, download_all, take_page
from affiliate_site.portal.throttling import TOO_MANY_PDF_FILES, is_pdf_throttled
from payouts.errors import InvalidPeriod, Unprintable
from payouts.models.documents import DocumentKind
from payouts.models.runs import PayoutLineState
from payouts.services.payout_runs import find_payments_in
from payouts.services.self_service import list_own_methods
from payouts.services.statements import get_statement, hide_undone_payments
from payouts.statistics import get_last_month
from tracking.services.portal_settings import get_contact
from tracking.written_amounts import write_amount

STATEMENT_DAYS = 90
FILE_COLUMNS = (  # of payments with their states
    Column(gettext_lazy("Day"), lambda it: it[0].account.get_day(it[0].created_at)),
    Column(gettext_lazy("Payment"), lambda it: it[0].public_id),
    Column(gettext_lazy("State"), itemgetter(1)),
    Column(gettext_lazy("Amount"), lambda it: it[0].amount),
    Column(gettext_lazy("Currency"), lambda it: it[0].currency),
)
CANCELED, RETURNED, ON_ITS_WAY, PAID = "canceled", "returned", "on_its_way", "paid"
STATES = {
    CANCELED: gettext_lazy("Canceled, owed again"),
    RETURNED: gettext_lazy("Came back, owed again"),
    ON_ITS_WAY: gettext_lazy("On its way"),
    PAID: gettext_lazy("Paid"),
}
DOCUMENTS: dict[str, Any] = {
    DocumentKind.SELF_BILLING: gettext_lazy("Invoice {number}"),
    DocumentKind.CORRECTION: gettext_lazy("Correction {number}"),
}


@portal_page()
def payments(request):
    """What was paid, newest first, and what will be."""
    affiliate, at = request.affiliate, timezone.now()
    account = affiliate.account
    own = account.payments.filter(affiliate=affiliate)
    rows = hide_undone_payments(account, own).order_by("-id")
    if "file" in request.GET:
        load = partial(load_states, account)
        return download_all(request, "payments", FILE_COLUMNS, rows, load)
    before = request.GET.get("before", "")
    shown, older = take_page(rows, PAGE_SIZE, before)
    methods = list_own_methods(affiliate)
    context = {
        "title": _("Payments"),
        "is_saved": "saved" in request.GET,
        "methods": describe_methods(account, methods),
        "new_methods": list_new_methods(account, methods),
        "payments": list_payments(account, shown),
        "before": older,
        "is_first_page": not before,
        "statement_url": build_url(account, "statement"),
    } | describe_balances(affiliate, request.portal, at=at, methods=methods)
    return show(request, "payments", context)


def list_payments(account, rows) -> list[dict[str, Any]]:
    """The payments as texts, with their documents."""
    pks = [row.pk for row in rows]
    answers = find_answers(account, pks)
    documents: dict[int, list[tuple[str, str]]] = {}
    if find_weasyprint():
        for document in account.documents.filter(payment__in=pks).order_by("id"):
            label = DOCUMENTS[document.kind].format(number=document.label)
            url = build_url(account, "document", document=document.pk)
            documents.setdefault(document.payment_id, []).append((label, url))
    return [
        {
            "id": row.public_id,
            "day": (day := account.get_day(row.created_at)),
            "amount": write_amount(row.amount, row.currency),
            "tax": row.tax_withheld and write_amount(row.tax_withheld, row.currency),
            "net": write_amount(row.net_amount, row.currency),
            "state": (state := get_state(row, answers)),
            "state_label": STATES[state],
            "statement_url": build_statement_url(account, row, day),
            "documents": documents.get(row.pk, ()),
        }
        for row in rows
    ]


def find_answers(account, pks) -> dict[int, str]:
    """Which payments the bank has returned or not answered yet."""
    states = (PayoutLineState.UNKNOWN, PayoutLineState.RETURNED)
    return find_payments_in(account.payout_lines.all(), pks, *states)


def get_state(payment, answers) -> str:
    """A key of `STATES`."""
    answer = answers.get(payment.pk)
    if payment.canceled_at is not None:
        return RETURNED if answer == PayoutLineState.RETURNED else CANCELED
    return ON_ITS_WAY if answer == PayoutLineState.UNKNOWN else PAID


def load_states(account, rows):
    """Payments with their states."""
    answers = find_answers(account, [row.pk for row in rows])
    return [(row, str(STATES[get_state(row, answers)])) for row in rows]


def build_statement_url(account, payment, day: date) -> str:
    """The statement of a payment: from the month before to its day, as in the mail."""
    start = get_last_month(day).first
    query = urlencode({"start": start, "end": day, "payment": payment.public_id})
    return f"{build_url(account, 'statement')}?{query}"


def describe_payment(affiliate, public_id: str) -> str:
    """The payment of which the affiliate opened the statement; empty without one."""
    rows = affiliate.account.payments.filter(affiliate=affiliate)
    is_id = public_id.isprintable() and public_id
    found = rows.filter(public_id=public_id).first() if is_id else None
    if found is None:
        return ""
    get_day = affiliate.account.get_day
    text = _("Payment {id} of {day}: {amount}").format(
        id=found.public_id,
        day=long_day(get_day(found.created_at)),
        amount=write_amount(found.amount, found.currency),
    )
    if found.canceled_at is None:
        return text
    canceled = _("It was canceled on {day}: the amount is owed to you again.")
    return f"{text}. {canceled.format(day=long_day(get_day(found.canceled_at)))}"


def refuse_unprintable(request, error: Unprintable):
    """The answer instead of a PDF with boxes for letters."""
    text = _(
        "This file cannot be printed: no font of the server has {characters}. Write to"
        " {contact}, so that it gets one. The statement is there as a CSV file, too."
    ).format(characters=error.params["texts"], contact=get_contact(request.account))
    return http_errors.error_response(request, 503, text)


@portal_page()
def document(request, document: int):
    """A self-billing document of the affiliate, or its correction, as a PDF."""
    rows = request.account.documents.filter(affiliate=request.affiliate)
    rows = rows.select_related("account", "affiliate", "payment", "corrects")
    found = rows.filter(pk=min(document, MAX_ID)).first()
    if found is None or not find_weasyprint():
        raise Http404
    if is_pdf_throttled(request.affiliate):
        return http_errors.error_response(request, 429, str(TOO_MANY_PDF_FILES))
    try:
        content = render_document(found)
    except Unprintable as error:
        return refuse_unprintable(request, error)
    return send_file(content, f"{found}.pdf")


@portal_page()
def statement(request):
    """What changed the balances in a period, also as a file."""
    affiliate, account = request.affiliate, request.account
    today = account.get_day(timezone.now())
    days = {"start": today - timedelta(days=STATEMENT_DAYS), "end": today}
    form = PeriodForm(request.GET if "start" in request.GET else days)
    currencies, files = [], []
    if form.is_valid():
        try:
            found = get_statement(account, affiliate, **form.cleaned_data)
        except InvalidPeriod as error:
            form.add_error("end", translate_error(error))
        else:
            file_format = request.GET.get("format")
            if file_format == "pdf" and is_pdf_throttled(affiliate):
                return http_errors.error_response(request, 429, str(TOO_MANY_PDF_FILES))
            formats = OwnStatementFile.list_formats()
            if file_format in formats:
                file = OwnStatementFile(found, request.portal.order_ids)
                try:
                    content = file.render(file_format)
                except Unprintable as error:
                    return refuse_unprintable(request, error)
                return send_file(content, f"{file}.{file_format}")
            currencies = [build_statement(request, each) for each in found.currencies]
            files = [
                (name.upper(), f"?{urlencode({**form.cleaned_data, 'format': name})}")
                for name in formats
            ]
    context = {
        "title": _("Statement"),
        "payment": describe_payment(affiliate, request.GET.get("payment", "")),
        "payments_url": build_url(account, "payments"),
        "form": form,
        "currencies": currencies,
        "files": files if currencies else [],
    }
    return show(request, "statement", context)


def build_statement(request, statement) -> dict[str, Any]:
    """The lines of a currency as texts; order IDs as far as the account shows them."""
    account, currency = request.account, statement.currency
    return {
        "currency": currency,
        "opening": write_amount(statement.opening, currency),
        "closing": write_amount(statement.closing, currency),
        "lines": [
            {
                "day": account.get_day(line.at),
                "what": MOVEMENTS[line.kind],
                "sale_url": build_sale_url(account, line.commission),
                "reference": find_reference(line, request.portal.order_ids),
                "amount": write_amount(line.amount, currency),
            }
            for line in statement.lines
        ],
    }


def build_sale_url(account, commission) -> str:
    """The page of the sale of a commission; empty without one."""
    sale = commission and commission.conversion_id
    return build_url(account, "sale", sale=sale) if sale else ""
