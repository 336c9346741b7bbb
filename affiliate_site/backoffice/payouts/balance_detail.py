"""What the page of a balance shows: the commissions and payments that make it up."""

from operator import itemgetter
from typing import Any

from django.db.models import Count
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from affiliate_site.backoffice.formatters import (
    Label,
    format_affiliate,
    format_datetime,
    format_money,
)
from affiliate_site.backoffice.list_urls import build_changelist_url
from affiliate_site.backoffice.object_pages import (
    Details,
    Section,
    link_to,
    link_to_sale,
)
from affiliate_site.backoffice.payouts.due_texts import (
    describe_due,
    list_parts,
)
from affiliate_site.backoffice.payouts.minimum_pages import describe_minimum
from affiliate_site.backoffice.payouts.payout_texts import (
    find_balance_facts,
    find_line_states,
    get_payment_status,
)
from affiliate_site.backoffice.payouts.withheld_pages import find_withheld_texts
from affiliate_site.columns import Column
from payouts.models.commissions import CommissionStatus
from tracking.amounts import ExactSum
from tracking.money import ZERO

MAX_COMMISSIONS = 25
MAX_PAYMENTS = 10
PAID_BEYOND = (
    "Payments pay the oldest approved commissions, each in full, and what they leave"
    " over counts toward the next ones. Something is left over after a partial payment,"
    " one in advance, or one whose commissions were disapproved, removed or lowered."
)
NOT_REACHED = (
    "The paid commissions exceed the payments: a paid commission was raised, or a"
    " payment that had left something over was canceled."
)


def get_balance_details(request, ledger_account) -> Details:
    """The amount due, what it is the sum of, open commissions and last payments."""
    balance, at = ledger_account.balance or ZERO, timezone.now()
    facts = find_balance_facts(request, [ledger_account])[ledger_account.pk]
    commissions = ledger_account.account.commissions.unpaid().filter(
        affiliate=ledger_account.affiliate_id, currency=ledger_account.currency
    )
    unpaid = commissions.order_by("created_at", "id")
    sums = unpaid.aggregate(number=Count("pk"), total=ExactSum("amount"))
    withheld = find_withheld_texts(request.user, [ledger_account]).get(ledger_account.pk)
    return Details(
        headline=format_money(balance, ledger_account.currency),
        labels=[Label("overpaid", "danger")] if balance < 0 else [],
        alerts=[
            *([capfirst(withheld)] if withheld else []),
            *(
                [f"Payout runs leave it out: {facts.obstacle}."]
                if balance > 0 and facts.obstacle
                else []
            ),
        ],
        sections=[
            build_sum_section(ledger_account, facts, balance, sums["total"] or ZERO),
            build_commissions_section(ledger_account, unpaid, sums["number"], at),
            build_payments_section(ledger_account),
        ],
    )


def build_sum_section(ledger_account, facts, balance, unpaid_total) -> Section:
    """The parts, which add up to the balance."""
    rest = balance - unpaid_total
    parts = [("Approved commissions, not paid", unpaid_total)]
    if rest:
        title = "Paid beyond that" if rest < 0 else "Paid commissions beyond payments"
        parts.append((title, rest))
    parts.append((format_html("<strong>{}</strong>", "Balance due"), balance))
    notes = [PAID_BEYOND if rest < 0 else NOT_REACHED] if rest else []
    return Section(
        "Balance",
        facts=[
            ("Affiliate", link_to_affiliate(ledger_account.affiliate)),
            ("Primary payout method", facts.payout_text),
            *list_parts(facts.amounts, ledger_account.currency),
            ("Payout minimum", describe_minimum(ledger_account, facts.amounts)),
        ],
        notes=notes,
        columns=(
            Column("Part", itemgetter(0)),
            Column(
                "Amount", lambda it: format_money(it[1], ledger_account.currency), is_amount=True
            ),
        ),
        rows=parts,
    )


def link_to_affiliate(affiliate) -> str:
    """A link with name and ID."""
    return link_to(affiliate, format_affiliate(affiliate))


def build_commissions_section(ledger_account, unpaid, number: int, at) -> Section:
    """The oldest commissions that are approved and not paid."""
    shown = list(unpaid.select_related("conversion")[:MAX_COMMISSIONS])
    more_url = build_list_url(
        "payouts_commission",
        ledger_account,
        status__exact=CommissionStatus.APPROVED.value,
        payment__isnull="True",
        deleted_at__isnull="True",
    )
    return Section(
        "Approved commissions, not paid",
        notes=[] if shown else ["None."],
        columns=(
            Column("Commission", link_to),
            Column("Conversion", lambda it: link_to_sale(it) or "bonus"),
            Column("Created", lambda it: format_datetime(it.created_at)),
            Column("Due", lambda it: describe_due(it, at=at) or "now"),
            Column("Amount", lambda it: format_money(it.amount, it.currency), is_amount=True),
        ),
        rows=shown,
        lines=link_to_more(more_url, number - len(shown)),
    )


def build_payments_section(ledger_account) -> Section:
    """The last payments, with the commissions that each of them pays."""
    account, currency = ledger_account.account, ledger_account.currency
    payments = account.payments.filter(
        affiliate=ledger_account.affiliate_id, currency=currency
    ).order_by("-created_at", "-id")
    shown = list(payments[:MAX_PAYMENTS])
    states = find_line_states(shown)
    rows = account.commissions.filter(payment__in=shown).order_by()
    covered = dict(rows.values_list("payment").annotate(ExactSum("amount")))
    return Section(
        "Last payments",
        notes=[] if shown else ["None."],
        columns=(
            Column("Payment", link_to),
            Column("Paid on", lambda it: format_datetime(it.created_at)),
            Column(
                "Amount",
                lambda it: format_html(
                    "<s>{}</s>" if it.canceled_at else "{}", format_money(it.amount, currency)
                ),
                is_amount=True,
            ),
            Column(
                "Of commissions",
                lambda it: (
                    get_payment_status(it, states.get(it.pk))
                    if it.canceled_at
                    else format_money(covered.get(it.pk, ZERO), currency)
                ),
                is_amount=True,
            ),
        ),
        rows=shown,
        lines=link_to_more(
            build_list_url("payouts_payment", ledger_account),
            payments.count() - len(shown),
        ),
    )


def build_list_url(model_name: str, ledger_account, **filters: Any) -> str:
    affiliate, currency = ledger_account.affiliate.slug, ledger_account.currency
    return build_changelist_url(model_name, affiliate=affiliate, currency=currency, **filters)


def link_to_more(url: str, number: int) -> str:
    """`and 3 more` as a link; empty without more."""
    if number <= 0:
        return ""
    link = '<p><a class="details-link" href="{}">and {} more</a></p>'
    return format_html(link, url, f"{number:,}")
