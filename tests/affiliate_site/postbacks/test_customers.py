"""Customers by postback: `cus/c/` and `cus/u/` (docs/api-contract.md, section 4)."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.services.accounts import lock_account
from tests.affiliate_site.responses import (
    get_error_message,
    get_json,
    list_field_errors,
    snapshot_account_data,
)
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario, mark_deleted
from tracking.services import customers

pytestmark = pytest.mark.usefixtures("shared_scenario")

MISSING = "Missing mandatory parameter(s)"
LOCKED = "Advertiser account locked"
# cus/c.


def test_creates_customer_with_all_fields(send_postback, api, scenario):
    click = scenario.create_click(at=timezone.now(), meta_data={"subid1": "newsletter-12"})
    payload = {
        "customer_id": "acct-1",
        "click_id": str(click.public_id),
        "status": "trial",
        "meta_data": {"plan": "pro"},
        "user_agent": "Harbor/1",
        "ip": "192.0.2.7",
    }

    customer = get_json(send_postback("cus/c/", payload))

    assert customer == {
        "id": customer["id"],
        "customer_id": "acct-1",
        "status": "trial",
        "created_at": customer["created_at"],
        "click": {
            "created_at": customer["click"]["created_at"],
            "referrer": None,
            "landing_page": None,
        },
        "program": scenario.reference,
        "affiliate": scenario.mina.reference,
        "affiliate_meta_data": {"subid1": "newsletter-12"},
        "meta_data": {"plan": "pro"},
        "warnings": None,
    }
    assert get_json(api.get(f"/customers/{customer['id']}/")) == customer


def test_accepts_expired_click_with_override(send_postback, scenario):
    payload = {"customer_id": "acct-1", "override_max_cookie_time": True}

    assert get_json(send_postback("cus/c/", payload | use_old_click(scenario)))["click"] is not None


def use_coupon(scenario):
    return {"coupon": scenario.mina.coupon}


def use_old_click(scenario):
    click = scenario.create_click(at=CONVERSION_CREATED_AT - timedelta(days=300))
    return {"click_id": str(click.public_id)}


def test_failure_does_not_delay_retries(send_postback, scenario):
    payload = {"customer_id": "acct-1", "external_id": "order-1"}

    get_error_message(send_postback("cus/c/", payload | {"coupon": "NOBODY"}))

    assert (
        get_json(send_postback("cus/c/", payload | use_coupon(scenario)))["customer_id"] == "acct-1"
    )


# cus/u.


def make_customer(scenario, status, *, canceled=False):
    """Create a customer with this status; a conversion makes it paying."""
    initial_status = "lead" if status == "paying" else status
    customer = scenario.create_customer("acct-1", status=initial_status)
    if status == "paying":
        scenario.create_conversion("10", customer_id="acct-1")
    if canceled:
        customers.cancel_customer(
            scenario.account, public_id=customer.public_id, at=CONVERSION_CREATED_AT
        )
    return customer


STATUSES = ["new", "trial", "lead", "paying"]


@pytest.mark.parametrize("canceled", [False, True], ids=["active", "canceled"])
@pytest.mark.parametrize("previous", STATUSES)
@pytest.mark.parametrize("sent", [*STATUSES, " canceled "])
def test_cancels_restores_or_keeps_the_status(
    send_postback, scenario, account, sent, previous, canceled
):
    make_customer(scenario, previous, canceled=canceled)
    before = snapshot_account_data(account)

    response = send_postback("cus/u/", {"customer_id": "acct-1", "status": sent, "meta_data": {}})

    if sent == " canceled ":
        assert get_json(response)["status"] == "canceled"
    elif canceled or sent == previous:
        assert get_json(response)["status"] == previous
    else:
        message = f"Customer status cannot change from '{previous}' to '{sent}'"
        assert list_field_errors(response) == [("status", message)]
    if not canceled and sent != " canceled ":
        assert snapshot_account_data(account) == before


def test_restores_initial_status_without_conversion(send_postback, api, scenario):
    conversion = scenario.create_conversion("10", customer_id="acct-1")
    customers.cancel_customer(
        scenario.account,
        public_id=conversion.customer.public_id,
        at=CONVERSION_CREATED_AT,
    )
    api.delete(f"/conversions/{conversion.pk}/")

    customer = get_json(send_postback("cus/u/", {"customer_id": "acct-1", "status": "paying"}))

    assert customer["status"] == "new"  # created by the conversion


@pytest.mark.parametrize("canceled", [False, True], ids=["active", "canceled"])
@pytest.mark.parametrize("sent", ["odd", "Canceled", " "])
def test_rejects_invalid_status(send_postback, scenario, account, canceled, sent):
    make_customer(scenario, "trial", canceled=canceled)
    before = snapshot_account_data(account)
    payload = {"customer_id": "acct-1", "status": sent, "meta_data": {"a": "b"}}

    response = send_postback("cus/u/", payload)

    valid = "'new', 'trial', 'lead', 'paying', 'canceled'"
    message = f"Invalid status '{sent.strip()}'. Valid are {valid}"
    assert list_field_errors(response) == [("status", message)]
    assert snapshot_account_data(account) == before


@pytest.mark.parametrize("sent", ["odd", "paying"])
def test_returns_message_template(send_postback, scenario, sent):
    make_customer(scenario, "trial")

    response = send_postback("cus/u/", {"customer_id": "acct-1", "status": sent})

    template = response.json()["errors"][0]["message_raw"]
    assert sent not in template
    assert "{{ " in template


def test_replaces_meta_data(send_postback, scenario):
    created = make_customer(scenario, "trial")
    created.update_row(meta_data={"plan": "basic", "a": "b"})
    payload = {"customer_id": "acct-1", "meta_data": {"c": ""}, "status": "canceled"}

    customer = get_json(send_postback("cus/u/", payload))

    assert (customer["meta_data"], customer["status"]) == ({"c": ""}, "canceled")


def test_changes_nothing_if_meta_data_is_invalid(send_postback, scenario, account):
    make_customer(scenario, "trial")
    before = snapshot_account_data(account)
    payload = {"customer_id": "acct-1", "status": "canceled", "meta_data": {"a&b": "c"}}

    assert [path for path, _ in list_field_errors(send_postback("cus/u/", payload))] == [
        "meta_data[a&b]"
    ]
    assert snapshot_account_data(account) == before


def test_changes_nothing_without_changes(send_postback, scenario, account):
    make_customer(scenario, "trial")
    before = snapshot_account_data(account)

    customer = get_json(send_postback("cus/u/", {"customer_id": "acct-1", "coupon": "NOBODY"}))

    assert customer["status"] == "trial"
    assert snapshot_account_data(account) == before


@pytest.mark.parametrize("name", ["unknown", "deleted", "other account", "spaces"])
def test_customer_not_found(send_postback, scenario, account, other_account, name):
    created = make_customer(scenario, "trial")
    ProgramScenario(other_account, prefix="zz-marker-").create_customer("theirs")
    if name == "deleted":
        customers.delete_customer(account, public_id=created.public_id, at=CONVERSION_CREATED_AT)
    customer_ids = {
        "deleted": "acct-1",
        "other account": "theirs",
        "spaces": " acct-1 ",
    }

    response = send_postback(
        "cus/u/", {"customer_id": customer_ids.get(name, "acct-2"), "status": "odd"}
    )

    assert get_error_message(response, 404) == "Customer not found"


@pytest.mark.parametrize("payload", [{}, {"customer_id": " "}, {"status": "odd"}])
def test_update_requires_customer_id(send_postback, scenario, payload):
    assert get_error_message(send_postback("cus/u/", payload)) == MISSING


def test_updates_in_archived_program_of_deleted_affiliate(send_postback, scenario):
    make_customer(scenario, "trial")
    scenario.archive()
    mark_deleted(scenario.mina.affiliate)

    customer = get_json(send_postback("cus/u/", {"customer_id": "acct-1", "status": "canceled"}))

    assert customer["status"] == "canceled"


def test_rejects_updates_of_locked_account(send_postback, scenario, account):
    make_customer(scenario, "trial")
    lock_account(scenario.account, at=CONVERSION_CREATED_AT)
    before = snapshot_account_data(account)

    response = send_postback("cus/u/", {"customer_id": "acct-1", "status": "canceled"})

    assert get_error_message(response) == LOCKED
    assert snapshot_account_data(account) == before
