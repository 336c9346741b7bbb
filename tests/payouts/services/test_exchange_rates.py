"""Exchange rates of reports."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.errors import InvalidSetting
from payouts.services.exchange_rates import load_rates, remove_rate, set_rate
from tests.conftest import NOW
from tracking.errors import UnknownCurrency


@pytest.fixture
def account(account):
    account.default_currency = "EUR"
    account.save()
    return account


def set_to(account, rate, currency="USD", at=NOW):
    return set_rate(account, currency=currency, rate=Decimal(rate), at=at)


def test_sets_one_rate_per_currency_with_its_day_and_logs_each_change(account):
    set_to(account, "0.5")
    set_to(account, "0.92", at=NOW + timedelta(days=2))
    set_to(account, "0.00613421", "jpy")
    remove_rate(account, currency="JPY", at=NOW)
    remove_rate(account, currency="JPY", at=NOW)

    [rate] = account.exchange_rates.all()
    assert (rate.currency, rate.into_currency, rate.rate) == ("USD", "EUR", Decimal("0.92"))
    assert rate.set_on == account.get_day(NOW + timedelta(days=2))
    logged = account.audit_log.order_by("id").values_list("kind", "details__rate")
    assert [*logged] == [
        ("exchange_rate.set", "1 USD = 0.5 EUR"),
        ("exchange_rate.set", "1 USD = 0.92 EUR"),
        ("exchange_rate.set", "1 JPY = 0.00613421 EUR"),
        ("exchange_rate.removed", "1 JPY = 0.00613421 EUR"),
    ]


def test_converts_exactly_and_only_with_a_rate(account):
    set_to(account, "0.12345678")
    rates = load_rates(account)

    assert rates.convert(Decimal("200000000000.0001"), "USD") == Decimal("24691356000.000012345678")
    assert rates.convert(Decimal(7), "EUR") == 7
    assert rates.convert(Decimal(7), "JPY") is None
    assert rates.convert(None, "USD") is None
    assert rates.list_missing(["USD", "JPY", "EUR"]) == ["JPY"]


def test_rates_into_a_former_currency_of_the_account_do_not_count(account):
    set_to(account, "0.5")
    account.default_currency = "CHF"
    account.save()

    rates = load_rates(account)

    assert (rates.into, rates.convert(Decimal(7), "USD")) == ("CHF", None)
    account.default_currency = ""
    account.save()
    assert load_rates(account).convert(Decimal(7), "USD") is None


@pytest.mark.parametrize("rate", ["0", "-1", "0.000000001", "1e9"])
def test_refuses_what_is_no_rate(account, rate):
    with pytest.raises(InvalidSetting) as caught:
        set_to(account, rate)
    assert caught.value.path == "rate"


def test_needs_two_different_currencies(account):
    with pytest.raises(InvalidSetting) as caught:
        set_to(account, "2", "EUR")
    assert caught.value.path == "currency"
    with pytest.raises(UnknownCurrency):
        set_to(account, "2", "XXY")
    account.default_currency = ""
    account.save()
    with pytest.raises(InvalidSetting):
        set_to(account, "2")
