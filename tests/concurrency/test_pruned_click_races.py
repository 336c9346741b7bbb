"""A call names a click that `prune` deletes before the call commits.

On SQLite a transaction sees no deletion of another one.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client

from accounts.models.accounts import Account
from tests.concurrency.server import make_key
from tests.conftest import NOW, ApiClient
from tracking.attribution import TrackingParameters
from tracking.services.click_retention import delete_expired_clicks
from tracking.services.clicks import Visit
from tracking.services.visitors import record_visit

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(connection.vendor == "sqlite", reason="one writer at a time"),
]
ANY_AGE = "override_max_cookie_time=true"


@pytest.fixture
def vid(scenario, time_machine):
    """The tracking id of a click that is older than the account keeps clicks."""
    time_machine.move_to(NOW, tick=False)
    at = NOW - timedelta(days=scenario.account.click_days + 1)
    parameters = TrackingParameters(referral_code=scenario.mina.code)
    visit = Visit(parameters=parameters, user_agent="Lamps/1.0")
    recorded = record_visit(scenario.account, visit=visit, previous_tracking_id=None, at=at)
    return recorded.tracking_id


def prune(account):
    """Remove the old clicks, by a connection of its own."""

    def run():
        try:
            at = NOW
            found = Account.objects.get(pk=account.pk)
            return delete_expired_clicks(found, at=at, dry_run=False)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(run).result()


class Pruning:
    """Prunes once, just after the first row of a table was inserted."""

    def __init__(self, account, table):
        self.account, self.start = account, f'INSERT INTO "{table}"'
        self.removed = None

    def __call__(self, execute, sql, *arguments):
        result = execute(sql, *arguments)
        if sql.startswith(self.start) and self.removed is None:
            self.removed = prune(self.account)
        return result


def test_a_click_of_a_page_loses_its_tracking_id(scenario, vid):
    """The link is unknown, so that the call names the click of the visitor."""
    account = scenario.account
    body = {"account": account.slug, "referral_code": "unknown", "vid": vid}
    pruning = Pruning(account, "tracking_visitor")
    with connection.execute_wrapper(pruning):
        response = Client(raise_request_exception=False).post(
            "/track/click/", body, content_type="application/json"
        )

    assert pruning.removed == 1
    assert (response.status_code, len(response.json()["vid"])) == (200, 32)
    assert not account.visitors.exists()
    assert not account.clicks.exists()


@pytest.mark.parametrize("has_id", [True, False])
def test_a_sale_that_names_it_finds_no_click(scenario, vid, has_id):
    account = scenario.account
    click = account.clicks.get().public_id
    client = ApiClient(make_key(account), Client(raise_request_exception=False))
    client.get("/programs/")  # records the last use of the key now
    body = {"click_id": str(click), "amount": 10}
    pruning = Pruning(account, "tracking_conversion")
    with connection.execute_wrapper(pruning):
        path = f"/conversions/?{ANY_AGE}"
        response = client.post(path, body | ({"external_id": "o-1"} if has_id else {}))

    assert pruning.removed == 1
    assert response.status_code == 400, response.content
    assert not account.conversions.exists()


def test_a_customer_that_names_it_finds_no_click(scenario, vid):
    account = scenario.account
    click = account.clicks.get().public_id
    client = ApiClient(make_key(account), Client(raise_request_exception=False))
    client.get("/programs/")
    body = {"click_id": str(click), "customer_id": "c"}
    pruning = Pruning(account, "tracking_customer")
    with connection.execute_wrapper(pruning):
        response = client.post(f"/customers/?{ANY_AGE}", body)

    assert pruning.removed == 1
    assert response.status_code == 400, response.content
    assert not account.customers.exists()
