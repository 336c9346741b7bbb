"""What an affiliate is owed, and what a payment waits for, as texts."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from affiliate_site.portal.formats import format_money, long_day
from payouts.models.runs import LeftOutReason
from payouts.services.amounts_due import AmountsDue, get_amounts_due
from payouts.services.own_payout_methods import list_own_methods
from payouts.services.payout_methods import find_obstacle
from payouts.services.payout_minimums import get_minimums

OBSTACLES = {
    LeftOutReason.NO_METHOD: gettext_lazy(
        "You cannot be paid yet: add a way to be paid, under Payments."
    ),
    LeftOutReason.METHOD_INCOMPLETE: gettext_lazy(
        "You cannot be paid yet: details of your payout method are missing or wrong."
        " Enter them again, under Payments."
    ),
    LeftOutReason.METHOD_ON_HOLD: gettext_lazy(
        "You cannot be paid now: a payment to your account came back. Correct the"
        " account under Payments, or write to us if it is right."
    ),
}


def list_balances(affiliate, *, at, methods=None) -> list[dict[str, Any]]:
    """What is due, on hold and pending in each currency, and what the due waits for.

    `methods` are the payout methods of the affiliate, if they are known.
    """
    account = affiliate.account
    amounts = get_amounts_due(account, [affiliate.pk], at=at)
    minimums = get_minimums(account, [affiliate.pk])
    if methods is None:
        methods = list_own_methods(affiliate)
    obstacle = find_obstacle(next((it for it in methods if it.is_primary), None))
    return [
        build_balance(account, key[1], each, minimums.find(key), obstacle)
        for key, each in sorted(amounts.items())
    ]


def build_balance(account, currency: str, amounts: AmountsDue, minimum, obstacle: str):
    """The amounts of one currency as texts, and why they are not paid yet."""
    reasons = list_reasons(account, currency, amounts, minimum)
    if obstacle and amounts.due > 0:
        reasons.append(str(OBSTACLES[LeftOutReason(obstacle)]))
    return {
        "currency": currency,
        "due": format_money(amounts.due, currency),
        "on_hold": format_money(amounts.on_hold, currency),
        "pending": format_money(amounts.pending, currency),
        "reasons": reasons,
    }


def list_reasons(account, currency: str, amounts: AmountsDue, minimum) -> list[str]:
    """Why amounts are not paid yet."""
    reasons = []
    if amounts.due < 0:
        reasons.append(
            _("You were paid more than you earned. New sales make up for it first.")
        )
    if minimum is not None and 0 < amounts.due < minimum:
        reasons.append(
            _("You are paid once {minimum} are due.").format(
                minimum=format_money(minimum, currency)
            )
        )
    if amounts.held_until:
        reasons.append(
            _("All that is on hold is due on {day}.").format(
                day=long_day(account.get_day(amounts.held_until))
            )
        )
    return reasons
