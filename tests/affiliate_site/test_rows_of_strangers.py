"""Rows whose keys a stranger invents: a client over its limit leaves none, and a client
within it leaves few. Each door without a key is asked with names made up."""

import json

import pytest
from django.apps import apps
from django.test import Client

from accounts.models.api_keys import RateWindow
from affiliate_site.throttling import (
    BROWSER_CALLS,
    NETWORKS_PER_48,
    SIGN_INS,
    count_sign_in_attempt,
)
from tests.conftest import NOW

pytestmark = pytest.mark.usefixtures("shared_scenario")

CALLS = 150
SIGN_IN_ROWS = 1 + 20  # one of the client, one of each name within its limit


@pytest.fixture(autouse=True)
def at_one_moment(time_machine):
    time_machine.move_to(NOW, tick=False)


def post_json(client, path, body):
    return client.post(path, json.dumps(body), content_type="application/json")


def sign_in(client, account, name):
    return client.post("/admin/login/", {"username": f"{name}@x.test", "password": "x"})


def click(client, account, name):
    body = {"account": account.slug, "referral_code": name, "landing_page": name}
    return post_json(client, "/track/click/", body | {"vid": name})


def click_somewhere(client, account, name):
    return post_json(client, "/track/click/", {"account": name, "referral_code": name})


def report_sale(client, account, name):
    body = {"account": account.slug, "external_id": name, "amount": 5, "vid": name}
    return post_json(client, "/track/conversion/", body)


def report_customer(client, account, name):
    body = {"account": account.slug, "customer_id": name, "vid": name}
    return post_json(client, "/track/customer/", body)


def follow_link(client, account, name):
    return client.get(f"/r/{account.slug}/{name}/", headers={"User-Agent": "Firefox"})


def use_wrong_key(client, account, name):
    headers = {"X-Api-Key": name, "Idempotency-Key": name}
    return client.post("/1.6/conversions/", headers=headers)


def use_wrong_postback(client, account, name):
    return client.get(f"/1.7/pb/con/c/?api_key={name}&external_id={name}")


def use_wrong_connection(client, account, name):
    return post_json(client, f"/in/{name}/", {"id": name})


def accept_invitation(client, account, name):
    return client.post("/admin/invitation/", {"token": name, "password": name})


DOORS = {  # the rows that 150 calls with invented names may leave
    sign_in: SIGN_IN_ROWS,
    click: 3,  # the client, the failures by page
    click_somewhere: 1,
    report_sale: 2,
    report_customer: 2,
    follow_link: 1,
    use_wrong_key: 1,
    use_wrong_postback: 1,
    use_wrong_connection: 1,
    accept_invitation: 2,  # the client, and its invitations together
}


def count_rows():
    return sum(model._base_manager.count() for model in apps.get_models())


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_invented_names_leave_few_rows(scenario, door):
    client = Client(REMOTE_ADDR="203.0.113.9", raise_request_exception=False)
    before = count_rows()
    for number in range(CALLS):
        response = door(client, scenario.account, f"nobody-{number}")
        assert response.wsgi_request.resolver_match, "the door has another address"
    assert count_rows() - before <= DOORS[door]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_client_over_its_limit_leaves_none(scenario, door):
    client = Client(REMOTE_ADDR="203.0.113.9", raise_request_exception=False)
    for number in range(CALLS):
        door(client, scenario.account, f"nobody-{number}")
    before = count_rows()
    for number in range(30):
        door(client, scenario.account, f"other-{number}")
    assert count_rows() == before


def test_a_network_names_few_counters(rf):
    for number in range(1500):
        address = f"2001:db8:1:{number:x}::1"
        request = rf.post("/", REMOTE_ADDR=address)
        count_sign_in_attempt(request, f"{number}@x.test")
    most = SIGN_INS.per_48.max_requests
    # Those of networks, the /48, and two for each name within the limit of the /48.
    assert RateWindow.objects.count() <= NETWORKS_PER_48 + 1 + 2 * most
    assert BROWSER_CALLS.per_48.max_requests > most
