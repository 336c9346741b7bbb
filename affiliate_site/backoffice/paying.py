"""Paying many: whom, by a minimum and a last day; shown first, then paid one by one."""

from datetime import date, timedelta
from typing import Any

from django import forms
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.services.days import start_of
from affiliate_site.backoffice.actions import (
    Deed,
    go_through,
    shown,
    sorted_out,
    totals,
)
from affiliate_site.backoffice.cells import money
from payouts.services.dues import currencies_owed, dues_of
from payouts.services.payments import Order, pay

AT_ONCE = 300  # affiliates of one confirmation
TO_THE_LIST = "admin:payouts_ledgeraccount_changelist"


class Terms(forms.Form):
    """Who is to be paid: in which currency, from which amount on, for what."""

    currency = forms.ChoiceField()
    minimum = forms.DecimalField(
        min_value=0, max_digits=19, decimal_places=4, label="Minimum", initial=0
    )
    last_day = forms.DateField(
        label="Approved until the end of (UTC)",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )

    def clean_last_day(self):
        """A day after which another one comes."""
        day = self.cleaned_data["last_day"]
        if day.year >= date.max.year:
            raise forms.ValidationError("Choose a day of this age.")
        return day

    def __init__(self, *args: Any, currencies: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["currency"].choices = [(it, it) for it in currencies]  # type: ignore[attr-defined]
        self.fields["last_day"].initial = timezone.now().date()


def pay_many(page, request):
    """The terms; with them whom they name; confirmed, the payments."""
    account = request.user.account
    currencies = [] if account is None else currencies_owed(account)
    terms = Terms(request.GET or None, currencies=currencies)
    context: dict[str, Any] = {
        **page.admin_site.each_context(request),
        "opts": page.model._meta,
        "title": "Pay affiliates",
        "terms": terms,
        "currencies": currencies,
    }
    if terms.is_valid():
        deed, rows = deed_of(account, terms.cleaned_data)
        if request.method == "POST":
            chosen = set(request.POST.getlist(ACTION_CHECKBOX_NAME))
            agreed = [row for row in rows if str(row.pk) in chosen]
            go_through(page, request, agreed[:AT_ONCE], deed)
            return redirect(TO_THE_LIST)
        context |= told(deed, rows)
    return TemplateResponse(request, "admin/pay_many.html", context)


def told(deed: Deed, rows) -> dict[str, Any]:
    """What the page shows of the rows: some hundred to pay, how many are left out."""
    moved, left = sorted_out(rows, deed)
    now = moved[:AT_ONCE]
    return {
        "deed": deed,
        "rows": [(row, shown(row, deed)) for row in now],
        "totals": totals(now, deed.amount),
        "left": len(left),
        "later": len(moved) - len(now),
        "checkbox": ACTION_CHECKBOX_NAME,
    }


def deed_of(account, terms):
    """What is done with each balance, and the balances, each with what is `due`."""
    until = start_of(terms["last_day"] + timedelta(days=1))
    rows = []
    for due in dues_of(account, currency=terms["currency"], until=until):
        due.place.due = due.amount
        due.place.account = account
        due.place.owed_told = money(due.place.balance, due.place.currency)
        rows.append(due.place)

    def left(row) -> str:
        if row.due <= 0:
            return "nothing of it is due"
        return "it is below the minimum" if row.due < terms["minimum"] else ""

    def give(row, at):
        whom, owed = row.affiliate.slug, row.balance
        order = Order(whom, row.due, row.currency, owed=owed, until=until)
        return pay(account, orders=[order], at=at)

    return Deed("Pay affiliates", does=give, leaves=left, amount="due"), rows
