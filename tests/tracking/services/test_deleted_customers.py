"""Deleted customers stay erased despite concurrent operations."""

import pytest

from tests.program_scenario import CONVERSION_CREATED_AT
from tracking.attribution import REST_CONVERSION_ORDER, TrackingParameters
from tracking.errors import CustomerNotFound
from tracking.models.customers import CustomerStatus
from tracking.services.attribution import attribute, verify_attribution_record
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.customers import (
    delete_customer,
    get_or_create_customer,
    update_customer,
)

pytestmark = pytest.mark.usefixtures("shared_scenario", "consistent_ledger")

SECRET = "alice@example.org"


def get_anonymized_customer(account):
    return account.customers.get()


def test_does_not_update_a_customer_deleted_concurrently(account, scenario):
    stale = scenario.create_customer("acct-1")
    delete_customer(account, public_id=stale.public_id, at=CONVERSION_CREATED_AT)

    with pytest.raises(CustomerNotFound):
        update_customer(
            account,
            customer=stale,
            customer_id=SECRET,
            meta_data={"name": "Alice"},
            at=CONVERSION_CREATED_AT,
        )

    assert get_anonymized_customer(account).customer_id == ""
    assert get_anonymized_customer(account).meta_data == {}
    assert not account.audit_log.filter(kind="customer.updated").exists()


def test_does_not_set_a_deleted_customer_to_paying(account, scenario):
    stale = scenario.create_customer("acct-1", status="lead")
    attribution = attribute(
        account,
        parameters=TrackingParameters(customer_id="acct-1"),
        order=REST_CONVERSION_ORDER,
        at=CONVERSION_CREATED_AT,
        ignore_cookie_age=False,
    )
    delete_customer(account, public_id=stale.public_id, at=CONVERSION_CREATED_AT)

    with pytest.raises(ConcurrentUpdate):
        get_or_create_customer(account, attribution, customer_id="acct-1", at=CONVERSION_CREATED_AT)

    assert get_anonymized_customer(account).status == CustomerStatus.LEAD


def test_repeats_the_attribution_if_the_customer_is_created_concurrently(
    account, scenario, monkeypatch
):
    rival = scenario.create_enrolled_affiliate("Odette", "Varga")
    parameters = TrackingParameters(coupon=scenario.mina.coupon, customer_id="acct-1")
    options = {
        "order": REST_CONVERSION_ORDER,
        "at": CONVERSION_CREATED_AT,
        "ignore_cookie_age": False,
    }
    outdated = attribute(account, parameters=parameters, **options)
    scenario.create_customer("acct-1", affiliate=rival)
    winners = []

    def first_look_is_outdated(account, **options):
        attribution = attribute(account, **options) if winners else outdated
        winners.append(attribution.affiliate.slug)
        return attribution

    monkeypatch.setattr("payouts.services.conversion_creation.attribute", first_look_is_outdated)

    conversion = scenario.create_conversion(customer_id="acct-1")

    assert winners == ["minakessler", "odettevarga"]
    assert conversion.affiliate.slug == "odettevarga"
    assert conversion.tracking_source == "customer"


def test_attribution_records_do_not_contain_the_customer_id(account, scenario):
    scenario.create_conversion(customer_id=SECRET)
    scenario.create_conversion(customer_id=SECRET)
    customer = account.customers.get()

    delete_customer(account, public_id=customer.public_id, at=CONVERSION_CREATED_AT)

    records = account.attribution_records.order_by("pk")
    texts = [f"{record.inputs} {record.outcome}" for record in records]
    assert len(texts) == 2
    assert not any(SECRET in text for text in texts)
    assert customer.public_id in texts[1]
    assert all(verify_attribution_record(record) for record in records)


def test_erases_visitor_data_of_its_conversions(account, scenario):
    scenario.create_conversion(customer_id="acct-1", user_agent="Mozilla/5.0", ip="203.0.113.7")

    delete_customer(account, public_id=account.customers.get().public_id, at=CONVERSION_CREATED_AT)

    conversion = account.conversions.get()
    assert (conversion.user_agent, conversion.ip) == (None, None)
