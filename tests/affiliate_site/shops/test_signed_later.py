"""What a shop said without a signature stays a claim, also when it signs later."""

import json

import pytest

from affiliate_site.shops.base import parse_body
from affiliate_site.shops.kinds import SHOPS
from affiliate_site.shops.processing import process_event
from tests.affiliate_site.shops.test_other import (
    build_refund,
    build_sale,
    connect,
    deliver,
)
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import CONVERSION_CREATED_AT as AT
from tests.shop_inbox import list_sales
from tests.tracking.services.test_shop_mappings import MAPPING
from tracking.claims import ClaimStatus
from tracking.services.inbox import process_again, store_event

pytestmark = pytest.mark.usefixtures("shared_scenario")
ADDRESS = MAPPING | {"signature": {"kind": "address"}}
APPROVED = [("1001", "100", [("10", "approved")])]
PENDING = [("1001", "100", [("10", "pending")])]


@pytest.fixture
def connection(scenario):
    scenario.program.update_row(auto_approve_commissions=True)
    yield connect(scenario, ADDRESS, stores_email=True)
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def click(scenario):
    return str(scenario.create_click().public_id)


def switch(connection, mapping=MAPPING):
    connection.update_row(settings={**connection.settings, "other": mapping})


def store(connection, body):
    raw = json.dumps(body).encode()
    shop = SHOPS[connection.kind]
    envelope = shop.identify(connection, {}, parse_body(raw), raw, at=AT)
    return store_event(connection, envelope, at=AT)


def test_an_event_that_waits_is_processed_by_how_it_was_proven(connection, click):
    claimed = store(connection, build_sale(ref=click))
    switch(connection)
    signed = store(connection, build_sale(order="1002", ref=click))
    switch(connection, ADDRESS)
    for event in (claimed, signed):
        event.connection = connection
        process_event(event, at=AT)

    (claim, fact) = connection.account.conversions.order_by("external_id")
    assert (claim.claim_status, fact.claim_status) == (ClaimStatus.OPEN, None)
    assert list_sales(connection.account) == [
        *PENDING,
        ("1002", "100", [("10", "approved")]),
    ]


def test_a_claim_that_is_processed_again_is_one(connection, click):
    event = deliver(connection, build_sale(ref="nobody"))
    body = json.loads(event.body)
    body["data"]["ref"] = click
    event.update_row(body=json.dumps(body))
    switch(connection)
    process_again(event, at=AT)
    event.connection = connection
    process_event(event, at=AT)

    assert list_sales(connection.account) == PENDING
    assert connection.account.conversions.get().claim_status == ClaimStatus.OPEN


def test_a_signed_sale_confirms_the_claim_whatever_that_says(connection, click):
    """Also of a later time, or with refunds: who knows the address sends any."""
    deliver(connection, build_sale(hours=9, ref=click, net=90000))
    deliver(connection, build_refund("r1", 2380, 9))
    switch(connection)

    deliver(connection, build_sale())

    assert list_sales(connection.account) == APPROVED
    assert connection.account.conversions.get().claim_status is None
    deliver(connection, build_refund("r2", 2380, 1))
    assert list_sales(connection.account)[0][1] == "80"


def test_a_signed_sale_counts_if_its_claim_was_refused(connection, click):
    connection.account.require_signatures = True
    connection.account.save()
    deliver(connection, build_sale(ref=click))
    assert list_sales(connection.account) == []
    switch(connection)

    deliver(connection, build_sale(hours=1, ref=click))

    assert list_sales(connection.account) == APPROVED


def test_a_claim_changes_nothing_of_a_signed_sale(connection, click):
    switch(connection)
    deliver(connection, build_sale(ref=click))
    switch(connection, ADDRESS)
    event = deliver(connection, build_refund("r1", 11900, 1))
    assert event.result[0].startswith("The sale is confirmed, and the address")
    event = deliver(connection, build_sale(hours=2, net=90000, customer={"id": "x"}))
    assert event.result[0].startswith("The sale is confirmed, and the address")
    assert connection.account.shop_orders.get().customer_key == "c-7"
    switch(connection)

    deliver(connection, build_refund("r2", 2380, 3))

    assert list_sales(connection.account) == [("1001", "80", [("8", "approved")])]


def test_a_claim_refunds_nothing_before_its_signed_sale_arrives(connection, click):
    deliver(connection, build_refund("r1", 11900, 1))
    switch(connection)
    deliver(connection, build_sale(ref=click))
    assert list_sales(connection.account) == APPROVED


def test_a_claim_refers_no_customer_of_signed_sales(connection, click):
    deliver(connection, build_sale(ref=click, net=0, gross=0, items=[]))
    assert connection.account.shop_customers.get().facts["referral"]["claimed"]
    switch(connection)

    event = deliver(connection, build_sale(hours=1, order="1002"))

    assert event.result == ["Nobody referred this customer."]
    deliver(connection, build_sale(hours=2, order="1003", ref=click))
    (sale,) = list_sales(connection.account)[:1]
    assert sale[0] in ("1002", "1003")
    assert "claimed" not in connection.account.shop_customers.get().facts["referral"]
