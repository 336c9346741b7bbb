"""Previews of what moves money: exact, and stored only if confirmed."""

from datetime import timedelta
from decimal import Decimal

import pytest

from payouts.calculation import LineItem
from payouts.services.commissions import (
    approve_commission,
    disapprove_commission,
    reopen_commission,
)
from payouts.services.conversion_updates import (
    add_commissions,
    delete_conversion,
    update_commission,
    update_conversion,
)
from payouts.services.payments import PaymentOrder, cancel_payment, create_payments
from payouts.services.previews import perform_if_confirmed, preview_status
from tests.ledger_checks import assert_unchanged
from tests.program_scenario import CONVERSION_CREATED_AT

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

LATER = CONVERSION_CREATED_AT + timedelta(days=1)


@pytest.fixture
def conversion(scenario):
    """A conversion of 200 with a pending commission of 20 EUR."""
    return scenario.create_conversion("200")


@pytest.fixture
def commission(scenario, conversion):
    return scenario.get_commission(conversion)


def approve(commission):
    approve_commission(commission.account, commission_id=commission.pk, at=LATER)


def pay(scenario, amount):
    order = PaymentOrder(scenario.mina.slug, Decimal(amount), "EUR")
    return create_payments(scenario.account, orders=[order], at=LATER)[0]


def preview(account, operation):
    """What an operation would change, which nobody has confirmed yet."""
    outcome = perform_if_confirmed(account, operation, confirmed="")
    assert not outcome.is_done
    return outcome.effects


def list_commissions(effects):
    """Commissions as texts: `pending 20 → approved 20`."""

    def text(value):
        return f"{value.status} {value.amount.normalize():f}" if value else "none"

    return [f"{text(each.before)} → {text(each.after)}" for each in effects.commissions]


def list_transfers(effects):
    return [
        f"{each.kind}: {each.debit} → {each.credit} {each.amount.normalize():f}"
        for each in effects.transfers
    ]


def list_balances(effects):
    return [
        f"{each.kind} {each.affiliate}: {each.before.normalize():f}"
        f" → {each.after.normalize():f} {each.currency}"
        for each in effects.balances
    ]


def test_says_what_an_approval_moves_and_stores_nothing(account, commission):
    with assert_unchanged(account):
        effects = preview(account, lambda: approve(commission))

    assert list_commissions(effects) == ["pending 20 → approved 20"]
    assert list_transfers(effects) == ["approved: pending → payable 20"]
    assert list_balances(effects) == [
        "payable minakessler: 0 → 20 EUR",
        "pending minakessler: 20 → 0 EUR",
    ]
    assert not any(each.is_negative for each in effects.balances)


def test_says_that_removing_a_paid_sale_makes_the_balance_negative(
    account, scenario, conversion, commission
):
    approve(commission)
    pay(scenario, "20")

    effects = preview(
        account,
        lambda: delete_conversion(account, conversion_id=conversion.pk, at=LATER),
    )

    assert list_commissions(effects) == ["approved 20 → none"]
    assert list_transfers(effects) == [
        "reopened: payable → pending 20",
        "withdrawn: pending → expense 20",
    ]
    (negative,) = [each for each in effects.balances if each.is_negative]
    assert (negative.before, negative.after) == (Decimal(0), Decimal(-20))


def test_says_what_a_corrected_amount_moves(account, scenario):
    parent = scenario.create_enrolled_affiliate("Odette", "Varga")
    scenario.mina.affiliate.update_row(parent=parent.affiliate)
    scenario.create_level(2, 3)
    conversion = scenario.create_conversion("200")

    def correct(*, should_recalculate):
        return preview(
            account,
            lambda: update_conversion(
                account,
                conversion_id=conversion.pk,
                changes={"amount": Decimal(150)},
                should_recalculate=should_recalculate,
                at=LATER,
            ),
        )

    effects = correct(should_recalculate=True)
    assert list_commissions(effects) == [
        "pending 20 → pending 15",
        "pending 6 → pending 4.5",
    ]
    assert {each.affiliate for each in effects.commissions} == {
        scenario.mina.slug,
        parent.slug,
    }
    assert correct(should_recalculate=False).is_empty


