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


def record(operation):
    """Run it in a transaction that is not opened by a test; list the violations."""
    with record_locks() as order:
        transaction.atomic(operation)()
    return order.violations


def test_finds_kinds_in_another_order(account, sale):
    def operate():
        lock(account.conversions.all())
        lock(account.customers.all())

    assert record(operate) == ["Customer is locked after Conversion"]


def test_finds_balances_that_are_locked_one_after_the_other(account, scenario, sale):
    other = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.create_conversion("10", affiliate=other)

    def operate():
        for each in (other, scenario.mina):
            key = (each.affiliate.pk, "EUR")
            with open_ledger_session(account, [key], is_locked=True, at=AT):
                pass

    assert record(operate) == ["LedgerAccount is locked after LedgerAccount"]


def test_permits_the_order_and_rows_of_the_transaction(account, scenario, sale):
    def operate():
        lock(account.customers.all())
        lock(account.conversions.all())
        new = scenario.create_enrolled_affiliate("Odette", "Varga")
        lock(account.affiliates.filter(pk=new.affiliate.pk))

    assert record(operate) == []


def test_permits_what_a_test_does_in_one_transaction(account, sale):
    with record_locks() as order, transaction.atomic():
        transaction.atomic(lambda: lock(account.conversions.all()))()
        transaction.atomic(lambda: lock(account.customers.all()))()

    assert order.violations == []
