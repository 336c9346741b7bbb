"""The migrations that mark what pages reported before columns said so."""

from datetime import timedelta
from decimal import Decimal
from importlib import import_module

import pytest
from django.apps import apps

from payouts.services.commissions import approve_commission
from payouts.services.conversion_updates import add_commissions, update_conversion
from tests.conftest import NOW
from tests.program_scenario import build_line_items
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


def report(scenario, vid, external_id, customer_id=None, amount="10"):
    """A conversion as a page reports it."""
    return scenario.create_conversion(
        amount,
        parameters=TrackingParameters(tracking_id=vid, customer_id=customer_id),
        external_id=external_id,
        order=BROWSER_CONVERSION_ORDER,
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


def list_columns(account):
    conversions = account.conversions.order_by("id")
    columns = ("external_id", "is_amount_claimed", "is_contested")
    customers = account.customers.order_by("customer_id")
    commissions = account.commissions.order_by("id")
    return (
        list(conversions.values_list(*columns)),
        list(customers.values_list("customer_id", "is_contested")),
        list(commissions.values_list("conversion__external_id", "sub_amount"))
        + list(commissions.filter(is_extra=True).values_list("sub_amount", flat=True)),
    )


def add_extra(account, conversion, amount, minutes):
    add_commissions(
        account,
        conversion_id=conversion.pk,
        line_items=build_line_items(amount),
        at=NOW + timedelta(minutes=minutes),
    )


def test_fills_the_columns_of_claims(account, scenario, vid, monkeypatch):
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    visit = Visit(parameters=TrackingParameters(referral_code=odette.code))
    recorded = record_visit(account, visit=visit, previous_tracking_id=None, at=NOW)
    report(scenario, vid, "claim")
    changed = report(scenario, vid, "changed")
    update_conversion(
        account,
        conversion_id=changed.pk,
        changes={"amount": Decimal(11)},
        should_recalculate=False,
        at=NOW,
    )
    for visitor in (vid, recorded.tracking_id):
        report(scenario, visitor, "contested")
        report(scenario, visitor, f"of {visitor}", customer_id="acct-contested")
    confirmed = report(scenario, vid, "confirmed", customer_id="acct-confirmed")
    add_extra(account, confirmed, "21", minutes=1)
    later = NOW + timedelta(minutes=2)
    scenario.create_conversion("12", external_id="confirmed", at=later)
    add_extra(account, confirmed, "22", minutes=3)
    fact = scenario.create_conversion("13", external_id="fact", at=NOW)
    add_extra(account, fact, "23", minutes=1)
    expected = list_columns(account)
    assert [row[1:] for row in expected[0]] == [
        (True, False),
        (False, False),
        (True, True),
        (True, False),
        (True, False),
        (False, False),
        (False, False),
    ]
    assert [row[1] for row in expected[1]] == [False, True]
    assert expected[2][-3:] == [21, 22, 23]
    account.conversions.update(is_amount_claimed=False, is_contested=False)
    account.customers.update(is_contested=False)
    account.commissions.update(is_extra=False)

    for name, fill in (
        ("tracking.migrations.0014_fill_claim_columns", "fill_columns"),
        ("payouts.migrations.0010_mark_extra_commissions", "mark_extra_commissions"),
    ):
        migration = import_module(name)
        monkeypatch.setattr(migration, "BATCH_SIZE", 2)
        getattr(migration, fill)(apps, None)

    assert list_columns(account) == expected
