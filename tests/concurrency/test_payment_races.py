"""Payments, approvals and payout balances, changed by several processes at once.

See promises 6 and 7 of docs/reliability.md, section 1.

Commits are real: each test creates its own account and does not delete it.
"""

from collections import Counter
from decimal import Decimal
from itertools import chain

import pytest

from payouts.services.commissions import approve_commission
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payments import PaymentOrder, create_payments
from payouts.services.payout_settings import top_up_payout_balance
from tests.concurrency.worker import PROCESSES
from tests.program_scenario import CONVERSION_CREATED_AT

pytestmark = pytest.mark.integration

CALLS = 16


def parametrize_rounds(quick, whole):
    """Run few rounds by default and many with the marker `slow`."""
    return pytest.mark.parametrize(
        "rounds",
        [
            pytest.param(quick, id="quick"),
            pytest.param(whole, id="whole", marks=pytest.mark.slow),
        ],
    )


@pytest.fixture
def scenario(scenario):
    """A program whose commission type `all` pays 100 %."""
    scenario.create_commission_type("all", 100)
    return scenario


def build_task(scenario, name, **arguments):
    return {"task": name, "account": scenario.account.slug} | arguments


def make_pending_commissions(scenario, amount, count, **kwargs):
    """Create pending commissions of this amount; return their ids."""
    commissions = [
        scenario.get_commission(scenario.create_conversion((amount, "all"), **kwargs))
        for _ in range(count)
    ]
    return [commission.pk for commission in commissions]


def get_approved_total(account):
    rows = account.commissions.filter(status="approved")
    return sum(rows.values_list("amount", flat=True), Decimal(0))


