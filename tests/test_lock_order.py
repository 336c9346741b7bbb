"""The law about the order of locks finds what breaks it."""

import pytest
from django.db import transaction

from payouts.services.ledger import open_ledger_session
from tests.lock_order import record_locks
from tests.program_scenario import CONVERSION_CREATED_AT as AT

pytestmark = [pytest.mark.django_db, pytest.mark.another_transaction]


def lock(rows):
    return list(rows.select_for_update(no_key=True).order_by("pk"))


@pytest.fixture
def sale(scenario):
    return scenario.create_conversion("10", customer_id="member-1")


def test_finds_kinds_in_another_order(account, sale):
    with record_locks() as order, transaction.atomic():
        lock(account.conversions.all())
        lock(account.customers.all())

    assert order.violations == ["Customer is locked after Conversion"]


def test_finds_balances_that_are_locked_one_after_the_other(account, scenario, sale):
    other = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_conversion("10", affiliate=other)
    keys = [(each.affiliate.pk, "EUR") for each in (other, scenario.mina)]

    with record_locks() as order, transaction.atomic():
        for key in keys:
            with open_ledger_session(account, [key], at=AT) as ledger:
                ledger.lock_balances()

    assert order.violations == ["LedgerAccount is locked after LedgerAccount"]


def test_permits_the_order_twice_and_rows_of_the_transaction(account, scenario, sale):
    with record_locks() as order:
        for _ in range(2):
            with transaction.atomic():
                lock(account.customers.all())
                lock(account.conversions.all())
                new = scenario.create_enrolled_affiliate("Odette", "Varga", email=None)
                lock(account.affiliates.filter(pk=new.affiliate.pk))

    assert order.violations == []
