"""Forms of payments: pay a balance, and cancel a payment."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.db.models import Count
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.http import urlencode

from affiliate_site.backoffice.actions import MAX_ROWS
from affiliate_site.backoffice.bulk_pages import AFFILIATE_COLUMN, BulkPage
from affiliate_site.backoffice.fields import MULTI_LINE, DecimalField
from affiliate_site.backoffice.formatters import format_datetime, format_money
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.money_pages import (
    AmountsForm,
    MoneyFormPage,
    get_amount_initial,
)
from affiliate_site.backoffice.payouts.due_texts import (
    find_amounts_due,
    list_hold_notes,
    warn_of_holds,
)
from affiliate_site.backoffice.payouts.payment_detail import list_balance_facts
from affiliate_site.backoffice.payouts.payout_texts import (
    BalanceFacts,
    find_balance_facts,
    get_payout_text,
    warn_of_missing_methods,
)
from affiliate_site.backoffice.payouts.run_parts import (
    describe_age,
    list_changed_methods,
)
from affiliate_site.backoffice.payouts.withheld_pages import (
    find_withheld_texts,
    warn_of_withheld,
)
from affiliate_site.backoffice.theme import get_object_url
from payouts.models.documents import DocumentKind
from payouts.models.payments import PayoutMethodKind
from payouts.models.runs import PayoutLineState
from payouts.services.opening_balances import is_standing, reverse_opening_balance
from payouts.services.payables import find_next_commission, get_amounts_due, get_payment_balance
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.payout_settings import get_payout_settings
from tracking.amounts import ExactSum
from tracking.money import MAX_INTEGER_DIGITS

PAYERS = {PayoutMethodKind.PAYPAL: "PayPal", PayoutMethodKind.WISE: "Wise"}
NO_TRANSFER = "This records payments that you make; it transfers no money itself."


def build_payments_url(since: datetime, before: datetime) -> str:
    """The list of the payments that were made between two times."""
    times = {"created_at__gte": since.isoformat(), "created_at__lt": before.isoformat()}
    return f"{reverse('admin:payouts_payment_changelist')}?{urlencode(times)}"


class PayBalancePage(BulkPage, MoneyFormPage):
    """Record a payment of a balance; those of many are paid in full."""

    name = "pay"
    title = "Pay"
    confirm_button = "Record payment"
    permission = "payouts.add_payment"
    explanation = bulk_explanation = NO_TRANSFER
    subject = "{row.affiliate}"
    bulk_title = "Pay affiliates"
    bulk_label = "Pay balance in full"
    bulk_relations = ("affiliate",)
    bulk_form_class = ServiceForm
    amount_field = "balance"
    get_bulk_done_url = staticmethod(build_payments_url)

    class Form(AmountsForm):
        amount = DecimalField(
            help_text="Pays what is due, the oldest commissions first, each in full;"
            " then what is on hold."
        )

        def clean(self):
            """An amount above 0 that the ledger can hold."""
            amount = self.cleaned_data.get("amount")
            if amount is not None and amount == 0:
                self.add_error("amount", "Enter an amount above 0.")
            elif amount is not None and amount.adjusted() >= MAX_INTEGER_DIGITS:
                self.add_error("amount", "This value has too many digits.")
            return super().clean()

    @classmethod
    def find_obstacle(cls, ledger_account):
        return "" if (ledger_account.balance or 0) > 0 else "no balance due"

    @cached_property
    def selected(self) -> list[tuple[Any, BalanceFacts]]:
        rows = list(self.rows[:MAX_ROWS])
        facts = find_balance_facts(self.request, rows)
        return [(row, facts[row.pk]) for row in rows]

    def list_columns(self):
        texts = {row.pk: facts.payout_text for row, facts in self.selected}
        return (*AFFILIATE_COLUMN, ("Pay to", lambda row: texts.get(row.pk, "")))

    def list_bulk_alerts(self):
        payable = [each for each in self.selected if not self.find_obstacle(each[0])]
        texts = (
            warn_of_missing_methods(payable),
            warn_of_holds((row, facts.amounts) for row, facts in payable),
            warn_of_withheld(row for row, _ in payable),
        )
        return [text for text in texts if text]

    def get_explanation(self):
        if text := get_payout_text(self.row, self.request.user):
            return f"{self.explanation}\nPay to: {text}"
        return self.explanation

    def list_alerts(self):
        affiliate, at = self.row.affiliate, timezone.now()
        amounts = find_amounts_due([self.row], at=at)[self.row.pk]
        alerts = [*list_hold_notes(amounts, self.row.currency), *self.list_method_alerts()]
        if get_payout_text(self.row, self.request.user):
            return alerts
        if affiliate.deleted_at:
            return [*alerts, f"{affiliate} has no payout method, and was removed."]
        url = reverse("admin:tracking_affiliate_payout", args=[affiliate.pk])
        return [
            *alerts,
            format_html(
                '{} has no payout method. <a class="underline" href="{}">Set one</a>,'
                " or pay in a way that you agreed on.",
                affiliate,
                url,
            ),
        ]

    def list_method_alerts(self) -> list[str]:
        """What a payout run would not pay, or would have somebody else confirm."""
        withheld = find_withheld_texts(self.request.user, [self.row]).get(self.row.pk, "")
        alerts = [f"This balance is {withheld}"] if withheld else []
        if get_payout_settings(self.account).requires_second_person:
            alerts.append(
                "Payout runs are confirmed by a second person; a payment by hand is"
                " confirmed by nobody."
            )
        methods = self.account.payout_methods.filter(affiliate=self.row.affiliate)
        method = methods.filter(is_primary=True).first()
        if method and method.on_hold_reason:
            alerts.append(f"Look at the payout method first: {method.on_hold_reason}")
        for changed in list_changed_methods(self.account, [self.row.affiliate_id]):
            age = describe_age(changed)
            alerts.append(f"The payout method was changed {age}: ask about it.")
        return alerts

    def get_unlocked_initial(self, ledger_account):
        """What is due; all of it if that is on hold."""
        row, at = ledger_account, timezone.now()
        key = (row.affiliate_id, row.currency)
        amounts = get_amounts_due(self.account, [row.affiliate_id], at=at).get(key)
        due = amounts.due if amounts and amounts.due > 0 else row.balance
        return {"amount": get_amount_initial(due, row.currency)}

    def lock_row(self, at):
        """Not locked: the service locks all balances of the payment in one order."""
        return self.model_admin.model.objects.get(pk=self.row.pk)

    def describe(self, effects):
        """Add the amounts paid beyond what is due, for a box to tick."""
        overdrafts = [
            f"the balance of {each.affiliate} becomes negative by"
            f" {format_money(-each.after, each.currency)}"
            for each in effects.balances
            if each.is_negative and each.affiliate
        ]
        return super().describe(effects) | {"overdrafts": overdrafts}

    def pay(self, amount: Decimal, at: datetime, **expected: Any):
        order = PaymentOrder(self.row.affiliate.slug, amount, self.row.currency, **expected)
        return create_payments(self.account, orders=[order], at=at)[0]

    def call_service(self, form, at, **arguments):
        return self.pay(form.cleaned_data["amount"], at)

    def change_row(self, at):
        return self.pay(self.row.balance, at, expected_balance=self.row.balance)

    def list_facts(self, form, payment):
        balance = get_payment_balance(payment)
        facts = list_balance_facts(balance)
        commission = find_next_commission(payment, at=payment.created_at)
        if balance.paid or commission is None:
            return facts
        amount = format_money(commission.amount, commission.currency)
        text = f"none yet: the next, commission {commission}, is {amount}"
        return [*facts, ("Commissions paid in full", text)]

    def get_done_message(self, payment):
        amount = format_money(payment.amount, payment.currency)
        return f"Payment {payment} of {amount} was recorded."

    def get_done_url(self, payment):
        return get_object_url(payment)


class CancelPaymentPage(BulkPage, MoneyFormPage):
    name = "cancel"
    title = "Cancel payment"
    bulk_title = "Cancel payments"
    bulk_label = "Cancel"
    bulk_columns = AFFILIATE_COLUMN
    bulk_relations = ("affiliate",)
    amount_field = "amount"
    row_argument = ("payment_id", "public_id")
    service = staticmethod(cancel_payment)
    leave_button = "Keep payment"
    permission = "payouts.delete_payment"
    is_dangerous = True
    explanation = (
        "The amount is due again, and the commissions that it paid count as unpaid."
        " Cancel a payment that did not arrive; this cannot be undone."
    )
    done_message = "Payment {row} was canceled."

    class Form(ServiceForm):
        reason = forms.CharField(
            max_length=500,
            widget=MULTI_LINE({"rows": 3, "autofocus": True}),
            help_text="Such as: the bank returned it. Kept with the payment, for staff.",
        )

    @classmethod
    def find_obstacle(cls, payment):
        return "already canceled" if payment.canceled_at else ""

    def list_alerts(self):
        """That the bank says that it has arrived, or may still pay it."""
        lines = self.account.payout_lines.filter(payment=self.row)
        line = lines.select_related("run").first()
        if line is None:
            return []
        if line.state == PayoutLineState.UNKNOWN and line.run.exported_at:
            return [
                "This payment is in a file that was downloaded on"
                f" {format_datetime(line.run.exported_at)}. If the file was handed in,"
                f" {PAYERS.get(line.method, 'the bank')} may still pay it, and the next"
                " payout run pays the amount a second time: ask there first."
            ]
        if line.state != PayoutLineState.SETTLED:
            return []
        return [
            f"The bank says that this payment arrived on "
            f"{date_format(line.settled_on or line.answered_on)}"
            f" ({line.bank_reference or 'without a reference'}). If it did not come"
            " back, the next payout run pays the amount a second time."
        ]

    def save(self, form, at):
        """Return the number and the total of the commissions that it paid."""
        rows = self.account.commissions.filter(payment=self.row)
        paid = rows.aggregate(number=Count("pk"), total=ExactSum("amount"))
        super().save(form, at)
        return paid["number"], paid["total"]

    def list_facts(self, form, result):
        number, total = result
        text = f"{number:,}, together {format_money(total, self.row.currency)}"
        return [
            ("Reason", form.cleaned_data["reason"]),
            ("Commissions that count as unpaid", text if number else "none"),
            *self.list_document_facts(),
        ]

    def list_document_facts(self):
        """What happens to the self-billing document, if there is one."""
        rows = self.account.documents.filter(payment=self.row)
        documents = rows.filter(kind=DocumentKind.SELF_BILLING)
        return [("Document", f"{each} gets a correction") for each in documents]


class TakeBackOpeningBalancePage(MoneyFormPage):
    name = "take_back"
    title = "Take back opening balance"
    form_class = ServiceForm
    permission = "payouts.delete_payment"
    is_dangerous = True
    explanation = (
        "For an opening balance that is wrong: an entry of its own takes the amount"
        " back, and another opening balance can be imported. Payments that paid it"
        " stay, and count toward commissions then."
    )
    done_message = "The opening balance was taken back."

    @classmethod
    def is_offered(cls, transfer):
        return is_standing(transfer)

    def save(self, form, at):
        affiliate = self.row.debit.affiliate or self.row.credit.affiliate
        return reverse_opening_balance(
            self.account,
            affiliate_id=affiliate.slug,
            currency=self.row.currency,
            at=at,
        )
