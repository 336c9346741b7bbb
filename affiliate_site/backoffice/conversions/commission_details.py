"""What the page of a commission shows."""

import json
from decimal import Decimal

from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from accounts.exact_json import format_decimal
from affiliate_site.backoffice.conversions.calculation_section import (
    build_calculation_columns,
    list_group_titles,
    list_postings,
    list_reasons,
)
from affiliate_site.backoffice.conversions.conversion_details import (
    describe_dispute,
    list_risk_indicators,
)
from affiliate_site.backoffice.conversions.reviews import list_review_labels
from affiliate_site.backoffice.formatters import (
    REMOVED,
    Label,
    format_datetime,
    format_labels,
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
    COMMISSION_STATUSES,
    LineStates,
    find_line_states,
    format_payment_method,
    get_commission_status,
)
from payouts.explanation import explain_due, explain_initial_status
from payouts.models.bonuses import GoalType
from payouts.models.commissions import Commission, CommissionStatus
from payouts.models.runs import PayoutLineState
from payouts.services.explanation import (
    explain_commission,
    list_paid_amounts,
    list_payment_transfers,
)
from tracking.claims import (
    ClaimStatus,
)
from tracking.money import ZERO

COVERED_NOTE = (
    "Less than this is due: earlier payments left something over, which counts toward"
    " it. The balance has the sum."
)

GOAL_MISSED = Label("Bonus goal no longer met", "danger")


def get_commission_details(request, commission: Commission) -> Details:
    """Amount and state, what pays it, its calculation, and its history."""
    explained = explain_commission(commission)
    line_states = find_line_states([commission])
    state = line_states.get(commission.pk)
    statuses = [COMMISSION_STATUSES[commission.status], get_commission_status(commission, state)]
    if commission.deleted_at:
        statuses = [REMOVED]
    transfers = list(list_payment_transfers(commission))
    states = find_line_states([row.payment for row in transfers if row.payment])
    payments = [
        (row.created_at, describe_sending(row.payment, states), row.actor) for row in transfers
    ]
    conversion = commission.conversion
    return Details(
        headline=format_money(commission.amount, commission.currency),
        labels=list(dict.fromkeys(statuses)),
        is_removed=commission.deleted_at is not None,
        sections=[
            Section(
                "Commission",
                facts=[
                    ("Affiliate", link_to(commission.affiliate)),
                    ("Conversion", link_to_sale(commission)),
                    (
                        "Sale",
                        conversion and format_money(conversion.amount, conversion.currency),
                    ),
                    (
                        "Program",
                        conversion and link_to(conversion.program, conversion.program.title),
                    ),
                    ("To check", describe_checks(commission)),
                    ("Type", f"{commission.name} ({commission.kind})"),
                    ("Follows", link_to(commission.base_commission)),
                    ("Bonus", commission.bonus and commission.bonus.title),
                    (
                        "Period from",
                        commission.period_start and f"{commission.period_start} UTC",
                    ),
                    ("Goal", commission.bonus and describe_goal(commission)),
                    ("Comment", format_comment(commission)),
                    ("Created", format_datetime(commission.created_at)),
                    ("Disputed", conversion and describe_dispute(conversion)),
                    ("Due", describe_due_time(commission, explained)),
                    ("Final since", format_datetime(commission.finalized_at)),
                ],
            ),
            Section(
                "Calculation",
                columns=build_calculation_columns(
                    {commission.pk: commission},
                    list_group_titles([commission], commission.account),
                    line_states,
                ),
                rows=[explained],
                facts=[
                    (
                        "First status",
                        f"{capfirst(explained['initial_status']['status'])}, because"
                        f" {explain_initial_status(commission)}",
                    )
                ],
            ),
            build_payment_section(request, commission, state),
            build_history(
                request,
                [commission],
                [*list_postings(commission.account, [commission]), *payments],
                reasons=list_reasons(conversion) if conversion else [],
            ),
        ],
    )


