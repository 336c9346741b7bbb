"""Signed calls at the moment when their customer is deleted."""

from datetime import UTC, datetime

import pytest

from accounts.services.api_keys import calculate_signature, create_signing_secret
from tests.concurrency.worker import PROCESSES
from tracking.claims import FORMER_CUSTOMER_ID

pytestmark = pytest.mark.integration

AT = datetime(2026, 3, 4, 12, tzinfo=UTC)
ROUNDS = 8
DONE = ["done"] * PROCESSES


def test_no_signed_call_gets_the_customer_of_a_deleted_one(workers, scenario):
    """Before the deletion it is a duplicate, then a claim; never another customer."""
    account = scenario.account
    secret = create_signing_secret(account, at=AT).secret
    mallory = scenario.create_enrolled_affiliate("Mallory", "Thorn")
    for number in range(ROUNDS):
        body = {"account": account.slug, "customer_id": f"acct-{number}"}
        lines = ("customer", body["customer_id"], "")
        signed = {"signature": calculate_signature(secret, lines)}
        honest = body | signed | {"coupons": [scenario.mina.coupon]}
        assert workers.run(*[honest | {"task": "sign_up"}] * PROCESSES) == DONE
        (first,) = account.customers.filter(customer_id=body["customer_id"])
        assert (first.is_confirmed, first.affiliate) == (True, scenario.mina.affiliate)
        stolen = body | signed | {"coupons": [mallory.coupon], "task": "sign_up"}

        results = workers.run(
            stolen, body | {"task": "delete_customer"}, *[stolen] * (PROCESSES - 2)
        )

        assert results == DONE
        again = account.customers.filter(customer_id=body["customer_id"])
        for customer in again:
            assert customer.affiliate == mallory.affiliate
            assert not customer.is_confirmed
            assert customer.warnings == [FORMER_CUSTOMER_ID]
        assert again.count() <= 1
