"""What of the balances is due, and what is on hold."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.errors import CommissionNotFound
from payouts.models.ledger import LedgerAccount
from payouts.services.corrections import list_corrections, release_commission
from payouts.services.payables import (
    AmountsDue,
    get_amounts_due,
    get_own_amounts_due,
)
from payouts.services.payments import cancel_payment
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_atomic, assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

SOLD_AT = CONVERSION_CREATED_AT
DUE_AT = SOLD_AT + timedelta(days=30)
LATER = SOLD_AT + timedelta(days=10)


@pytest.fixture
def scenario(scenario):
    scenario.program.update_row(hold_days=30)
    return scenario


def sell(scenario, amount, *, status="approved", **fields):
    commission = scenario.get_commission(scenario.create_conversion(amount, **fields))
    scenario.set_status(commission, status)
    return commission


def get_amounts(scenario, *, at=LATER):
    """The amounts of Mina in EUR."""
    mina = scenario.mina.affiliate
    found = get_amounts_due(scenario.account, [mina.pk], at=at)
    return found[mina.pk, "EUR"]


def test_what_is_due_and_what_is_on_hold_add_up_to_the_balance(scenario):
    sell(scenario, "400", at=SOLD_AT - timedelta(days=25))
    sell(scenario, "200")
    sell(scenario, "100", status="pending")
    sell(scenario, "50", status="disapproved")

    assert get_amounts(scenario) == AmountsDue(
        payable=Decimal(60), on_hold=Decimal(20), held_until=DUE_AT, pending=Decimal(10)
    )
    assert get_amounts(scenario).due == 40


def test_a_commission_is_due_from_the_moment_on_that_it_names(scenario):
    sell(scenario, "200")

    before, then = (
        get_amounts(scenario, at=DUE_AT - timedelta(microseconds=1)),
        get_amounts(scenario, at=DUE_AT),
    )

    assert (before.due, before.on_hold) == (0, 20)
    assert (then.due, then.on_hold, then.held_until) == (20, 0, None)


def test_what_was_paid_beyond_the_commissions_that_are_due_is_negative(scenario):
    """A payment by the API is never refused for a hold."""
    sell(scenario, "200")
    payment = scenario.pay("5")

    amounts = get_amounts(scenario)
    assert (amounts.payable, amounts.on_hold, amounts.due) == (15, 20, -5)

    cancel_payment(scenario.account, payment_id=payment.public_id, at=LATER)
    scenario.pay("20")
    amounts = get_amounts(scenario)
    assert (amounts.payable, amounts.on_hold, amounts.due) == (0, 0, 0)


def test_lists_the_days_when_what_is_on_hold_is_due(scenario, capture_queries):
    for amount, days in (("400", 3), ("200", 0), ("100", 3), ("900", -25)):
        sell(scenario, amount, at=SOLD_AT + timedelta(days=days))
    sell(scenario, "10", currency="JPY")
    sell(scenario, "50", status="disapproved")
    first = scenario.account.get_day(DUE_AT)

    with capture_queries() as executed:
        amounts = get_own_amounts_due(scenario.mina.affiliate, at=LATER)

    assert {currency: each.days for currency, each in amounts.items()} == {
        "EUR": ((first, Decimal(20)), (first + timedelta(days=3), Decimal(50))),
        "JPY": ((first, Decimal(1)),),
    }
    assert len(executed) == 2
    assert replace(amounts["EUR"], days=()) == get_amounts(scenario)
    after = DUE_AT + timedelta(days=3)
    assert get_own_amounts_due(scenario.mina.affiliate, at=after) == {
        "EUR": get_amounts(scenario, at=after),
        "JPY": AmountsDue(payable=Decimal(1)),
    }


def test_commissions_from_before_holds_are_due(scenario):
    commission = sell(scenario, "200")
    commission.update_row(due_at=None)

    assert get_amounts(scenario).due == 20


def test_many_balances_take_two_statements(scenario, capture_queries):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    sell(scenario, "200")
    sell(scenario, "100", affiliate=odette)
    sell(scenario, "10", affiliate=odette, currency="JPY")
    pks = [scenario.mina.affiliate.pk, odette.affiliate.pk]

    with capture_queries() as executed:
        amounts = get_amounts_due(scenario.account, pks, at=LATER)

    assert len(executed) == 2
    assert {key: each.on_hold for key, each in amounts.items()} == {
        (pks[0], "EUR"): 20,
        (pks[1], "EUR"): 10,
        (pks[1], "JPY"): 1,
    }


def test_other_accounts_have_other_balances(scenario, other_account):
    sell(scenario, "200")
    ProgramScenario(other_account)

    pk = scenario.mina.affiliate.pk
    assert get_amounts_due(other_account, [pk], at=LATER) == {}
    assert LedgerAccount.objects.of(other_account).count() == 0


# Release.


def release(commission, *, at=LATER, reason="Odette asked for an advance."):
    return release_commission(commission.account, commission_id=commission.pk, reason=reason, at=at)


def test_a_released_commission_is_due_with_its_reason_kept(scenario, account):
    commission = sell(scenario, "200")

    release(commission)

    commission.refresh_from_db()
    assert commission.due_at == LATER
    assert get_amounts(scenario).due == 20
    [correction] = list_corrections(commission.conversion)
    assert correction.reason == "Odette asked for an advance."
    entry = account.audit_log.latest("id")
    assert (entry.kind, entry.subject) == (
        "commission.released",
        f"commission:{commission.pk}",
    )
    assert entry.details == {"until": "2026-04-03T09:15:27+00:00"}


@pytest.mark.parametrize("state", ["released", "due", "paid", "disapproved"])
def test_releases_nothing_that_is_not_on_hold(scenario, account, state):
    commission, at = sell(scenario, "200"), LATER
    if state == "released":
        release(commission)
        at += timedelta(hours=1)
    elif state == "due":
        at = DUE_AT
    elif state == "paid":
        scenario.pay("20")
    elif state == "disapproved":
        scenario.disapprove(commission)

    with assert_unchanged(account):
        release(commission, at=at)


def test_a_pending_commission_can_be_released(scenario):
    commission = sell(scenario, "200", status="pending")

    release(commission)
    scenario.approve(commission)

    assert get_amounts(scenario).due == 20


def test_a_commission_of_another_account_does_not_exist(scenario, account):
    commission = sell(scenario, "200")
    other = AccountFactory()

    with assert_unchanged(account), pytest.raises(CommissionNotFound):
        release_commission(other, commission_id=commission.pk, reason="No.", at=LATER)


def test_releases_all_or_nothing(scenario, account):
    commission = sell(scenario, "200")

    assert_atomic(account, lambda: release(commission), least=3)
