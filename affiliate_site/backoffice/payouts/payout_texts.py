"""Where money goes: the primary payout methods of affiliates as texts."""

from collections.abc import (
    Iterable,
    Mapping,
    Sequence,
)
from itertools import islice
from typing import Any, NamedTuple

from django.utils import timezone

from accounts.countries import get_country_name
from affiliate_site.backoffice.actions import MAX_LISTED_ROWS
from affiliate_site.backoffice.formatters import REMOVED, Label, build_labels, format_money
from affiliate_site.backoffice.payouts.due_texts import find_amounts_due
from payouts.models.commissions import Commission, CommissionStatus
from payouts.models.payments import (
    Payment,
    PayoutMethod,
)
from payouts.models.runs import LeftOutReason, PayoutLine, PayoutLineState
from payouts.payout_details import DETAIL_LABELS, mask_details
from payouts.services.documents import find_document_problems
from payouts.services.payables import AmountsDue
from payouts.services.payout_methods import find_obstacle
from payouts.services.payout_runs import find_payments_in

LineStates = dict[int, PayoutLineState]  # by the primary keys of rows
NO_PAYOUT_METHOD = "no payout method"
COMMISSION_STATUSES = build_labels(
    {
        CommissionStatus.PENDING: "warning",
        CommissionStatus.APPROVED: "success",
        CommissionStatus.DISAPPROVED: "danger",
    }
)
LINE_STATUSES = build_labels(
    {
        PayoutLineState.INCLUDED: "",
        PayoutLineState.LEFT_OUT: "",
        PayoutLineState.TAKEN_OUT: "",
        PayoutLineState.UNKNOWN: "warning",
        PayoutLineState.SETTLED: "success",
        PayoutLineState.RETURNED: "danger",
        PayoutLineState.CANCELED: "danger",
    }
)
NO_ANSWER = LINE_STATUSES[PayoutLineState.UNKNOWN]
SETTLED = LINE_STATUSES[PayoutLineState.SETTLED]
CANCELED = LINE_STATUSES[PayoutLineState.CANCELED]
PAID = Label("paid", "info")
QUERY_BATCH_SIZE = 1000  # affiliates of one query, a number that all databases accept


def can_see_accounts(user) -> bool:
    """Whether a user sees accounts and addresses whole: who pays, others see a mask."""
    return user.has_perm("payouts.add_payment")


def get_payout_text(row, user) -> str:
    """The text of the affiliate of a balance or payment; empty without a method."""
    return find_payout_texts([row], user).get(row.affiliate_id, "")


def find_payout_texts(rows: Iterable[Any], user) -> dict[int, str]:
    """The texts by primary key of the affiliate, of rows with `affiliate`.

    They are those of today: `format_payment_method` has that of a payment.
    """
    methods = find_primary_methods(rows).items()
    return {pk: format_payout_method(each, user) for pk, each in methods}


def find_primary_methods(rows: Iterable[Any]) -> dict[int, PayoutMethod]:
    """The primary payout methods by primary key of the affiliate."""
    pairs = iter({(row.account_id, row.affiliate_id) for row in rows})
    found: dict[int, PayoutMethod] = {}
    while batch := list(islice(pairs, QUERY_BATCH_SIZE)):
        methods = PayoutMethod.objects.filter(
            account__in={account_id for account_id, _ in batch},
            affiliate__in={affiliate_id for _, affiliate_id in batch},
            is_primary=True,
        )
        found |= {each.affiliate_id: each for each in methods}
    return found


def format_payout_method(method: PayoutMethod, user) -> str:
    """`Bank account (IBAN: SI56 1910 0000 0123 438)`, or `Bank account (SI56…3438)`."""
    details = describe_details(method.kind, method.details, user)
    return join_method(method.get_kind_display(), details)


def list_method_facts(method: PayoutMethod, user) -> list[tuple[str, str]]:
    """Names and values of the details, or the masked account."""
    if can_see_accounts(user):
        return label_details(method.details)
    return [("Account", mask_details(method.kind, method.details))]