def test_new_commissions_have_no_id_so_that_the_digest_stays(account, conversion):
    def add():
        items = [LineItem(Decimal(50))]
        return add_commissions(account, conversion_id=conversion.pk, line_items=items, at=LATER)

    first, second = preview(account, add), preview(account, add)

    assert list_commissions(first) == ["none → pending 5"]
    assert first.commissions[0].commission_id is None
    assert first.digest == second.digest


def test_payments_move_the_balance(account, scenario, commission):
    approve(commission)

    assert list_balances(preview(account, lambda: pay(scenario, "25"))) == [
        "payable minakessler: 20 → -5 EUR"
    ]
    payment = pay(scenario, "20")
    cancel = preview(
        account,
        lambda: cancel_payment(account, payment_id=payment.public_id, at=LATER),
    )
    assert list_transfers(cancel) == ["payment_canceled: paid → payable 20"]
    assert list_balances(cancel) == ["payable minakessler: 0 → 20 EUR"]


def test_a_comment_moves_nothing_and_needs_no_confirmation(account, commission):
    outcome = perform_if_confirmed(
        account,
        lambda: update_commission(
            account, commission_id=commission.pk, changes={"comment": "a"}, at=LATER
        ),
        confirmed=None,
    )

    assert outcome.is_done
    assert account.commissions.get().comment == "a"


def test_stores_only_confirmed_effects(account, scenario, commission):
    def operation():
        return approve(commission)

    assert not perform_if_confirmed(account, operation, confirmed=None).is_done
    digest = preview(account, operation).digest
    other = scenario.get_commission(scenario.create_conversion("50"))
    approve(other)  # the balance is no longer the one of the preview

    outcome = perform_if_confirmed(account, operation, confirmed=digest)
    assert not outcome.is_done
    assert account.commissions.get(pk=commission.pk).status == "pending"
    assert "payable minakessler: 5 → 25 EUR" in list_balances(outcome.effects)

    confirmed = outcome.effects.digest
    assert perform_if_confirmed(account, operation, confirmed=confirmed).is_done
    assert account.commissions.get(pk=commission.pk).status == "approved"


def test_a_new_sale_does_not_invalidate_a_confirmation(account, scenario, commission):
    digest = preview(account, lambda: approve(commission)).digest
    scenario.create_conversion("50")

    assert perform_if_confirmed(account, lambda: approve(commission), confirmed=digest).is_done


def test_another_change_invalidates_a_confirmation_even_if_it_moves_no_money(account, scenario):
    """Commissions of zero have no transfers."""
    commission = scenario.get_commission(scenario.create_conversion("0"))
    digest = preview(account, lambda: approve(commission)).digest
    scenario.disapprove(commission, at=LATER)

    outcome = perform_if_confirmed(account, lambda: approve(commission), confirmed=digest)

    assert not outcome.is_done
    assert account.commissions.get().status == "disapproved"


@pytest.mark.another_transaction
@pytest.mark.parametrize("status", ["approved", "disapproved", "pending"])
@pytest.mark.another_transaction  # a preview of several
def test_status_of_many_commissions_as_if_it_were_set(account, scenario, status):
    commissions = [
        scenario.get_commission(scenario.create_conversion(amount))
        for amount in ("200", "50", "125")
    ]
    approve(commissions[0])
    scenario.disapprove(commissions[1], at=LATER)
    pay(scenario, "15")
    commissions = list(account.commissions.order_by("id"))
    set_status = {
        "approved": approve_commission,
        "disapproved": disapprove_commission,
        "pending": reopen_commission,
    }[status]

    predicted = preview_status(account, commissions, status)
    effects = preview(
        account,
        lambda: [set_status(account, commission_id=each.pk, at=LATER) for each in commissions],
    )

    assert predicted == [each for each in effects.balances if each.kind == "payable"]
    assert predicted
