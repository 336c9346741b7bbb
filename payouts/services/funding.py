"""Top-ups of the payout balance of an account that uses payouts."""

from datetime import datetime
from decimal import Decimal

from django.db import transaction

from accounts.errors import InvalidSetting
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.errors import PayoutFeatureRequired
from payouts.services.ledger import open_ledger_session
from tracking.errors import AmountTooLarge
from tracking.money import get_currency, validate_amount


def fund_payouts(
    account: Account, *, amount: Decimal, currency: str, at: datetime
) -> tuple[str, Decimal]:
    """Top up the payout balance of an account that has the payout feature."""
    if not account.uses_payouts:
        raise PayoutFeatureRequired(slug=account.slug)
    return top_up_payout_balance(account, amount=amount, currency=currency, at=at)


def top_up_payout_balance(
    account: Account, *, amount: Decimal, currency: str, at: datetime
) -> tuple[str, Decimal]:
    """Add an amount to the payout balance; return the currency and the new balance."""
    currency = get_currency(currency)
    _validate_top_up(amount, currency)
    with (
        transaction.atomic(),
        open_ledger_session(account, [], at=at, funding_currencies=[currency]) as ledger,
    ):
        balance = ledger.post_funding(amount, currency)
        log_event(
            account,
            "payout_balance.topped_up",
            account,
            at=at,
            amount=str(amount),
            currency=currency,
        )
    return currency, balance


def _validate_top_up(amount: Decimal, currency: str) -> None:
    rule = f"above 0, with no more decimals than {currency} has"
    if amount <= 0:
        raise InvalidSetting(setting="The amount", rule=rule)
    try:
        rounded = validate_amount(amount, currency)
    except AmountTooLarge:
        raise InvalidSetting(setting="The amount", rule="shorter") from None
    if rounded != amount:
        raise InvalidSetting(setting="The amount", rule=rule)
