"""What of a balance is due, on hold or pending, in words."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.html import format_html

from affiliate_site.backoffice.formatters import (
    EMPTY_VALUE,
    format_datetime,
    format_money,
)
from payouts.models.commissions import Commission
from payouts.services.payables import (
    AmountsDue,
    filter_on_hold,
    get_amounts_due,
    is_on_hold,
)
from payouts.statistics import Sums
from tracking.amounts import ExactSum
from tracking.money import ZERO


def find_amounts_due(rows: Sequence[Any], *, at: datetime) -> dict[int, AmountsDue]:
    """What is due of rows with an affiliate and a currency, by their primary keys."""
    found: dict[int, AmountsDue] = {}
    for pk, account in {row.account_id: row.account for row in rows}.items():
        of_account = [row for row in rows if row.account_id == pk]
        amounts = get_amounts_due(account, [row.affiliate_id for row in of_account], at=at)
        for row in of_account:
            found[row.pk] = amounts.get((row.affiliate_id, row.currency), AmountsDue())
    return found


def sum_on_hold(balances: QuerySet[Any], *, at: datetime) -> Sums:
    """The sum of what is on hold of these balances, by currency."""
    same = {name: OuterRef(name) for name in ("account", "affiliate", "currency")}
    rows = Commission.objects.filter(
        Exists(balances.order_by().filter(**same)),
        account__in=balances.order_by().values("account"),
    )
    sums = filter_on_hold(rows, at=at).order_by().values_list("currency")
    return dict(sorted(sums.annotate(ExactSum("amount"))))


def format_on_hold(amounts: AmountsDue, currency: str) -> str:
    """`30.00 EUR until 2026-12-25 10:00 CET`, the time when all of it is due, but for what
    is under review."""
    if not amounts.has_hold:
        return EMPTY_VALUE
    parts = [f"until {format_datetime(amounts.held_until)}"] if amounts.held_until else []
    if amounts.under_review:
        parts.append(f"{format_money(amounts.under_review, currency)} of it under review")
    return format_html(
        '{} <span class="subtext">{}</span>',
        format_money(amounts.on_hold, currency),
        ", ".join(parts),
    )


def list_parts(
    amounts: AmountsDue, currency: str, *, has_due: bool = False
) -> list[tuple[str, str]]:
    """Titles and amounts of what is due and on hold, if something is, and pending.

    With `has_due`, what is due is named, too, if nothing is on hold.
    """
    parts: list[tuple[str, str]] = []
    is_held = amounts.has_hold
    if is_held or (has_due and amounts.due):
        parts.append(("Due now", format_money(amounts.due, currency)))
    if is_held:
        parts.append(("On hold", format_on_hold(amounts, currency)))
    if amounts.pending:
        parts.append(("Pending", format_money(amounts.pending, currency)))
    return parts


def warn_of_holds(balances: Iterable[tuple[Any, AmountsDue]]) -> str:
    """Which part of balances is on hold; empty if none is."""
    held = [
        f"{row.affiliate}: {format_money(amounts.on_hold, row.currency)}"
        for row, amounts in balances
        if amounts.on_hold > ZERO
    ]
    return f"On hold, but paid with it: {', '.join(held)}." if held else ""


def list_hold_notes(amounts: AmountsDue, currency: str) -> list[str]:
    """What of a balance is on hold, and when a payment pays it."""
    if amounts.on_hold <= ZERO:
        return []
    held = format_money(amounts.on_hold, currency)
    if amounts.due > ZERO:
        return [f"{held} are on hold: paid only after all that is due."]
    return [f"Nothing is due now: {held} are on hold, but paid with it."]


def describe_due(commission: Commission, *, at: datetime) -> str:
    """`on hold until 2026-12-25 10:00 CET` or `under review`; empty if it is due."""
    if not is_on_hold(commission, at=at):
        return ""
    if commission.is_under_review:
        return "under review"
    return f"on hold until {format_datetime(commission.due_at)}"
