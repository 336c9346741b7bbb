"""What an affiliate is owed, as texts."""

from typing import Any

from affiliate_site.portal.formats import format_money
from payouts.services.amounts_due import AmountsDue, get_amounts_due
from payouts.services.payout_minimums import get_minimums


def list_balances(affiliate, *, at) -> list[dict[str, Any]]:
    """What is due, on hold and pending in each currency, and what the due waits for."""
    account = affiliate.account
    amounts = get_amounts_due(account, [affiliate.pk], at=at)
    minimums = get_minimums(account, [affiliate.pk])
    return [
        build_balance(account, key[1], each, minimums.find(key))
        for key, each in sorted(amounts.items())
    ]


def build_balance(account, currency: str, amounts: AmountsDue, minimum):
    """The amounts of one currency as texts."""
    waits = minimum is not None and 0 < amounts.due < minimum
    return {
        "currency": currency,
        "due": format_money(amounts.due, currency),
        "on_hold": format_money(amounts.on_hold, currency),
        "held_until": amounts.held_until and account.get_day(amounts.held_until),
        "pending": format_money(amounts.pending, currency),
        "minimum": format_money(minimum, currency) if waits else "",
    }