def describe_checks(commission) -> str:
    """What the list says to check, and in words, with the claims of its sale."""
    conversion = commission.conversion
    if conversion is None or commission.deleted_at:
        return ""
    labels = list_review_labels(conversion)
    indicators = list_risk_indicators(conversion)
    return format_html("{} {}", format_labels(labels), indicators) if labels else ""


def describe_due_time(commission, explained) -> str:
    """Since or until when it is due or not, and why; empty if it was removed."""
    if commission.deleted_at:
        return ""
    return capfirst(explain_due(explained, at=timezone.now()))


def describe_goal(commission) -> str:
    """The goal of a bonus, what reached it, and what is left of that."""
    calculation = json.loads(commission.calculation)
    goal = calculation["goal"]

    def format_progress(progress) -> str:
        amount = format_money(Decimal(progress["amount"]), commission.currency)
        number = progress["conversions"]
        return f"{number} conversion{'' if number == 1 else 's'} of {amount}"

    aim = f"Conversions: {format_decimal(Decimal(goal['value']))}"
    if goal["type"] == GoalType.CONVERSION_AMOUNT:
        aim = f"Sales: {format_money(Decimal(goal['value']), commission.currency)}"
    text = f"{aim}; reached with {format_progress(calculation['reached'])}"
    if "present" in calculation:
        text += f"; now {format_progress(calculation['present'])}"
    if commission.goal_missed_at is not None:
        text += f": no longer met since {format_datetime(commission.goal_missed_at)}"
    return text


def format_comment(commission) -> str:
    """The comment; that of a page must not look like one of staff."""
    conversion, comment = commission.conversion, commission.comment
    if comment and conversion and conversion.claim_status == ClaimStatus.OPEN:
        return f"A page sent: {comment}"
    return comment or ""


def build_payment_section(request, commission, state) -> Section:
    """What pays a commission, and how."""
    payment = commission.payment
    if payment is None:
        row = commission.account.ledger_accounts.filter(
            kind="payable",
            affiliate=commission.affiliate_id,
            currency=commission.currency,
        ).first()
        balance = row.balance if row else ZERO
        is_due = commission.status == CommissionStatus.APPROVED and commission.deleted_at is None
        notes = [describe_earlier_payment(commission)]
        if is_due and balance < commission.amount:
            notes.append(COVERED_NOTE)
        due = format_money(balance, commission.currency)
        return Section(
            "Payment",
            notes=notes,
            facts=[
                (
                    "Balance due to the affiliate",
                    link_to(row, due) if balance or is_due else "",
                )
            ],
        )
    amounts = list_paid_amounts(commission.account, [commission], payment.created_at)
    amount_when_paid, is_unanswered = amounts[commission.pk], state == PayoutLineState.UNKNOWN
    return Section(
        "Payment",
        facts=[
            ("Sent by" if is_unanswered else "Paid by", link_to(payment)),
            ("Bank", is_unanswered and "No answer yet"),
            ("Amount of the payment", format_money(payment.amount, payment.currency)),
            (
                "Commission when paid",
                amount_when_paid != commission.amount
                and format_money(amount_when_paid, commission.currency),
            ),
            ("On", format_datetime(payment.created_at)),
            ("Paid to", format_payment_method(payment, request.user)),
        ],
    )


def describe_sending(payment, states: LineStates) -> str:
    """That a payment pays it; no money is called paid before the bank has answered."""
    is_unanswered = payment and states.get(payment.pk) == PayoutLineState.UNKNOWN
    return format_html("Sent by {}" if is_unanswered else "Paid by {}", link_to(payment))


def describe_earlier_payment(commission) -> str:
    """Which payment paid a commission that earns nothing any more."""
    allocations = commission.account.payment_allocations.filter(
        commission=commission, payment__canceled_at=None
    )
    last = allocations.select_related("payment").order_by("-id").first()
    earns = commission.status == CommissionStatus.APPROVED and not commission.deleted_at
    if last is None or earns:
        return "Not paid."
    return format_html(
        "Was paid by {}. Its amount was taken from the balance due.",
        link_to(last.payment),
    )
