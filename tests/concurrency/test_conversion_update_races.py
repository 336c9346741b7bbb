"""Updates of one conversion by several processes at once.

No process fails with a deadlock or an unexpected error: each operation locks the
conversion before the ledger (docs/reliability.md, section 7).
"""

from collections import Counter
from decimal import Decimal
from itertools import chain

import pytest

from payouts.services.bonuses import grant_bonuses
from payouts.services.commissions import approve_commission, disapprove_commission
from payouts.services.ledger import get_payable_balances_by_slug
from tests.concurrency.conversion_tasks import APRIL
from tests.concurrency.worker import PROCESSES
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT

pytestmark = pytest.mark.integration

ROUNDS = 5
EXPECTED_RESULTS = {"done", "ConversionNotFound", "CommissionNotFound"}


def build_task(scenario, name, **arguments):
    return {"task": name, "account": scenario.account.slug} | arguments


def build_updates_by_id(scenario, conversion):
    """Change the amount of a conversion, and the sub-amount of its commission."""
    commission = scenario.get_commission(conversion).pk
    amount, sub_amount = {"amount": "50"}, {"sub_amount": "70"}
    return [
        build_task(scenario, "update_conversion", conversion_id=conversion.pk, **amount),
        build_task(scenario, "update_sub_amount", commission_id=commission, **sub_amount),
    ]


@pytest.mark.parametrize("recalculate", [False, True])
def test_serializes_updates_of_one_conversion(workers, scenario, recalculate):
    scenario.create_conversion("200", external_id="order-1")
    change = build_task(
        scenario,
        "update_by_external_id",
        external_id="order-1",
        recalculate=recalculate,
    )

    for number in range(ROUNDS):
        results = workers.run(
            *[change | {"amount": str(number * 10 + n)} for n in range(PROCESSES)]
        )

        assert results == ["done"] * PROCESSES


def test_sets_status_during_concurrent_updates(workers, scenario):
    for number in range(ROUNDS):
        name = f"order-{number}"
        conversion = scenario.create_conversion("200", external_id=name)
        results = workers.run(
            build_task(
                scenario,
                "update_by_external_id",
                external_id=name,
                status="approved",
                meta_data={"a": "b"},
            ),
            build_task(
                scenario,
                "update_by_external_id",
                external_id=name,
                status="disapproved",
                recalculate=False,
                amount="30",
            ),
            *build_updates_by_id(scenario, conversion),
        )

        assert results == ["done"] * PROCESSES


def test_deletes_conversion_during_concurrent_updates(workers, scenario):
    for number in range(ROUNDS):
        name = f"order-{number}"
        conversion = scenario.create_conversion("200", external_id=name)
        results = workers.run(
            build_task(
                scenario,
                "update_by_external_id",
                external_id=name,
                status="approved",
                amount="30",
            ),
            build_task(scenario, "delete_conversion", conversion_id=conversion.pk),
            *build_updates_by_id(scenario, conversion),
        )

        assert set(results) <= EXPECTED_RESULTS, results
        assert results[1] == "done"
    assert get_payable_balances_by_slug(scenario.account) == {}


def test_external_id_goes_to_one_of_new_and_updated_conversion(workers, scenario):
    for number in range(ROUNDS):
        old = [scenario.create_conversion("200") for _ in range(2)]
        name = f"order-{number}"
        change = build_task(scenario, "update_conversion", external_id=name, amount="50")
        create = build_task(
            scenario,
            "create_conversion",
            amount="49.90",
            external_id=name,
            coupon=scenario.mina.coupon,
        )

        results = Counter(
            workers.run(
                change | {"conversion_id": old[0].pk},
                create | {"external_id": f"{name}-other"},
                change | {"conversion_id": old[1].pk},
                create,
            )
        )

        assert results == {"done": 2, "DuplicateConversion": 2}


