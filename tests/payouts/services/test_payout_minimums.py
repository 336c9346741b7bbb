"""Minimums of payout runs."""

from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from accounts.errors import InvalidSetting
from payouts.services.payout_limits import (
    annotate_minimum,
    get_minimums,
    remove_minimum,
    set_minimum,
)
from tests.conftest import NOW
from tests.factories.accounts import AccountFactory
from tests.factories.tracking import AffiliateFactory
from tests.ledger_checks import assert_atomic, assert_unchanged
from tracking.errors import AffiliateNotFound, UnknownCurrency


@pytest.fixture
def mina(account):
    return AffiliateFactory(account=account, slug="mina")


def set_to(account, amount, currency="EUR", **of):
    return set_minimum(account, currency=currency, amount=Decimal(amount), at=NOW, **of)


def list_events(account):
    rows = account.audit_log.order_by("id")
    return [(row.kind, row.subject, row.details["minimum"]) for row in rows]


def test_the_own_minimum_comes_first_then_that_of_the_run(account, mina):
    odette = AffiliateFactory(account=account)
    set_to(account, "50")
    set_to(account, "20.50", affiliate_id="mina")
    set_to(account, "9000", "JPY")

    minimums = get_minimums(account, [mina.pk, odette.pk])

    assert minimums.find((mina.pk, "EUR")) == Decimal("20.50")
    assert minimums.find((odette.pk, "EUR")) == 50
    assert minimums.find((mina.pk, "JPY")) == 9000
    assert minimums.find((mina.pk, "USD")) is None
    of_run = {"EUR": Decimal(100)}
    assert minimums.find((mina.pk, "EUR"), of_run=of_run) == Decimal("20.50")
    assert minimums.find((odette.pk, "EUR"), of_run=of_run) == 100


def test_balances_know_their_minimums(account, mina):
    odette = AffiliateFactory(account=account)
    set_to(AccountFactory(), "70")
    set_to(account, "50")
    set_to(account, "20.50", affiliate_id="mina")
    for affiliate, currency in ((mina, "EUR"), (odette, "EUR"), (mina, "USD")):
        account.ledger_accounts.create(affiliate=affiliate, currency=currency, kind="payable")

    found = annotate_minimum(account.ledger_accounts.order_by("id"))

    assert [row.minimum for row in found] == [Decimal("20.5"), 50, None]


def test_sets_one_per_currency_and_logs_each_change_once(account, mina):
    set_to(account, "50")
    set_to(account, "50.00")
    set_to(account, "60")
    set_to(account, "5", affiliate_id="mina")
    for _ in range(2):
        remove_minimum(account, currency="EUR", at=NOW)
    remove_minimum(account, currency="EUR", affiliate_id="mina", at=NOW)

    assert not account.payout_minimums.exists()
    of_account, of_mina = f"account:{account}", f"affiliate:{mina.log_id}"
    assert list_events(account) == [
        ("payout_minimum.set", of_account, "50 EUR"),
        ("payout_minimum.set", of_account, "60 EUR"),
        ("payout_minimum.set", of_mina, "5 EUR"),
        ("payout_minimum.removed", of_account, "60 EUR"),
        ("payout_minimum.removed", of_mina, "5 EUR"),
    ]


@pytest.mark.parametrize(
    ("amount", "currency"),
    [("0", "EUR"), ("-1", "EUR"), ("0.001", "EUR"), ("1.5", "JPY"), ("1e15", "EUR")],
)
def test_refuses_an_amount_that_the_currency_does_not_have(account, amount, currency):
    rule = f"above 0, with the decimals of {currency}"
    with assert_unchanged(account), pytest.raises(InvalidSetting, match=rule):
        set_to(account, amount, currency)


def test_refuses_an_unknown_currency(account):
    with assert_unchanged(account), pytest.raises(UnknownCurrency):
        set_to(account, "5", "XXZ")


def test_accounts_have_minimums_and_affiliates_of_their_own(account, mina):
    other = AccountFactory()
    set_to(account, "50")

    assert get_minimums(other, [mina.pk]).find((mina.pk, "EUR")) is None
    for change in (
        lambda: set_to(other, "5", affiliate_id="mina"),
        lambda: remove_minimum(other, currency="EUR", affiliate_id="mina", at=NOW),
    ):
        with assert_unchanged(account), pytest.raises(AffiliateNotFound):
            change()


@pytest.mark.parametrize("of", [{}, {"affiliate_id": "mina"}])
def test_an_account_has_one_per_currency(account, mina, of):
    """So that of two people who set one at once, the second changes the first."""
    row = set_to(account, "50", **of)

    with pytest.raises(IntegrityError), transaction.atomic():
        account.payout_minimums.create(affiliate=row.affiliate, currency="EUR", amount=5)


def test_looks_again_if_it_was_set_meanwhile(account, monkeypatch):
    manager = type(account.payout_minimums)
    create, errors = manager.create, [IntegrityError()]

    def fail_first(rows, **values):
        if errors:
            raise errors.pop()
        return create(rows, **values)

    monkeypatch.setattr(manager, "create", fail_first)

    assert set_to(account, "5").amount == 5


def test_changes_all_or_nothing(account):
    set_to(account, "50")

    assert_atomic(account, lambda: set_to(account, "60"), least=3)
    assert_atomic(account, lambda: remove_minimum(account, currency="EUR", at=NOW), least=3)
