"""Unexpected IntegrityErrors stay server errors, never input errors."""

from decimal import Decimal

import pytest
from django.db import IntegrityError

from accounts.services.accounts import create_account
from payouts.calculation import LineItem
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.programs import ProgramSettings, create_program
from tests.program_scenario import CONVERSION_CREATED_AT, SECRET, ProgramScenario
from tracking.attribution import REST_CONVERSION_ORDER, TrackingParameters
from tracking.services.affiliates import PersonData, create_affiliate
from tracking.services.attribution import attribute
from tracking.services.concurrency import MAX_ATTEMPTS, ConcurrentUpdate
from tracking.services.customers import update_customer
from tracking.services.enrollments import (
    EnrollmentData,
    create_enrollment,
    update_enrollment,
)


@pytest.fixture
def scenario(account):
    return ProgramScenario(account)


def create_new_account(account, scenario):
    create_account(
        slug="new",
        name="New",
        plan="pro",
        uses_payouts=False,
        pending_as_null=False,
        at=CONVERSION_CREATED_AT,
    )


def create_other_program(account, scenario):
    settings = ProgramSettings(title="Other", currency="EUR")
    create_program(account, slug="other", settings=settings, at=CONVERSION_CREATED_AT)


def create_new_affiliate(account, scenario):
    create_affiliate(
        account,
        data=PersonData("Odette", "Varga"),
        password=SECRET,
        at=CONVERSION_CREATED_AT,
    )


def enroll_affiliate(account, scenario):
    person = PersonData("O", "V")
    affiliate = create_affiliate(account, data=person, password=SECRET, at=CONVERSION_CREATED_AT)
    data = EnrollmentData(affiliate_id=affiliate.slug)
    create_enrollment(account, program=scenario.program, data=data, at=CONVERSION_CREATED_AT)


def set_coupon(account, scenario):
    update_enrollment(
        account,
        program=scenario.program,
        affiliate_id="minakessler",
        changes={"coupon": "NEW"},
        at=CONVERSION_CREATED_AT,
    )


def change_meta_data(account, scenario):
    customer = scenario.create_customer("acct-1")
    update_customer(
        account,
        customer=customer,
        customer_id=None,
        meta_data={"a": "b"},
        at=CONVERSION_CREATED_AT,
    )


def change_customer_id(account, scenario):
    customer = scenario.create_customer("acct-1")
    update_customer(
        account,
        customer=customer,
        customer_id="acct-2",
        meta_data=None,
        at=CONVERSION_CREATED_AT,
    )


OPERATIONS = {
    create_new_account: "accounts.services.accounts",
    create_other_program: "payouts.services.programs",
    create_new_affiliate: "tracking.services.affiliates",
    enroll_affiliate: "tracking.services.enrollments",
    set_coupon: "tracking.services.enrollments",
    change_meta_data: "tracking.services.customers",
    change_customer_id: "tracking.services.customers",
}


@pytest.mark.parametrize(
    ("operation", "module"),
    OPERATIONS.items(),
    ids=[operation.__name__ for operation in OPERATIONS],
)
def test_raises_unexpected_integrity_error(account, scenario, monkeypatch, operation, module):
    def collide(account, kind, *subjects, **facts):
        if kind != "customer.created":
            raise IntegrityError("another constraint")

    for name in ("log_event", "record_change"):
        monkeypatch.setattr(f"{module}.{name}", collide, raising=False)

    with pytest.raises(IntegrityError, match="another constraint"):
        operation(account, scenario)


def test_stops_retrying_after_repeated_conflicts(account, scenario, monkeypatch):
    parameters = TrackingParameters(coupon=scenario.mina.coupon, customer_id="acct-1")
    outdated = attribute(
        account,
        parameters=parameters,
        order=REST_CONVERSION_ORDER,
        at=CONVERSION_CREATED_AT,
        ignore_cookie_age=False,
    )
    scenario.create_customer("acct-1")
    attempts = []

    def attribute_too_early(account, **kwargs):
        attempts.append(kwargs)
        return outdated

    monkeypatch.setattr("payouts.services.conversion_creation.attribute", attribute_too_early)

    data = ConversionData(parameters=parameters, line_items=[LineItem(Decimal(10))])
    with pytest.raises(ConcurrentUpdate):
        create_conversion(account, data=data, at=CONVERSION_CREATED_AT)

    assert len(attempts) == MAX_ATTEMPTS
    assert not account.conversions.exists()
