"""The sales of an affiliate, and why they earn from each."""

from functools import partial

from django import forms
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from affiliate_site.columns import Column
from affiliate_site.portal.access import build_url, portal_page, show
from affiliate_site.portal.earnings import (
    STATES,
    explain_amount,
    explain_disapproval,
    explain_sale,
    list_earnings,
)
from affiliate_site.portal.periods import PeriodChoiceForm
from affiliate_site.portal.tables import MAX_ID, PAGE_SIZE, build_query, download_all, take_page
from payouts.models.commissions import CommissionKind
from payouts.services.figures import filter_state, is_of_days
from payouts.services.statements import hide_undone_commissions

FILE_COLUMNS = (
    Column(_("Day"), lambda it: it.day),
    Column(_("What"), lambda it: it.what),
    Column(_("Program"), lambda it: get_program(it.commission)),
    Column(_("Order"), lambda it: it.order_id),
    Column(_("State"), lambda it: it.state_label),
    Column(_("Amount of the sale"), lambda it: find_sale_amount(it.commission)),
    Column(_("You earn"), lambda it: it.commission.amount),
    Column(_("Currency"), lambda it: it.commission.currency),
    Column(_("On hold until"), lambda it: it.due_on),
)


class SalesForm(PeriodChoiceForm):
    """The sales to show: in a state, of a period."""

    state = forms.ChoiceField(
        label=_("State"), choices=[("", _("All")), *STATES.items()], required=False
    )


@portal_page()
def sales(request):
    """All commissions, newest first."""
    affiliate, at = request.affiliate, timezone.now()
    form = SalesForm(request.GET)
    rows = select_rows(affiliate, form, at=at)
    if "file" in request.GET:
        load = partial(list_earnings, affiliate, order_ids=request.portal.order_ids, at=at)
        rows = rows.select_related("conversion__program", "bonus__program")
        return download_all(request, "sales", FILE_COLUMNS, rows, load)
    shown, older = take_page(rows, PAGE_SIZE, request.GET.get("before", ""))
    context = {
        "title": gettext("Sales"),
        "earnings": list_earnings(affiliate, shown, request.portal.order_ids, at=at),
        "form": form,
        "is_filtered": any(form.cleaned_data.values()) or not form.is_valid(),
        "older_query": build_query(request.GET, before=str(older)) if older else "",
        "file_query": build_query(request.GET, before="", file="sales"),
    }
    return show(request, "sales", context)


def select_rows(affiliate, form: SalesForm, *, at):
    """The commissions in the state and period of a form, newest first; a wrong form
    finds all."""
    account = affiliate.account
    rows = account.commissions.filter(affiliate=affiliate)
    rows = hide_undone_commissions(account, rows)
    period = form.find_period(account.get_day(at))
    if period is not None:
        rows = rows.filter(is_of_days(account, period))
    if form.is_valid() and (state := form.cleaned_data["state"]):
        rows = filter_state(account, rows, state, at=at)
    return rows.select_related("conversion", "bonus").order_by("-id")


def get_program(commission) -> str:
    """The title of the program of a sale or bonus."""
    return str((commission.conversion or commission.bonus).program.title)


def find_sale_amount(commission):
    """What the commission was calculated from; None of a bonus and of a recruit's sale,
    which is not shown."""
    is_own = commission.kind == CommissionKind.REGULAR
    return commission.sub_amount if is_own else None


@portal_page()
def sale(request, sale: int):
    """Why the affiliate earns from a sale, how much, and what happened since."""
    affiliate, at = request.affiliate, timezone.now()
    account = affiliate.account
    rows = account.commissions.filter(affiliate=affiliate, conversion=min(sale, MAX_ID))
    rows = hide_undone_commissions(account, rows)
    commissions = list(rows.select_related("conversion__program", "payment").order_by("id"))
    if not commissions:
        raise Http404
    conversion = commissions[0].conversion
    earnings = list_earnings(affiliate, commissions, request.portal.order_ids, at=at)
    refunds = account.refunds.filter(conversion=conversion, canceled_at=None)
    if conversion.affiliate_id != affiliate.pk:
        refunds = refunds.none()
    context = {
        "title": gettext("Why this sale"),
        "order_id": earnings[0].order_id,
        "program": conversion.program.title,
        "day": account.get_day(conversion.created_at),
        "sentences": explain_sale(affiliate, conversion, commissions),
        "parts": [
            (
                earning,
                explain_amount(earning.commission),
                explain_disapproval(earning.commission),
            )
            for earning in earnings
        ],
        "refunds": [account.get_day(refund.created_at) for refund in refunds.order_by("id")],
        "earns_nothing": all(earning.state in {"disapproved", "removed"} for earning in earnings),
        "ask_url": f"{build_url(account, 'ask')}?sale={conversion.pk}",
    }
    return show(request, "sale", context)
