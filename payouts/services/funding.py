"""Funding: the payout balance of an account that pays through the service."""

from datetime import datetime
from decimal import Decimal

from django.db import transaction

from accounts.errors import OddSetting
from accounts.models.accounts import Account
from accounts.services.events import note
from payouts.services.ledger import hold
from tracking.errors import TooManyDigits
from tracking.money import admit, currency_named


def top_up(
    account: Account, *, amount: Decimal, currency: str, at: datetime
) -> tuple[str, Decimal]:
    """Add to the payout balance; the currency, and the new balance."""
    currency = currency_named(currency)
    _refuse_odd(amount, currency)
    with transaction.atomic(), hold(account, [], at=at, funds=[currency]) as books:
        balance = books.fund(amount, currency)
        note(
            account,
            "payouts.funded",
            account,
            at=at,
            amount=str(amount),
            currency=currency,
        )
    return currency, balance


def _refuse_odd(amount: Decimal, currency: str) -> None:
    rule = f"above 0, with no more decimals than {currency} has"
    if amount <= 0:
        raise OddSetting(setting="The amount", rule=rule)
    try:
        kept = admit(amount, currency)
    except TooManyDigits:
        raise OddSetting(setting="The amount", rule="shorter") from None
    if kept != amount:
        raise OddSetting(setting="The amount", rule=rule)
