"""The payments of an affiliate, and statements."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from affiliate_site.portal.access import build_url, portal_page, show
from affiliate_site.portal.balances import list_balances
from affiliate_site.portal.earnings import find_open_payments, find_order_id
from affiliate_site.portal.formats import format_money, long_day
from affiliate_site.portal.forms import PeriodForm
from affiliate_site.portal.payout_method_pages import list_methods, list_new_methods
from payouts.errors import InvalidPeriod
from payouts.services.statements import get_statement
from tracking.services.portal_settings import find_next_payout_day

PAGE_SIZE = 50
STATEMENT_DAYS = 90


@portal_page()
def payments(request):
    """What was paid, and what will be."""
    affiliate, at = request.affiliate, timezone.now()
    account = affiliate.account
    rows = account.payments.filter(affiliate=affiliate).order_by("-created_at", "-id")
    shown = list(rows[:PAGE_SIZE])
    open_payments = find_open_payments(account, [row.pk for row in shown])
    methods = list_methods(affiliate)
    next_day = find_next_payout_day(request.portal, today=account.get_day(at))
    context = {
        "title": _("Payments"),
        "is_saved": "saved" in request.GET,
        "next_payments": _("The next payments are planned for {day}.").format(
            day=long_day(next_day)
        )
        if next_day
        else "",
        "methods": methods,
        "new_methods": list_new_methods(affiliate, methods),
        "balances": list_balances(affiliate, at=at),
        "payments": [
            {
                "id": row.public_id,
                "day": account.get_day(row.created_at),
                "amount": format_money(row.amount, row.currency),
                "is_canceled": row.canceled_at is not None,
                "is_on_its_way": row.pk in open_payments,
            }
            for row in shown
        ],
        "statement_url": build_url(account, "statement"),
    }
    return show(request, "payments", context)


@portal_page()
def statement(request):
    """What changed the balances in a period."""
    affiliate, account = request.affiliate, request.account
    today = account.get_day(timezone.now())
    days = {"start": today - timedelta(days=STATEMENT_DAYS), "end": today}
    form = PeriodForm(request.GET if "start" in request.GET else days)
    currencies = []
    if form.is_valid():
        try:
            found = get_statement(account, affiliate, **form.cleaned_data)
        except InvalidPeriod as error:
            form.add_error("end", str(error))
        else:
            currencies = [build_statement(request, each) for each in found.currencies]
    context = {"title": "Statement", "form": form, "currencies": currencies}
    return show(request, "statement", context)


def build_statement(request, statement) -> dict[str, Any]:
    """The lines of a currency as texts; order IDs as far as the account shows them."""
    account, currency = request.account, statement.currency
    return {
        "currency": currency,
        "opening": format_money(statement.opening, currency),
        "closing": format_money(statement.closing, currency),
        "lines": [
            {
                "day": account.get_day(line.at),
                "what": line.kind.label,
                "reference": line.payment_id
                or (
                    find_order_id(line.commission, request.portal.order_ids)
                    if line.commission
                    else ""
                ),
                "amount": format_money(line.amount, currency),
            }
            for line in statement.lines
        ],
    }