def label_details(details: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names and values of details, as staff know them."""
    return [
        (
            DETAIL_LABELS.get(name, name),
            get_country_name(value) if name == "country" else value,
        )
        for name, value in details.items()
    ]


def describe_details(kind: str, details: Mapping[str, str], user) -> str:
    """The details in one line, or the masked account."""
    if can_see_accounts(user):
        return ", ".join(f"{label}: {value}" for label, value in label_details(details))
    return mask_details(kind, details)


def format_payment_method(payment: Payment, user) -> str:
    """How a payment was paid: the affiliate's primary method when it was recorded."""
    if payment.payout_kind is None:
        return "not recorded"
    details = describe_details(payment.payout_kind, payment.payout_details, user)
    return join_method(payment.get_payout_kind_display(), details)


def join_method(kind: str, details: str) -> str:
    """The kind, with the details in parentheses if there are any."""
    return f"{kind} ({details})" if details else kind


class BalanceFacts(NamedTuple):
    """What pages show of a balance in addition."""

    amounts: AmountsDue
    payout_text: str  # of the primary method, or `NO_PAYOUT_METHOD`
    # Why no payout run pays by it, or that the document is incomplete, or empty.
    obstacle: str


def find_balance_facts(request, rows: Sequence[Any]) -> dict[int, BalanceFacts]:
    """The facts of balances by their primary keys."""
    methods, incomplete = find_primary_methods(rows), find_incomplete(rows)
    amounts = find_amounts_due(rows, at=timezone.now())
    found = {}
    for row in rows:
        method = methods.get(row.affiliate_id)
        text = format_payout_method(method, request.user) if method else NO_PAYOUT_METHOD
        reason = find_obstacle(method) or incomplete.get(row.affiliate_id)
        obstacle = LeftOutReason(reason).label if reason else ""
        found[row.pk] = BalanceFacts(amounts[row.pk], text, obstacle)
    return found


def find_incomplete(rows: Sequence[Any]) -> dict[int, str]:
    """The reason why payout runs leave out whose document lacks something, by the
    primary keys of the affiliates of these rows."""
    found: set[int] = set()
    for account in {row.account for row in rows if row.requires_documents}:
        affiliates = {row.affiliate_id: row.affiliate for row in rows if row.account == account}
        day = account.get_day(timezone.now())
        found |= find_document_problems(account, affiliates.values(), day=day).keys()
    return dict.fromkeys(found, LeftOutReason.DOCUMENT_INCOMPLETE)


def warn_of_missing_methods(balances: Iterable[tuple[Any, BalanceFacts]]) -> str:
    """Whom a payment is recorded for without a payout method; empty if nobody."""
    slugs = [str(row.affiliate) for row, it in balances if it.payout_text == NO_PAYOUT_METHOD]
    if not slugs:
        return ""
    listed = ", ".join(slugs[:MAX_LISTED_ROWS])
    more = len(slugs) - MAX_LISTED_ROWS
    return (
        f"Without a payout method, but recorded as paid, too: {listed}"
        f"{f' and {more} more' if more > 0 else ''}."
    )


def find_line_states(rows: Sequence[Commission | Payment]) -> LineStates:
    """What banks say of payments, or of those that pay these commissions, by the primary
    keys of the rows.

    `UNKNOWN` while the payment is on its way: a payout run made it, and the bank has not
    answered yet. `RETURNED` if the bank refused or returned it. All others are left out.
    """
    pks = {row.pk: row.pk if isinstance(row, Payment) else row.payment_id for row in rows}
    lines = PayoutLine.objects.filter(account__in={row.account_id for row in rows})
    states = (PayoutLineState.UNKNOWN, PayoutLineState.RETURNED)
    found = find_payments_in(lines, list(pks.values()), *states)
    return {pk: PayoutLineState(found[it]) for pk, it in pks.items() if it in found}


def load_line_states(request, rows: Sequence[Commission | Payment]) -> LineStates:
    """The same for a column."""
    return find_line_states(rows)


def get_commission_status(commission, state: PayoutLineState | None = None) -> Label:
    """`removed` comes before all others, and what the bank says of its payment before
    the status of a commission."""
    if commission.deleted_at:
        return REMOVED
    if commission.payment_id:
        return get_paid_status(state)
    return COMMISSION_STATUSES[commission.status]


def get_payment_status(payment, state: PayoutLineState | None) -> Label:
    """The status of a payment, as of what it pays."""
    if payment.canceled_at:
        is_returned = state == PayoutLineState.RETURNED
        return LINE_STATUSES[PayoutLineState.RETURNED] if is_returned else CANCELED
    return get_paid_status(state)


def get_paid_status(state: PayoutLineState | None) -> Label:
    """No money is called paid before the bank has answered."""
    return NO_ANSWER if state == PayoutLineState.UNKNOWN else PAID


def describe_withholding(row) -> str:
    """`3.00 EUR withholding tax, 17.00 EUR to pay` of a line or payment; else empty."""
    if row.tax_withheld is None:
        return ""
    tax, net = (format_money(it, row.currency) for it in (row.tax_withheld, row.net_amount))
    return f"{tax} withholding tax, {net} to pay"
