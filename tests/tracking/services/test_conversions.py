"""Rows of conversions, without commissions (docs/api-contract.md, section 2.2.1)."""

from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.db import OperationalError, transaction

from tests.conftest import NOW
from tests.ledger_checks import assert_unchanged
from tests.program_scenario import mark_deleted
from tracking.attribution import REST_CONVERSION_ORDER, TrackingParameters
from tracking.errors import TooManyConversionAttempts
from tracking.models.conversions import ConversionQuerySet
from tracking.services import conversions
from tracking.services.attribution import attribute, verify_attribution_record
from tracking.services.concurrency import ConcurrentUpdate
from tracking.services.conversions import (
    find_conversion,
    lock_claim,
    lock_with_holder,
    write_conversion,
)

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def insert(account, scenario):
    """Insert a conversion with amount 0, which needs no commission."""

    def insert_with(parameters=None, **values):
        parameters = parameters or TrackingParameters(coupon=scenario.mina.coupon)
        attribution = attribute(
            account,
            parameters=parameters,
            order=REST_CONVERSION_ORDER,
            at=NOW,
            ignore_cookie_age=False,
        )
        defaults = {
            "external_id": None,
            "customer_id": parameters.customer_id,
            "amount": Decimal(0),
            "currency": "EUR",
            "meta_data": {},
            "user_agent": None,
            "ip": None,
        }
        conversion, _ = write_conversion(
            account, attribution=attribution, claim=None, **defaults | values, at=NOW
        )
        return conversion

    return insert_with


def test_stores_a_conversion(account, scenario, insert):
    conversion = insert(
        external_id="order-1",
        amount=Decimal("249.90"),
        currency="CHF",
        meta_data={"channel": "web"},
        user_agent="Harbor/1",
    )

    stored = account.conversions.get()
    assert stored == conversion
    assert (stored.program, stored.affiliate) == (
        scenario.program,
        scenario.mina.affiliate,
    )
    assert (stored.customer, stored.click, stored.warnings) == (None, None, None)
    assert (stored.external_id, stored.amount, stored.currency) == (
        *("order-1", Decimal("249.90"), "CHF"),
    )
    assert (stored.meta_data, stored.user_agent) == ({"channel": "web"}, "Harbor/1")
    assert (stored.created_at, stored.deleted_at) == (NOW, None)


def test_stores_one_attribution_record_per_conversion(account, insert):
    first, second = insert(), insert()

    records = {record.conversion_id: record for record in account.attribution_records.all()}
    assert set(records) == {first.pk, second.pk}
    assert all(verify_attribution_record(record) for record in records.values())


@pytest.mark.parametrize(
    ("ip", "stored"),
    [
        pytest.param(None, None, id="none"),
        pytest.param("192.0.2.7", "192.0.2.7", id="one"),
        pytest.param("unknown, 192.0.2.7", "192.0.2.7", id="the-first-that-is-one"),
        pytest.param("192.0.2.7, 192.0.2.8", "192.0.2.7", id="the-first-of-two"),
        pytest.param(" 2001:DB8::1 ", "2001:db8::1", id="six"),
        pytest.param("192.0.2.999", None, id="no-address"),
        pytest.param("", None, id="empty"),
    ],
)
def test_stores_the_first_valid_address(account, insert, ip, stored):
    insert(ip=ip)

    assert account.conversions.get().ip == stored


@pytest.mark.parametrize("is_deleted", [False, True], ids=["present", "deleted"])
def test_external_id_is_unique_until_the_deletion(account, insert, is_deleted):
    first = insert(external_id="order-1")
    if is_deleted:
        first.update_row(deleted_at=NOW)

    if is_deleted:
        assert insert(external_id="order-1") != first
    else:
        before = account.conversions.count()
        with pytest.raises(ConcurrentUpdate):
            insert(external_id="order-1")
        assert account.conversions.count() == before


def test_does_not_confirm_a_claim_that_lost_its_external_id(account, insert):
    claim = insert(external_id="order-1")
    claim.update_row(claim_status="reviewed")
    account.conversions.update(external_id=None)

    with pytest.raises(ConcurrentUpdate):
        lock_claim(account, claim)


@pytest.mark.parametrize(
    "values",
    [{"deleted_at": NOW}, {"external_id": "order-2"}],
    ids=["deleted", "renamed"],
)
def test_locks_no_holder_that_lost_the_external_id(account, insert, monkeypatch, values):
    """It was found, and another request changed it before it was locked."""
    holder, conversion = insert(external_id="order-1"), insert()
    found = find_conversion(account, "order-1")
    monkeypatch.setattr(conversions, "find_conversion", lambda *args: found)
    holder.update_row(**values)

    with pytest.raises(ConcurrentUpdate), transaction.atomic():
        lock_with_holder(account, conversion.pk, "order-1")


class DriverError(Exception):
    """The error of the driver for a lock that was not obtained in time."""

    sqlstate = "55P03"

    def __init__(self, context):
        self.diag = SimpleNamespace(context=context)


@pytest.mark.parametrize(
    ("context", "raised"),
    [
        ("while inserting index tuple", TooManyConversionAttempts),
        (None, OperationalError),
    ],
    ids=["row", "table"],
)
def test_a_wait_for_the_external_id_is_a_concurrent_attempt(insert, monkeypatch, context, raised):
    def wait(*args, **kwargs):
        raise OperationalError("lock timeout") from DriverError(context)

    monkeypatch.setattr(ConversionQuerySet, "insert_or_ignore", wait)

    with pytest.raises(raised):
        insert(external_id="order-1")


@pytest.mark.parametrize(
    ("customer_id", "warnings"),
    [
        pytest.param("mina@notes.example.org", ["customer_is_affiliate"], id="same"),
        pytest.param("MINA@Notes.Example.Org", ["customer_is_affiliate"], id="case"),
        pytest.param("mina", None, id="another"),
    ],
)
def test_warns_if_the_customer_is_the_affiliate(scenario, insert, customer_id, warnings):
    conversion = insert(TrackingParameters(coupon=scenario.mina.coupon, customer_id=customer_id))

    assert conversion.reload().warnings == warnings


def test_inserts_nothing_without_a_winner(account, scenario, insert):
    mark_deleted(scenario.mina.affiliate)

    with assert_unchanged(account), pytest.raises(LookupError):
        insert(TrackingParameters(customer_id="acct-9"))