def test_first_payments_do_not_deadlock(workers, scenario):
    """Several processes create the same new ledger accounts."""
    currencies = ["EUR", "USD", "GBP", "JPY", "SEK", "CHF"]
    slugs = [
        scenario.create_enrolled_affiliate("Odette", f"Varga{letter}").slug for letter in "abcd"
    ]
    orders = [[[slug, "5", currency] for currency in currencies] for slug in slugs]

    results = workers.run(
        *[
            build_task(scenario, "pay_batches", batches=[batch[::-1] if number % 2 else batch])
            for number, batch in enumerate(orders)
        ]
    )

    assert results == ["done"] * PROCESSES
    balances = {currency: Decimal(-5) for currency in sorted(currencies)}
    assert get_payable_balances_by_slug(scenario.account) == dict.fromkeys(sorted(slugs), balances)


def test_deleted_customer_leaves_no_personal_data(workers, scenario):
    account = scenario.account
    parameters = {"customer_id": "acct-1", "coupon": scenario.mina.coupon}
    create_conversion = build_task(
        scenario,
        "create_conversion_with_ip",
        amount="20",
        ip="203.0.113.7",
        **parameters,
    )

    for _ in range(ROUNDS):
        scenario.create_conversion("20", customer_id="acct-1")

        results = workers.run(
            create_conversion,
            build_task(scenario, "delete_customer", customer_id="acct-1"),
            create_conversion,
            create_conversion,
        )

        assert results == ["done"] * PROCESSES
        deleted = account.customers.exclude(deleted_at=None)
        conversions = account.conversions.filter(customer__in=deleted)
        assert conversions.exclude(ip=None).count() == 0
        assert conversions.exclude(user_agent=None).count() == 0


def test_grants_bonus_once(workers, scenario):
    account = scenario.account
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.create_bonus(goal="1", value="10", title="Low")
    scenario.create_bonus(goal="2", value="50", title="High")
    disapproved = []
    for affiliate in (
        scenario.mina,
        scenario.create_enrolled_affiliate("Odette", "Varga"),
    ):
        scenario.create_conversion("200", affiliate=affiliate)
        disapproved.append(
            scenario.get_commission(scenario.create_conversion("200", affiliate=affiliate)).pk
        )
    for commission in disapproved:
        disapprove_commission(account, commission_id=commission, at=CONVERSION_CREATED_AT)
    grant = build_task(scenario, "grant_bonuses")

    results = workers.run(
        grant,
        build_task(scenario, "approve_commissions", commissions=disapproved),
        grant,
        grant,
    )

    granted = account.commissions.filter(kind="bonus").order_by("affiliate")
    assert granted.count() == 2
    approvals, names = results.pop(1), granted.values_list("name", flat=True)
    assert approvals == ["done"] * 2
    returned = chain.from_iterable(result for result in results if result != "done")
    assert sorted(returned) == sorted(names)
    assert grant_bonuses(account, at=APRIL).granted == []
    assert not account.commissions.filter(status="pending").exists()
    for commission in disapproved:
        assert (
            approve_commission(account, commission_id=commission, at=CONVERSION_CREATED_AT).status
            == "approved"
        )


def test_ends_a_bonus_while_it_is_granted(workers, scenario):
    """It is granted and stays, or it is deleted and not granted."""
    account = scenario.account
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.create_conversion("200")

    for number in range(ROUNDS):
        bonus = scenario.create_bonus(goal=number + 1, value="10", period="all_time")
        scenario.create_conversion("200")
        grant = build_task(scenario, "grant_bonuses")
        end = build_task(scenario, "end_bonus", bonus_id=bonus.pk)

        granted, ended, *others = workers.run(grant, end, grant, grant)

        assert ended == "done"
        commissions = account.commissions.filter(bonus=bonus.pk)
        is_granted = commissions.exists()
        names = [name for each in (granted, *others) if each != "done" for name in each]
        assert names == ["Goal"] * is_granted, (ended, names)
        assert account.bonuses.filter(pk=bonus.pk).exists() == is_granted
        assert_ledger_consistent(account)
