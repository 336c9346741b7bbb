"""How affiliates delete themselves in the portal; with open money they ask for it."""

from datetime import datetime, timedelta
from decimal import Decimal

from accounts.services.changes import log_event
from accounts.services.notifications import send_to_owners
from payouts.models.runs import PayoutLineState
from payouts.services.amounts_due import get_amounts_due
from payouts.services.run_states import list_unanswered_runs
from tracking.models.affiliates import Affiliate
from tracking.money import format_amount
from tracking.services.affiliates import delete_affiliate
from tracking.services.portal_access import confirm_password, sign_out_everywhere

ASK_AGAIN_AFTER = timedelta(days=1)


def sum_open_amounts(affiliate: Affiliate, *, at: datetime) -> dict[str, Decimal]:
    """Sum what is due, on hold, pending or on its way, by currency."""
    account = affiliate.account
    amounts = get_amounts_due(account, [affiliate.pk], at=at)
    totals = {
        currency: amounts[pk, currency].payable + amounts[pk, currency].pending
        for pk, currency in amounts
        if amounts[pk, currency].payable or amounts[pk, currency].pending
    }
    lines = account.payout_lines.filter(affiliate=affiliate, state=PayoutLineState.UNKNOWN)
    for line in lines.order_by("id"):
        totals[line.currency] = totals.get(line.currency, 0) + line.net_amount
    return dict(sorted(totals.items()))


def delete_own_account(affiliate: Affiliate, *, password: str, at: datetime) -> None:
    """Delete an affiliate who has nothing open; else ask the company for it.

    `deletion_asked_at` is set then, and `deleted_at` if nothing is open. The owners get
    a mail, about a request once a day. Raises `WrongPassword`.
    """
    account = affiliate.account
    with confirm_password(affiliate, password, locks_hierarchy=True) as locked:
        amounts = sum_open_amounts(locked, at=at)
        name = f"{locked.firstname} {locked.lastname}".strip()
        if not amounts:
            locked.update_row(deletion_asked_at=at)
            delete_affiliate(account, affiliate_id=locked.slug, at=at)
            sign_out_everywhere(locked)
            send_to_owners(
                account,
                subject=f"{locked.slug} has left",
                text=(
                    f"{name} ({locked.slug}) deleted their account in the portal."
                    " Nothing was open.\n\nTheir data is kept. Erase it in the back"
                    " office as soon as you need it no more, for example for the"
                    " books.\n"
                ),
            )
            return
        asked_at = locked.deletion_asked_at
        if asked_at is not None and at - asked_at < ASK_AGAIN_AFTER:
            return
        locked.update_row(deletion_asked_at=at)
        log_event(account, "affiliate.deletion_asked", locked, at=at)
        listed = [format_amount(amount, key) for key, amount in amounts.items()]
        runs = ", ".join(list_unanswered_runs(account, [locked.pk]))
        unanswered = f"The bank has not answered yet about {runs}. " if runs else ""
        send_to_owners(
            account,
            subject=f"{locked.slug} asks to be removed",
            text=(
                f"{name} ({locked.slug}) asked in the portal to be removed.\n\nStill"
                f" open: {', '.join(listed)}. {unanswered}Pay or disapprove it first,"
                " then remove the affiliate in the back office.\n"
            ),
        )
