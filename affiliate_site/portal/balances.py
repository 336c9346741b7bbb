"""What an affiliate is owed, and what a payment waits for, as texts."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from affiliate_site.portal.formats import long_day
from affiliate_site.portal.tax_pages import describe_obstacle
from payouts.models.runs import LeftOutReason
from payouts.services.payables import AmountsDue, get_own_amounts_due
from payouts.services.payout_limits import get_minimums
from payouts.services.payout_methods import find_obstacle
from payouts.services.self_service import list_own_methods
from tracking.services.portal_settings import find_next_payout_day
from tracking.written_amounts import write_amount

OBSTACLES = {
    LeftOutReason.NO_METHOD: gettext_lazy("You cannot be paid yet: add a way to be paid."),
    LeftOutReason.METHOD_INCOMPLETE: gettext_lazy(
        "You cannot be paid yet: details of your payout method are missing or wrong."
        " Enter them again."
    ),
    LeftOutReason.METHOD_ON_HOLD: gettext_lazy(
        "You cannot be paid now: a payment to your account came back. Enter the right"
        " account, or write to us if the one that we have is correct."
    ),
}
WITHOUT_CONTACT = OBSTACLES | {
    LeftOutReason.METHOD_ON_HOLD: gettext_lazy(
        "You cannot be paid now: a payment to your account came back. Enter the right account."
    )
}


def describe_balances(affiliate, portal, *, at, methods=None) -> dict[str, Any]:
    """What is due, on hold and pending in each currency, and what payments wait for.

    `methods` are the payout methods of the affiliate, if they are known.
    """
    account = affiliate.account
    amounts = get_own_amounts_due(affiliate, at=at)
    minimums = get_minimums(account, [affiliate.pk])
    if methods is None:
        methods = list_own_methods(affiliate)
    obstacle = find_obstacle(next((it for it in methods if it.is_primary), None))
    missing = describe_obstacle(affiliate)
    next_day = find_next_payout_day(portal, today=account.get_day(at))
    balances = []
    for currency, each in amounts.items():
        minimum = minimums.find((affiliate.pk, currency))
        reasons = list_reasons(currency, each, minimum)
        is_payable = each.due > 0 and each.due >= (minimum or 0)
        if next_day and is_payable and not (obstacle or missing):
            text = _("The next payments are planned for {day}.")
            reasons.insert(0, text.format(day=long_day(next_day)))
        balances.append(build_balance(currency, each, reasons))
    obstacles = OBSTACLES if portal.contact_email else WITHOUT_CONTACT
    is_due = any(each.due > 0 for each in amounts.values())
    return {
        "balances": balances,
        "obstacle": obstacles[LeftOutReason(obstacle)] if obstacle and is_due else "",
        "is_contact_needed": bool(portal.contact_email)
        and obstacle == LeftOutReason.METHOD_ON_HOLD,
        "missing": missing,
    }


def build_balance(currency: str, amounts: AmountsDue, reasons) -> dict[str, Any]:
    """The amounts of one currency as texts."""
    return {
        "currency": currency,
        "due": write_amount(amounts.due, currency),
        "on_hold": write_amount(amounts.on_hold, currency),
        "pending": write_amount(amounts.pending, currency),
        "reasons": reasons,
    }


def list_reasons(currency: str, amounts: AmountsDue, minimum) -> list[str]:
    """Why amounts are not paid yet."""
    days = amounts.days
    reasons = []
    if amounts.due < 0:
        reasons.append(_("You were paid more than you earned. New sales make up for it first."))
    if minimum is not None and 0 < amounts.due < minimum:
        reasons.append(
            _("You are paid once {minimum} are due.").format(
                minimum=write_amount(minimum, currency)
            )
        )
    if amounts.under_review:
        text = _("{amount} are under review.")
        reasons.append(text.format(amount=write_amount(amounts.under_review, currency)))
    elif len(days) == 1:
        text = _("All that is on hold is due on {day}.")
        reasons.append(text.format(day=long_day(days[0][0])))
    elif days:
        text = _("Of what is on hold, {amount} will be due on {day}, and all of it by {last_day}.")
        (first, amount), last = days[0], days[-1][0]
        reasons.append(
            text.format(
                amount=write_amount(amount, currency),
                day=long_day(first),
                last_day=long_day(last),
            )
        )
    return reasons
