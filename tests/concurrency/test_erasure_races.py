"""People who are erased while other requests write about them: docs/privacy.md.

Commits are real: each test creates its own account and does not delete it.
"""

import pytest

from payouts.services.erasure import erase_again
from payouts.services.explanation import explain_conversion
from tests.concurrency.affiliate_tasks import AT
from tests.ledger_checks import snapshot_account

pytestmark = pytest.mark.integration

ROUNDS = 5
MARK = "zzperson"


def test_leaves_nothing_of_an_affiliate(workers, scenario):
    account = scenario.account
    for number in range(ROUNDS):
        slug = scenario.create_enrolled_affiliate(f"{MARK}{number}", "x").slug
        common = {"account": account.slug, "affiliate_id": slug}

        results = workers.run(
            {"task": "erase_person", "account": account.slug, "identifier": slug},
            {"task": "rename_affiliate", "lastname": f"{MARK}2"} | common,
            {"task": "create_note", "text": MARK} | common,
            {"task": "set_payout_method", "text": MARK} | common,
        )

        assert results[0] == "done"
        assert set(results[1:]) <= {"done", "AffiliateNotFound"}
    assert account.affiliates.filter(firstname="Erased").count() == ROUNDS
    assert MARK not in str(snapshot_account(account)).casefold()


def test_leaves_no_address_of_an_affiliate(workers, scenario):
    account = scenario.account
    for number in range(ROUNDS):
        slug = scenario.create_enrolled_affiliate(f"{MARK}{number}", "x").slug
        sign_in = {"task": "record_address", "account": account.slug, "affiliate_id": slug}

        results = workers.run(
            {"task": "erase_person", "account": account.slug, "identifier": slug},
            *(sign_in | {"address": f"192.88.99.{n}"} for n in (1, 2, 3)),
        )

        assert results[0] == "done"
        assert set(results[1:]) <= {"done", "AffiliateNotFound"}
        assert not account.portal_addresses.exists()


def test_sales_of_the_same_moment_are_erased_by_prune(workers, scenario):
    account = scenario.account
    for number in range(ROUNDS):
        affiliate = scenario.create_enrolled_affiliate(f"{MARK}{number}", "x")
        sale = {
            "task": "create_conversion",
            "account": account.slug,
            "amount": "10",
            "coupon": affiliate.coupon,
        }

        results = workers.run(
            {
                "task": "erase_person",
                "account": account.slug,
                "identifier": affiliate.slug,
            },
            *(sale | {"external_id": f"{number}-{n}"} for n in range(3)),
        )

        assert results[0] == "done"
        assert set(results[1:]) <= {"done", "AffiliateDeleted", "UnknownCoupon"}
    erase_again(account, at=AT, dry_run=False)
    assert MARK not in str(snapshot_account(account)).casefold()
    for pk in account.conversions.values_list("pk", flat=True):
        assert explain_conversion(account, conversion_id=pk).differences == []


def test_leaves_nothing_of_a_customer(workers, scenario):
    """Who buys after the erasure is a new customer."""
    account = scenario.account
    erased = []
    for number in range(ROUNDS):
        customer = scenario.create_customer(f"{number}@{MARK}.example")
        erased.append(customer.pk)
        sale = {
            "task": "create_conversion",
            "account": account.slug,
            "amount": "10",
            "coupon": scenario.mina.coupon,
            "customer_id": customer.customer_id,
        }

        results = workers.run(
            {
                "task": "erase_person",
                "account": account.slug,
                "identifier": customer.public_id,
            },
            *(sale | {"external_id": f"{n}@{MARK}{number}"} for n in range(3)),
        )

        assert results == ["done"] * 4
    customers = account.customers.filter(pk__in=erased)
    assert set(customers.values_list("customer_id", flat=True)) == {""}
    sales = account.conversions.filter(customer__in=erased)
    assert set(sales.values_list("external_id", flat=True)) <= {None}
    assert account.conversions.count() == 3 * ROUNDS
