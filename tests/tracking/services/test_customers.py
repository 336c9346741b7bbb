"""Customers (docs/api-contract.md, sections 2.1.3, 2.1.4 and 7.3)."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from threading import Barrier
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.errors import DomainError
from payouts.calculation import LineItem
from payouts.services.conversion_creation import ConversionData, create_conversion
from payouts.services.programs import ProgramSettings, create_program
from tests.conftest import NOW
from tests.factories.accounts import AccountFactory
from tests.factories.tracking import (
    AffiliateFactory,
    ClickFactory,
    CouponFactory,
    CustomerFactory,
    EnrollmentFactory,
)
from tests.ledger_checks import assert_ledger_consistent
from tracking.attribution import TrackingParameters
from tracking.errors import CustomerNotFound, DuplicateCustomer
from tracking.models.customers import Customer
from tracking.services.attribution import verify_attribution_record
from tracking.services.customers import (
    CustomerData,
    cancel_customer,
    create_customer,
    delete_customer,
    get_customer,
    uncancel_customer,
    update_customer,
)
from tracking.services.programs import archive_program

CODE = TrackingParameters(referral_code="qv7kd2p")
EXPIRED_AGE = timedelta(days=45, microseconds=1)


@pytest.fixture
def harbor(account):
    """A program with a commission type, so that conversions are possible."""
    settings = ProgramSettings(title="Harbor Lamp Partners", currency="EUR")
    return create_program(account, slug="harbor-lamp-partners", settings=settings, at=NOW)


@pytest.fixture
def odette(account, harbor):
    affiliate = AffiliateFactory(
        account=account, slug="odettevarga", email="odette@notes.example.org"
    )
    enrollment = EnrollmentFactory(
        account=account, program=harbor, affiliate=affiliate, code="qv7kd2p"
    )
    CouponFactory(account=account, enrollment=enrollment, code="ODETTE10")
    return enrollment


@pytest.fixture
def expired_click(account, odette):
    return ClickFactory(account=account, enrollment=odette, created_at=NOW - EXPIRED_AGE)


def make_customer(account, customer_id="acct-55120", parameters=CODE, **fields):
    return create_customer(
        account,
        data=CustomerData(customer_id=customer_id, parameters=parameters, **fields),
        at=NOW,
    )


def make_conversion(account, customer_id="acct-55120", parameters=None, at=NOW):
    """Create a conversion of this customer."""
    parameters = replace(parameters or TrackingParameters(), customer_id=customer_id)
    data = ConversionData(parameters=parameters, line_items=[LineItem(sub_amount=Decimal(20))])
    conversion = create_conversion(account, data=data, at=at)
    assert_ledger_consistent(account)
    return conversion


# Creation


def test_creates_a_customer_of_the_attributed_affiliate(account, odette):
    customer = make_customer(
        account,
        " acct 🛶",
        status="trial",
        meta_data={"plan": "basic"},
        user_agent="agent",
        ip="unknown, 203.0.113.7",
    ).reload()

    assert re.fullmatch("cu_[A-Za-z0-9]{16}", customer.public_id)
    assert customer.customer_id == " acct 🛶"
    assert (customer.program, customer.affiliate) == (odette.program, odette.affiliate)
    assert customer.click is None
    assert (customer.status, customer.initial_status) == ("trial", "trial")
    assert customer.meta_data == {"plan": "basic"}
    assert customer.warnings is None
    assert (customer.user_agent, customer.ip) == ("agent", "203.0.113.7")
    assert customer.created_at == NOW


def test_stores_the_winning_click(account, odette):
    click = ClickFactory(account=account, enrollment=odette, created_at=NOW)

    customer = make_customer(account, parameters=TrackingParameters(click_id=str(click)))

    assert customer.click == click


def test_does_not_store_another_click(account, odette):
    click = ClickFactory(account=account, enrollment=odette, created_at=NOW)

    customer = make_customer(
        account, parameters=TrackingParameters(coupon="ODETTE10", click_id=str(click))
    )

    assert customer.click is None


def test_stores_a_verifiable_attribution_record(account, odette):
    customer = make_customer(account)

    record = account.attribution_records.get()
    assert record.customer == customer
    assert verify_attribution_record(record) is True


def test_logs_the_creation(account, odette):
    customer = make_customer(account)

    event = account.audit_log.filter(kind__startswith="customer").get()
    assert event.kind == "customer.created"
    assert event.subject == f"customer:{customer.public_id}"
    assert event.details == {}


def test_warns_when_the_customer_is_the_affiliate(account, odette):
    customer = make_customer(account, "ODETTE@notes.example.org")

    assert customer.reload().warnings == ["customer_is_affiliate"]


def test_accepts_a_customer_id_of_another_account(account, other_account, odette):
    CustomerFactory(account=other_account, customer_id="acct-55120")

    assert make_customer(account).customer_id == "acct-55120"


@pytest.mark.parametrize("other_id", ["ACCT-55120", "acct-55120 ", "acct-5512"], ids=repr)
def test_compares_customer_ids_exactly(account, odette, other_id):
    make_customer(account)

    assert make_customer(account, other_id).customer_id == other_id


# The order of the checks of docs/api-contract.md, section 2.1.3


def test_reports_the_first_of_all_failing_checks(account, odette, expired_click):
    """Each step breaks a rule that is checked before those of the earlier steps."""
    parameters, fields = {"click_id": str(expired_click)}, {}

    def get_error():
        with pytest.raises(DomainError) as error:
            make_customer(account, parameters=TrackingParameters(**parameters), **fields)
        return str(error.value)

    assert get_error() == "Cookie expired"
    archive_program(account, slug=odette.program.slug, at=NOW)
    assert get_error() == "Program is archived"
    odette.update_row(approved=None)
    assert get_error() == "Affiliate is not approved for this program"
    odette.affiliate.update_row(deleted_at=NOW)
    assert get_error() == "Affiliate is deleted"
    parameters["referral_code"] = "unknown"
    assert get_error() == "Unknown referral code"
    CustomerFactory(account=account, enrollment=odette, customer_id="acct-55120")
    assert get_error() == (
        "Duplicate customer. There is already a customer for Customer id 'acct-55120'"
    )
    fields["status"] = "paying"
    assert get_error() == "Invalid status 'paying'. Valid are 'new', 'trial', 'lead'"
    parameters["coupon"] = " "
    assert get_error() == (
        "Parameter 'coupon' takes precedence for tracking, but no value was passed"
    )


@pytest.mark.parametrize("status", ["new", "trial", "lead"])
def test_accepts_each_initial_status(account, odette, status):
    assert make_customer(account, status=status).status == status


def test_accepts_an_expired_click_if_the_cookie_age_is_ignored(account, expired_click):
    parameters = TrackingParameters(click_id=str(expired_click))

    customer = make_customer(account, parameters=parameters, ignore_cookie_age=True)

    assert customer.click == expired_click


def test_creates_one_of_two_concurrent_duplicates(committed_db):
    account = AccountFactory(slug=f"race-{uuid4().hex}")
    EnrollmentFactory(account=account, code="qv7kd2p")
    start = Barrier(2)

    def attempt(_):
        try:
            start.wait(120)
            return make_customer(account).public_id
        except DuplicateCustomer as error:
            return str(error)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(attempt, range(2)))

    duplicate = "Duplicate customer. There is already a customer for Customer id 'acct-55120'"
    customer = account.customers.get()
    assert sorted(results) == sorted([duplicate, customer.public_id])
    assert account.attribution_records.count() == 1


# Updates


def apply_changes(account, customer, customer_id=None, meta_data=None):
    return update_customer(
        account, customer=customer, customer_id=customer_id, meta_data=meta_data, at=NOW
    )


@pytest.fixture
def customer(account, odette):
    return CustomerFactory(
        account=account,
        enrollment=odette,
        customer_id="acct-55120",
        meta_data={"plan": "basic"},
    )


@pytest.mark.parametrize(
    "change", [{"customer_id": " acct-9 "}, {"meta_data": {"tier": "gold"}}], ids=str
)
def test_updates_only_what_is_sent(account, customer, change):
    apply_changes(account, customer, **change)

    updated = customer.reload()
    before = {"customer_id": "acct-55120", "meta_data": {"plan": "basic"}}
    stored = {name: getattr(updated, name) for name in before}
    assert stored == before | change


def test_logs_changed_fields_without_values(account, customer):
    apply_changes(account, customer, "acct-9", {"tier": "gold"})

    event = account.audit_log.filter(kind="customer.updated").get()
    assert event.details == {"fields": ["customer_id", "meta_data"]}


@pytest.mark.parametrize(
    "change",
    [{}, {"customer_id": "acct-55120"}, {"meta_data": {"plan": "basic"}}],
    ids=["nothing", "the-same-id", "the-same-meta-data"],
)
def test_logs_nothing_if_nothing_changes(account, customer, change):
    apply_changes(account, customer, **change)

    assert not account.audit_log.filter(kind="customer.updated").exists()


def test_accepts_the_customer_id_of_a_deleted_customer(account, odette, customer):
    previous = CustomerFactory(account=account, enrollment=odette, customer_id="acct-9")
    delete_customer(account, public_id=previous.public_id, at=NOW)

    apply_changes(account, customer, "acct-9")

    assert customer.reload().customer_id == "acct-9"


# Status (docs/api-contract.md, section 7.3)


@pytest.mark.parametrize("status", ["new", "trial", "lead", "paying", "canceled"])
def test_cancels_from_any_status(account, customer, status):
    customer.update_row(status=status)

    for _ in range(2):
        cancel_customer(account, public_id=customer.public_id, at=NOW)

    assert customer.reload().status == "canceled"
    events = account.audit_log.filter(kind="customer.updated")
    expected = [] if status == "canceled" else [{"status": [status, "canceled"]}]
    assert [event.details for event in events] == expected


@pytest.mark.parametrize("status", ["new", "trial", "lead", "paying"])
def test_uncancel_ignores_a_customer_that_is_not_canceled(account, customer, status):
    customer.update_row(status=status)

    uncancel_customer(account, public_id=customer.public_id, at=NOW)

    assert customer.reload().status == status
    assert not account.audit_log.filter(kind="customer.updated").exists()


@pytest.mark.parametrize(
    ("initial", "conversion", "restored"),
    [
        ("new", None, "new"),
        ("trial", None, "trial"),
        ("lead", None, "lead"),
        ("trial", "kept", "paying"),
        ("trial", "deleted", "trial"),
        (None, "deleted", "new"),
    ],
)
def test_restores_the_status_before_the_cancellation(
    account, odette, initial, conversion, restored
):
    """Without an initial status, the conversion creates the customer."""
    if initial:
        make_customer(account, status=initial)
    if conversion:
        sale = make_conversion(account, parameters=None if initial else CODE)
        if conversion == "deleted":
            sale.update_row(deleted_at=NOW)
    customer = account.customers.get()
    cancel_customer(account, public_id=customer.public_id, at=NOW)

    uncancel_customer(account, public_id=customer.public_id, at=NOW)

    assert customer.reload().status == restored


# Deletion


def test_erases_a_deleted_customer(account, odette):
    customer = make_customer(
        account,
        "odette@notes.example.org",
        meta_data={"plan": "basic"},
        user_agent="agent",
        ip="203.0.113.7",
    )

    delete_customer(account, public_id=customer.public_id, at=NOW)

    deleted = customer.reload()
    assert deleted.deleted_at == NOW
    assert deleted.public_id == customer.public_id
    assert deleted.customer_id == ""
    assert deleted.meta_data == {}
    assert (deleted.user_agent, deleted.ip) == (None, None)
    event = account.audit_log.get(kind="customer.deleted")
    assert event.subject == f"customer:{customer.public_id}"
    assert event.details == {}
    with pytest.raises(CustomerNotFound):
        get_customer(account, customer.public_id)


def test_allows_the_customer_id_again_after_each_deletion(account, odette):
    made = [make_customer(account)]
    for _ in range(2):
        delete_customer(account, public_id=made[-1].public_id, at=NOW)
        made.append(make_customer(account))

    assert {customer.customer_id for customer in made[-1:]} == {"acct-55120"}
    assert len({customer.public_id for customer in made}) == 3
    assert account.customers.not_deleted().get() == made[-1]


def test_reserves_the_id_of_a_deleted_customer(account, customer):
    delete_customer(account, public_id=customer.public_id, at=NOW)
    duplicate = Customer(
        account=account,
        public_id=customer.public_id,
        customer_id="acct-9",
        program=customer.program,
        affiliate=customer.affiliate,
        status="new",
        initial_status="new",
    )

    with pytest.raises(IntegrityError), transaction.atomic():
        account.customers.bulk_create([duplicate])
