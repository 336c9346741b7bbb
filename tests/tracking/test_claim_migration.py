"""The migration that marks what pages reported before claims existed."""

from importlib import import_module

import pytest
from django.apps import apps

from payouts.services.commissions import approve_commission
from tests.conftest import NOW
from tracking.attribution import (
    BROWSER_CONVERSION_ORDER,
    BROWSER_CUSTOMER_ORDER,
    TrackingParameters,
)
from tracking.claims import Trust
from tracking.services.clicks import Visit
from tracking.services.customers import CustomerData, create_customer
from tracking.services.visitors import record_visit


@pytest.fixture
def vid(account, scenario):
    visit = Visit(parameters=TrackingParameters(referral_code=scenario.mina.code))
    recorded = record_visit(account, visit=visit, previous_tracking_id=None, at=NOW)
    return recorded.tracking_id


def report(scenario, vid, external_id, customer_id=None):
    """A conversion as a page reports it."""
    return scenario.create_conversion(
        parameters=TrackingParameters(tracking_id=vid, customer_id=customer_id),
        external_id=external_id,
        candidate_order=BROWSER_CONVERSION_ORDER,
        trust=Trust.CLAIM,
        is_browser_sale=True,
        at=NOW,
    )


def list_state(account):
    conversions = account.conversions.order_by("id")
    customers = account.customers.order_by("customer_id")
    return (
        list(conversions.values_list("external_id", "claim_status")),
        list(customers.values_list("customer_id", "is_confirmed")),
    )


def test_marks_what_pages_reported(account, scenario, vid):
    report(scenario, vid, "open", customer_id="acct-open")
    approved = report(scenario, vid, "approved", customer_id="acct-approved")
    commission = scenario.get_commission(approved)
    approve_commission(account, commission_id=commission.pk, at=NOW)
    scenario.create_conversion("10", external_id="fact", customer_id="acct-fact")
    report(scenario, vid, "of a fact", customer_id="acct-fact")
    for customer_id in ("acct-page", "acct-relied-on"):
        data = CustomerData(
            customer_id=customer_id,
            parameters=TrackingParameters(tracking_id=vid),
            order=BROWSER_CUSTOMER_ORDER,
            trust=Trust.CLAIM,
        )
        create_customer(account, data=data, at=NOW)
    scenario.create_customer("acct-key")
    scenario.create_conversion("10", customer_id="acct-relied-on", external_id="later")
    expected = list_state(account)
    assert expected == (
        [
            ("open", "open"),
            ("approved", "reviewed"),
            ("fact", None),
            ("of a fact", "open"),
            ("later", None),
        ],
        [
            ("acct-approved", True),
            ("acct-fact", True),
            ("acct-key", True),
            ("acct-open", False),
            ("acct-page", False),
            ("acct-relied-on", True),
        ],
    )
    account.conversions.update(claim_status=None)
    account.customers.update(is_confirmed=True)

    import_module("tracking.migrations.0003_claim_indexes").mark_claims(apps, None)

    assert list_state(account) == expected
