"""A sale whose locks are not obtained in time is not refused: its sender tries again.

Only a wait for the same `external_id` is answered as a concurrent attempt
(docs/api-contract.md, section 2.2.5). SQLite cannot say what a writer waits for.
"""

import json
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.test import Client

from tests.concurrency.server import make_key
from tests.conftest import ApiClient
from tests.database_locks import lock_elsewhere, set_lock_timeout
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import ProgramScenario

TOO_MANY_ATTEMPTS = "To many concurrent attempts to create conversion with id 'order-1'"
LOCKS = {
    "ledger": "UPDATE payouts_ledgeraccount SET kind = kind WHERE account_id = %s",
    "customer": "UPDATE tracking_customer SET status = status WHERE account_id = %s",
    "same id": ("UPDATE tracking_conversion SET external_id = 'order-1' WHERE account_id = %s"),
    "table": "LOCK TABLE tracking_conversion IN SHARE MODE",
}


@pytest.fixture
def scenario(committed_db):
    """A program with a conversion of a customer, without an `external_id`."""
    account = AccountFactory(slug=f"race-{uuid4().hex[:12]}", plan__name="enterprise")
    scenario = ProgramScenario(account)
    scenario.create_conversion("200", customer_id="acct-1")
    yield scenario
    assert_ledger_consistent(account)


@pytest.fixture
def senders(scenario):
    """Ways to report the conversion `order-1`."""
    web = Client(raise_request_exception=False)
    client = ApiClient(make_key(scenario.account), web)
    client.get("/programs/")  # records the last use of the key now
    sale = {"coupon": scenario.mina.coupon, "external_id": "order-1", "amount": "20"}
    sale["customer_id"] = "acct-1"
    page_call = sale | {"account": scenario.account.slug, "coupons": [sale["coupon"]]}
    return {
        "api": lambda: client.post("/conversions/", sale),
        "postback": lambda: client.post("/pb/con/c/", sale),
        "page": lambda: web.post(
            "/track/conversion/", json.dumps(page_call), content_type="text/plain"
        ),
    }


def send_while_locked(scenario, send, lock):
    """Send while another transaction holds the rows of the account."""
    if lock == "table" and connection.vendor == "sqlite":
        pytest.skip("SQLite has no locks of tables")
    parameters = [scenario.account.pk] if "%s" in LOCKS[lock] else []
    with (
        lock_elsewhere(LOCKS[lock], parameters),
        set_lock_timeout(milliseconds=50),
    ):
        return send()


@pytest.mark.parametrize("sender", ["api", "postback", "page"])
@pytest.mark.parametrize("lock", ["ledger", "customer", "table"])
def test_another_lock_is_503_and_a_retry_is_stored(scenario, senders, lock, sender, caplog):
    response = send_while_locked(scenario, senders[sender], lock)

    assert response.status_code == 503, response.content
    failures = [
        type(record.msg["exc_info"]) for record in caplog.records if record.levelname == "ERROR"
    ]
    assert failures == [OperationalError]
    assert not scenario.account.conversion_attempts.exists()
    assert senders[sender]().status_code in (200, 204)
    assert scenario.account.conversions.filter(external_id="order-1").exists()


@pytest.mark.parametrize("sender", ["api", "postback", "page"])
def test_the_same_external_id_is_a_concurrent_attempt(scenario, senders, sender):
    if connection.vendor == "sqlite":
        pytest.skip("SQLite cannot say what a writer waits for")

    response = send_while_locked(scenario, senders[sender], "same id")

    if sender == "page":
        assert response.status_code == 204
        failed = scenario.account.failed_page_calls.get()
        assert failed.reason == "too_many_conversion_attempts"
    else:
        assert response.status_code == 400
        (error,) = response.json()["errors"]
        assert error["message"] == TOO_MANY_ATTEMPTS
    assert not scenario.account.conversion_attempts.exists()
    assert senders[sender]().status_code in (200, 204)
    assert scenario.account.conversions.filter(external_id="order-1").exists()