@parametrize_rounds(quick=5, whole=200)
@pytest.mark.parametrize("uses_payouts", [False, True], ids=["without payouts", "with payouts"])
def test_cancels_payment_once(workers, scenario, uses_payouts, rounds):
    account = scenario.account
    top_up_payout_balance(account, amount=Decimal(20), currency="EUR", at=CONVERSION_CREATED_AT)
    account.uses_payouts = uses_payouts
    account.save()
    (number,) = make_pending_commissions(scenario, "20", 1)
    approve_commission(account, commission_id=number, at=CONVERSION_CREATED_AT)
    balances = {"minakessler": {"EUR": Decimal(20)}}

    for _ in range(rounds):
        order = PaymentOrder("minakessler", Decimal(20), "EUR")
        (payment,) = create_payments(account, orders=[order], at=CONVERSION_CREATED_AT)
        assert get_payable_balances_by_slug(account) == {}
        cancel = build_task(
            scenario,
            "cancel_payments",
            payments=[payment.public_id] * (CALLS // PROCESSES),
        )

        results = Counter(chain.from_iterable(workers.run(*[cancel] * PROCESSES)))

        assert results == {"done": 1, "PaymentNotFound": CALLS - 1}
        assert get_payable_balances_by_slug(account) == balances
    assert account.transfers.filter(kind="payment_canceled").count() == rounds
    assert account.audit_log.filter(kind="payment.canceled").count() == rounds
    fund = account.ledger_accounts.get(kind="funding")
    assert fund.balance == -20


@parametrize_rounds(quick=5, whole=250)
@pytest.mark.parametrize("uses_payouts", [False, True], ids=["without payouts", "with payouts"])
def test_stores_payment_batches_in_any_order(workers, scenario, uses_payouts, rounds):
    """Each round has a new affiliate, so that its ledger accounts are created too."""
    account = scenario.account
    account.uses_payouts = uses_payouts
    account.save()
    slugs = ["minakessler"]

    for number in range(rounds):
        slugs.append(scenario.create_enrolled_affiliate("Odette", f"Nr{'x' * (number % 20)}").slug)
        batch_slugs = [slugs[-1], *slugs[-6:-1]]
        amounts = [("0.01", "EUR"), ("1", "JPY")]
        batch = [[slug, *amount] for slug in batch_slugs for amount in amounts]
        forward = build_task(scenario, "pay_batches", batches=[batch] * 2)
        backward = build_task(scenario, "pay_batches", batches=[batch[::-1]] * 2)

        assert workers.run(forward, backward, forward, backward) == ["done"] * PROCESSES

        balances = get_payable_balances_by_slug(account)[slugs[-1]]
        assert balances == {"EUR": Decimal("-0.08"), "JPY": Decimal(-8)}
    paid = Counter(account.payments.values_list("affiliate__slug", flat=True))
    assert all(number % (PROCESSES * 2 * 2) == 0 for number in paid.values())
    assert account.transfers.filter(kind="paid").count() == sum(paid.values())


@parametrize_rounds(quick=3, whole=50)
def test_never_approves_more_than_the_payout_balance(workers, scenario, rounds):
    account = scenario.account
    account.uses_payouts = True
    account.save()
    others = [scenario.create_enrolled_affiliate("Odette", f"Varga{letter}") for letter in "abc"]
    affiliates = [scenario.mina, *others]

    for number in range(1, rounds + 1):
        top_up_payout_balance(
            account, amount=Decimal("50.99"), currency="EUR", at=CONVERSION_CREATED_AT
        )
        available = Decimal("50.99") * number - get_approved_total(account)
        tasks = [
            build_task(
                scenario,
                "approve_commissions",
                commissions=make_pending_commissions(scenario, "10", 3, affiliate=affiliate),
            )
            for affiliate in affiliates
        ]

        results = Counter(chain.from_iterable(workers.run(*tasks)))

        assert set(results) == {"done", "CommissionUnfunded"}
        assert results["done"] == available // 10
        assert get_approved_total(account) <= Decimal("50.99") * number


@parametrize_rounds(quick=3, whole=50)
def test_approves_commission_once_with_limited_funds(workers, scenario, rounds):
    account = scenario.account
    account.uses_payouts = True
    account.save()

    for number in range(1, rounds + 1):
        top_up_payout_balance(account, amount=Decimal(20), currency="EUR", at=CONVERSION_CREATED_AT)
        approve = build_task(
            scenario,
            "approve_commissions",
            commissions=make_pending_commissions(scenario, "20", 1),
        )

        results = Counter(chain.from_iterable(workers.run(*[approve] * PROCESSES)))

        assert results == {"done": 1, "CommissionApproved": PROCESSES - 1}
        assert get_approved_total(account) == 20 * number


@parametrize_rounds(quick=3, whole=50)
def test_mixes_payments_cancellations_approvals_and_top_ups(workers, scenario, rounds):
    account = scenario.account
    account.uses_payouts = True
    account.save()
    other_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    order = PaymentOrder("minakessler", Decimal(5), "EUR")

    for _ in range(rounds):
        old = [
            create_payments(account, orders=[order], at=CONVERSION_CREATED_AT)[0].public_id
            for _ in range(3)
        ]
        batch = [["odettevarga", "2", "EUR"], ["minakessler", "3", "EUR"]]
        commissions = make_pending_commissions(scenario, "1", 2) + make_pending_commissions(
            scenario, "1", 2, affiliate=other_affiliate
        )

        topped_up, *results, approved = workers.run(
            build_task(scenario, "top_up", amounts=["30", "10"], currency="EUR"),
            build_task(scenario, "pay_batches", batches=[batch, batch[::-1]] * 2),
            build_task(scenario, "cancel_payments", payments=old),
            build_task(scenario, "approve_commissions", commissions=commissions),
        )

        assert (topped_up, results) == ("done", ["done", ["done"] * 3])
        assert set(approved) <= {"done", "CommissionUnfunded"}
    paid = Decimal(20) * rounds
    fund = account.ledger_accounts.get(kind="funding")
    assert -fund.balance == Decimal(40) * rounds - paid
    balances = get_payable_balances_by_slug(account).values()
    assert sum(balance["EUR"] for balance in balances) == get_approved_total(account) - paid


@parametrize_rounds(quick=5, whole=200)
def test_pays_balance_once(workers, scenario, rounds):
    for _ in range(rounds):
        (commission,) = make_pending_commissions(scenario, "20", 1)
        approve_commission(scenario.account, commission_id=commission, at=CONVERSION_CREATED_AT)
        results = workers.run(
            *[
                build_task(
                    scenario,
                    "pay_balance_due",
                    affiliate=scenario.mina.slug,
                    amount="20",
                    times=3,
                )
                for _ in range(PROCESSES)
            ]
        )
        assert Counter(chain(*results)) == {
            "done": 1,
            "BalanceChanged": 3 * PROCESSES - 1,
        }

    assert get_payable_balances_by_slug(scenario.account) == {}
    assert scenario.account.payments.count() == rounds


@parametrize_rounds(quick=5, whole=200)
def test_releases_a_commission_once(workers, scenario, rounds):
    """Beside its approval and payments, which cover it or come before."""
    account = scenario.account
    scenario.program.update_row(hold_days=30)
    for number in range(1, rounds + 1):
        commissions = make_pending_commissions(scenario, "20", 4)
        payments = [[[scenario.mina.slug, "5", "EUR"]]] * 4

        *released, approved, _ = workers.run(
            *[build_task(scenario, "release_commissions", commissions=commissions)] * 2,
            build_task(scenario, "approve_commissions", commissions=commissions),
            build_task(scenario, "pay_batches", batches=payments),
        )

        assert (released, approved) == ([["done"] * 4] * 2, ["done"] * 4)
        assert not account.commissions.filter(
            payment=None, due_at__gt=CONVERSION_CREATED_AT
        ).exists()
        changed = account.audit_log.filter(kind="commission.released").count()
        assert changed == account.corrections.count() <= 4 * number


@parametrize_rounds(quick=5, whole=200)
def test_sets_one_minimum(workers, scenario, rounds):
    for _ in range(rounds):
        tasks = [
            build_task(
                scenario,
                "set_minimums",
                amounts=["5", f"{number + 1}0"],
                affiliate=scenario.mina.slug,
            )
            for number in range(PROCESSES)
        ]
        assert workers.run(*tasks) == ["done"] * PROCESSES

    rows = scenario.account.payout_minimums.order_by("id")
    assert Counter(row.affiliate_id for row in rows) == {
        None: 1,
        scenario.mina.affiliate.pk: 1,
    }
