"""Bulk payout: select affiliates by a minimum and a date, preview, then pay each."""

from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from affiliate_site.backoffice.actions import (
    AdminAction,
    calculate_totals,
    create_token,
    execute_confirmed,
    format_confirmed_amount,
    partition_rows,
)
from affiliate_site.backoffice.dashboard.list_urls import build_changelist_url
from affiliate_site.backoffice.formatters import format_affiliate, format_money
from affiliate_site.backoffice.forms import DecimalField
from affiliate_site.backoffice.payouts.payment_pages import NO_TRANSFER
from affiliate_site.backoffice.payouts.payout_texts import (
    add_payout_texts,
    warn_of_missing_methods,
)
from payouts.services.payables import list_payable_currencies, list_payables
from payouts.services.payments import PaymentOrder, create_payments

BATCH_SIZE = 300  # affiliates per confirmation
BALANCES_URL_NAME = "admin:payouts_ledgeraccount_changelist"


class BulkPayoutForm(forms.Form):
    """The criteria: currency, minimum balance, and the last day of approvals."""

    currency = forms.ChoiceField()
    minimum = DecimalField(
        min_value=0,
        max_digits=19,
        decimal_places=4,
        label="Minimum balance",
        initial=0,
        widget=forms.TextInput({"inputmode": "decimal"}),
    )
    approved_until = forms.DateField(
        label="Include commissions approved through",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )

    includes_without_method = forms.BooleanField(
        label="Also affiliates without a payout method", required=False
    )

    def clean_approved_until(self):
        """Reject dates whose next day may be out of range."""
        day = self.cleaned_data["approved_until"]
        if day.year >= date.max.year:
            raise forms.ValidationError("The date is out of range.")
        return day

    def __init__(self, *args: Any, currencies: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(currency, currency) for currency in currencies]
        self.fields["currency"].choices = choices  # type: ignore[attr-defined]
        zone = timezone.get_current_timezone_name()
        approved_until = self.fields["approved_until"]
        approved_until.label = f"{approved_until.label} ({zone})"
        approved_until.initial = timezone.localdate()


def bulk_payouts_view(model_admin, request):
    """Show the form and the preview; after the confirmation, create the payments."""
    account = request.user.account
    currencies = [] if account is None else list_payable_currencies(account)
    form = BulkPayoutForm(request.GET or None, currencies=currencies)
    context: dict[str, Any] = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.model._meta,
        "title": "Pay affiliates",
        "form": form,
        "currencies": currencies,
    }
    if form.is_valid():
        admin_action, rows = build_bulk_payout(request.user, form.cleaned_data)
        if request.method == "POST":
            selected_ids = set(request.POST.getlist(ACTION_CHECKBOX_NAME))
            selected_rows = [row for row in rows if str(row.pk) in selected_ids]
            response = execute_confirmed(
                model_admin, request, selected_rows[:BATCH_SIZE], admin_action
            )
            return response or redirect(BALANCES_URL_NAME)
        context |= build_preview_context(admin_action, rows)
    return TemplateResponse(request, "admin/bulk_payouts.html", context)


def build_preview_context(admin_action: AdminAction, rows) -> dict[str, Any]:
    """Template context: the first batch, and the numbers of all other affiliates."""
    included, skipped = partition_rows(rows, admin_action)
    batch = included[:BATCH_SIZE]
    return {
        "explanation": NO_TRANSFER,
        "alert": warn_of_missing_methods(batch),
        "admin_action": admin_action,
        "rows": [(row, format_confirmed_amount(row, admin_action)) for row in batch],
        "totals": calculate_totals(batch, admin_action.amount_field),
        "skipped": skipped[:BATCH_SIZE],
        "skipped_count": len(skipped),
        "remaining_count": len(included) - len(batch),
        "checkbox_name": ACTION_CHECKBOX_NAME,
        "token": create_token(),
    }


def build_bulk_payout(user, criteria):
    """The action that pays a balance, and the balances with their `payable_amount`."""
    account, day_after = user.account, criteria["approved_until"] + timedelta(days=1)
    approved_before = datetime.combine(
        day_after, time(), timezone.get_current_timezone()
    )
    rows = []
    for payable in list_payables(
        account, currency=criteria["currency"], approved_before=approved_before
    ):
        row: Any = payable.ledger_account  # gets attributes that the page shows
        row.payable_amount = payable.amount_due
        row.account = account
        row.person = format_affiliate(row.affiliate)
        row.formatted_balance_due = format_money(row.balance, row.currency)
        row.formatted_payable_amount = format_money(row.payable_amount, row.currency)
        rows.append(row)
    add_payout_texts(rows, user)

    def get_skip_reason(row) -> str:
        if row.payable_amount <= 0:
            return "nothing due by that date"
        if row.payable_amount < criteria["minimum"]:
            minimum = format_money(criteria["minimum"], criteria["currency"])
            return f"below the minimum of {minimum}"
        if row.has_payout_method or criteria["includes_without_method"]:
            return ""
        return "no payout method"

    def pay(row, at):
        order = PaymentOrder(
            row.affiliate.slug,
            row.payable_amount,
            row.currency,
            expected_balance=row.balance,
            approved_before=approved_before,
        )
        return create_payments(account, orders=[order], at=at)

    return AdminAction(
        "Pay affiliates",
        perform=pay,
        skip_reason=get_skip_reason,
        amount_field="payable_amount",
        get_done_url=build_payments_url,
    ), rows


def build_payments_url(since: datetime, before: datetime) -> str:
    """The list of the payments that were made between two times."""
    return build_changelist_url(
        "payouts_payment",
        created_at__gte=since.isoformat(),
        created_at__lt=before.isoformat(),
    )
