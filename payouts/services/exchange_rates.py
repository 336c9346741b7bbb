"""Exchange rates that staff enter, for columns of reports that say they are converted.

Nothing else uses them: no balance, payment or commission is ever converted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from accounts.errors import InvalidSetting
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from payouts.models.exchange_rates import UNITS_SCALE, ExchangeRate
from tracking.amounts import SCALE
from tracking.money import MAX_INTEGER_DIGITS, ROUNDING_CONTEXT, get_currency

DECIMALS = SCALE + UNITS_SCALE


@dataclass(frozen=True)
class ExchangeRates:
    """The rates into the currency of an account; `into` is empty if it has none."""

    into: str
    rates: Mapping[str, ExchangeRate]

    def convert(self, amount: Decimal | None, currency: str) -> Decimal | None:
        """The exact worth of an amount; None without a rate."""
        if amount is None or not self.has_rate(currency):
            return None
        if currency == self.into:
            return amount
        return ROUNDING_CONTEXT.multiply(amount, self.rates[currency].rate)

    def has_rate(self, currency: str) -> bool:
        """Whether a currency can be converted."""
        return currency != "" and (currency == self.into or currency in self.rates)

    def list_missing(self, currencies: Iterable[str]) -> list[str]:
        """Those of the currencies that cannot be converted."""
        return sorted({it for it in currencies if not self.has_rate(it)})


def load_rates(account: Account) -> ExchangeRates:
    """Return the rates that count: those set before the account changed its currency do
    not."""
    into = account.default_currency
    rows = account.exchange_rates.filter(into_currency=into).order_by("currency") if into else ()
    return ExchangeRates(into, {row.currency: row for row in rows})


def set_rate(account: Account, *, currency: str, rate: Decimal, at: datetime) -> ExchangeRate:
    """Set what a unit of a currency is worth in that of the account, as of this day.

    Raises `UnknownCurrency` and `InvalidSetting`.
    """
    currency = get_currency(currency)
    scaled = rate.scaleb(DECIMALS, ROUNDING_CONTEXT)
    is_whole = not ROUNDING_CONTEXT.remainder(scaled, Decimal(1))
    if rate <= 0 or rate.adjusted() >= MAX_INTEGER_DIGITS - UNITS_SCALE or not is_whole:
        rule = f"above 0, with up to {DECIMALS} decimals"
        raise InvalidSetting(setting="The rate", rule=rule, path="rate")
    with transaction.atomic():
        account.lock_row()
        account.refresh_from_db(fields=["default_currency"])
        into = account.default_currency
        if not into:
            name, rule = "The currency of the account", "chosen in its settings first"
            raise InvalidSetting(setting=name, rule=rule, path="currency")
        if into == currency:
            rule = "another one than that of the account"
            raise InvalidSetting(setting="The currency", rule=rule, path="currency")
        row = account.exchange_rates.filter(currency=currency).first()
        day, worth = account.get_day(at), rate.scaleb(UNITS_SCALE)
        if row is None:
            row = account.exchange_rates.create(
                currency=currency, into_currency=into, worth_of_10000=worth, set_on=day
            )
        else:
            row.update_row(into_currency=into, worth_of_10000=worth, set_on=day)
        log_event(account, "exchange_rate.set", account, at=at, rate=f"{row}")
    return row


def remove_rate(account: Account, *, currency: str, at: datetime) -> None:
    """Remove the rate of a currency, if there is one."""
    with transaction.atomic():
        account.lock_row()
        for row in account.exchange_rates.filter(currency=currency):
            account.exchange_rates.filter(pk=row.pk).delete()
            log_event(account, "exchange_rate.removed", account, at=at, rate=f"{row}")
