"""Balances that staff withhold: no payout run pays them until somebody lifts it.

Who changes one locks the affiliate, which the confirmation of a run locks, too.
Payments by hand and by the API stay possible.
"""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from accounts.actor import get_actor
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import BalanceNotWithheld
from payouts.models.commissions import BalanceKey
from payouts.models.runs import WithheldBalance
from tracking.errors import AffiliateNotFound
from tracking.models.affiliates import Affiliate


def get_withheld_balances(
    account: Account, affiliate_ids: Collection[int] | None = None
) -> dict[BalanceKey, WithheldBalance]:
    """Return what is withheld: of these affiliates, else of all."""
    rows = account.withheld_balances.order_by("affiliate", "currency")
    if affiliate_ids is not None:
        rows = rows.filter(affiliate__in=affiliate_ids)
    return {(row.affiliate_id, row.currency): row for row in rows}


def withhold_balance(
    account: Account, affiliate: Affiliate, *, currency: str, reason: str, at: datetime
) -> None:
    """Withhold the balance of an affiliate that the caller has locked.

    Once more replaces the reason.
    """
    rows = account.withheld_balances.filter(affiliate=affiliate, currency=currency)
    rows.delete()
    account.withheld_balances.create(
        affiliate=affiliate,
        currency=currency,
        reason=reason,
        created_by=get_actor().name,
        created_at=at,
    )
    log_event(account, "affiliate.balance_withheld", affiliate, at=at, currency=currency)


def lift_if_withheld(
    account: Account, affiliate: Affiliate, *, currency: str, at: datetime
) -> bool:
    """Let payout runs pay the balance of an affiliate that the caller has locked.

    Returns whether it was withheld.
    """
    rows = account.withheld_balances.filter(affiliate=affiliate, currency=currency)
    is_withheld = bool(rows.delete()[0])
    if is_withheld:
        kind = "affiliate.balance_lifted"
        log_event(account, kind, affiliate, at=at, currency=currency)
    return is_withheld


def lift_withheld_balance(
    account: Account, *, affiliate_id: str, currency: str, at: datetime
) -> None:
    """Let payout runs pay a balance again, also one of a removed affiliate.

    Drafts leave it out until they are made again. Raises `AffiliateNotFound` and
    `BalanceNotWithheld`.
    """
    with transaction.atomic():
        affiliate = get_or_raise(
            account.affiliates, AffiliateNotFound, slug=affiliate_id, lock=True
        )
        if not lift_if_withheld(account, affiliate, currency=currency, at=at):
            raise BalanceNotWithheld(currency=currency, affiliate=affiliate)
