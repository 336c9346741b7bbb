"""What the page of a payment shows."""

from typing import Any

from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join

from accounts.services.notifications import can_send_mail
from affiliate_site.backoffice.formatters import (
    format_datetime,
    format_money,
)
from affiliate_site.backoffice.object_pages import (
    Details,
    Section,
    build_history,
    link_to,
    link_to_sale,
)
from affiliate_site.backoffice.payouts.payout_texts import (
    SETTLED,
    describe_withholding,
    find_line_states,
    format_payment_method,
    get_payment_status,
)
from affiliate_site.columns import Column
from payouts.models.runs import PayoutLine, PayoutLineState
from payouts.services.explanation import list_paid_amounts
from payouts.services.mails import find_payment_mail
from payouts.services.payables import (
    PaymentBalance,
    get_payment_balance,
)
from payouts.services.payout_settings import get_payout_settings


def get_payment_details(request, payment) -> Details:
    """Amount and state, what it pays, and its history."""
    rows = payment.account.payment_allocations.filter(payment=payment)
    allocations = list(rows.select_related("commission__conversion").order_by("id"))
    amounts = list_paid_amounts(
        payment.account, [each.commission for each in allocations], payment.created_at
    )
    lines = payment.account.payout_lines.filter(payment=payment)
    line = lines.select_related("run").first()
    documents = payment.account.documents.filter(payment=payment).order_by("id")
    is_canceled = payment.canceled_at is not None
    balance = None if is_canceled else get_payment_balance(payment)
    state = find_line_states([payment]).get(payment.pk)
    is_unanswered = state == PayoutLineState.UNKNOWN
    return Details(
        headline=format_money(payment.amount, payment.currency),
        labels=[
            get_payment_status(payment, state),
            *([SETTLED] if line and line.state == PayoutLineState.SETTLED else []),
        ],
        is_removed=is_canceled,
        sections=[
            Section(
                "Payment",
                facts=[
                    ("Reference", payment.public_id),
                    ("Affiliate", link_to(payment.affiliate)),
                    (
                        "Created on" if is_unanswered else "Paid on",
                        format_datetime(payment.created_at),
                    ),
                    ("Withholding tax", describe_withholding(payment)),
                    (
                        "Came back on" if state == PayoutLineState.RETURNED else "Canceled on",
                        format_datetime(payment.canceled_at),
                    ),
                    ("Reason", payment.cancel_reason),
                    ("Paid to", format_payment_method(payment, request.user)),
                    *(list_line_facts(line) if line else []),
                    (
                        "Documents",
                        format_html_join(", ", "{}", ((link_to(each),) for each in documents)),
                    ),
                    ("Mail", describe_mail(payment, line)),
                ],
            ),
            Section(
                "What it paid" if is_canceled else "What it pays",
                notes=[] if allocations else [explain_no_allocation(balance)],
                facts=list_balance_facts(balance) if balance else [],
                columns=(
                    Column("Commission", lambda it: link_to(it.commission)),
                    Column("Conversion", lambda it: link_to_sale(it.commission) or "Bonus"),
                    Column(
                        "Amount when paid",
                        lambda it: format_money(amounts[it.commission_id], payment.currency),
                        is_amount=True,
                    ),
                    Column(
                        "Now",
                        lambda it: describe_allocation(
                            it, amounts[it.commission_id], is_unanswered=is_unanswered
                        ),
                    ),
                ),
                rows=allocations,
            ),
            build_history(request, [payment]),
        ],
    )


def explain_no_allocation(balance: PaymentBalance | None) -> str:
    """Why a payment pays no commission; None if it is canceled."""
    if balance and balance.opening == balance.payment.amount:
        return "It pays an opening balance, and no commission."
    return "It pays no commission in full; its amount counts toward them."


def list_line_facts(line: PayoutLine) -> list[tuple[str, Any]]:
    """The payout run that made a payment, and what the bank answered."""
    day = line.answered_on and f" on {date_format(line.answered_on)}"
    return [
        ("Payout run", link_to(line.run)),
        ("Bank", f"{line.get_state_display()}{day or ''}"),
        ("Bank's reference", line.bank_reference),
        ("Bank's reason", line.bank_reason),
    ]


def describe_mail(payment, line: PayoutLine | None) -> str:
    """What became of the mail to the affiliate, or why there is none."""
    mail = find_payment_mail(payment)
    if mail is None:
        return f"None: {explain_no_mail(payment, line)}"
    if mail.sent_at:
        return f"Sent on {format_datetime(mail.sent_at)}"
    if mail.due_at is None:
        return f"Not sent: {mail.error}"
    if mail.error:
        due = format_datetime(mail.due_at)
        return f"Not sent yet: {mail.error}; next attempt on {due}"
    return "Queued"


def explain_no_mail(payment, line: PayoutLine | None) -> str:
    """Why there is no mail about a payment, as far as is known."""
    if not get_payout_settings(payment.account).mails_payments:
        return "it is switched off"
    if not can_send_mail():
        return "no mail server is configured"
    if line is None:
        return "no payout run made this payment"
    if payment.canceled_at:
        return "the payment came back, or was canceled"
    if line.state != PayoutLineState.SETTLED:
        return "it is sent when the payment has arrived"
    if not payment.affiliate.email:
        return "the affiliate has no e-mail address"
    return "it was off when the payment arrived, or is older than 90 days"


def describe_allocation(allocation, amount_when_paid, *, is_unanswered: bool) -> str:
    """Whether the payment still pays a commission, and its amount if that changed."""
    commission = allocation.commission
    if commission.payment_id != allocation.payment_id:
        return "No longer paid by it"
    text = "Sent by it" if is_unanswered else "Paid by it"
    if commission.amount == amount_when_paid:
        return text
    return f"{text}, now {format_money(commission.amount, commission.currency)}"


def list_balance_facts(balance: PaymentBalance) -> list[tuple[Any, Any]]:
    """What earlier payments left over, what this one pays, and what it leaves over."""
    currency = balance.payment.currency
    previous = link_to(balance.previous)
    following = link_to(balance.following)
    amounts = [
        (balance.payment.amount, "This payment", ""),
        (
            balance.brought_forward,
            format_html("Left over from {}", previous),
            format_html("Used for commissions of {}", previous),
        ),
        (balance.opening, "Opening balance", "Opening balance, deducted"),
        (balance.paid, "Commissions paid in full", ""),
        (
            balance.carried_forward,
            format_html("Left over for {}", following or "later commissions"),
            format_html("Missing, from {}", following or "a later payment"),
        ),
    ]
    return [
        (name if amount > 0 else name_if_negative, format_money(abs(amount), currency))
        for amount, name, name_if_negative in amounts
        if amount
    ]
