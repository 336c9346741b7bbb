"""ExchangeRate: what an account takes a currency to be worth, for its reports alone."""

from decimal import Decimal

from django.db import models

from accounts.models.accounts import TenantModel
from tracking.amounts import AmountField

UNITS_SCALE = 4  # a rate is stored for 10,000 units: it has up to eight decimals


class ExchangeRate(TenantModel):
    """A rate of a currency into what was the currency of the account when staff set it."""

    currency = models.CharField(max_length=3)
    into_currency = models.CharField(max_length=3)
    worth_of_10000 = AmountField()
    set_on = models.DateField()  # in the time zone of the account

    class Meta:
        default_related_name = "exchange_rates"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "currency"], name="one_exchange_rate_per_currency"
            ),
            models.CheckConstraint(
                condition=models.Q(worth_of_10000__gt=0), name="exchange_rate_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"1 {self.currency} = {self.rate.normalize():f} {self.into_currency}"

    @property
    def rate(self) -> Decimal:
        return self.worth_of_10000.scaleb(-UNITS_SCALE)
