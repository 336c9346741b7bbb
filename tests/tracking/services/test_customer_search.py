"""Customers are found by the e-mail address in their meta data."""

import pytest

from accounts.errors import InvalidSetting
from tests.conftest import NOW
from tests.factories.tracking import CustomerFactory
from tracking.attribution import TrackingParameters
from tracking.errors import CustomerNotFound
from tracking.services import account_settings
from tracking.services.account_settings import update_customer_email_keys
from tracking.services.customers import (
    CustomerData,
    create_customer,
    delete_customer,
    update_customer,
)
from tracking.services.meta_data import set_meta_data_key


@pytest.fixture
def customer(account):
    data = {"mail": " Ann@Example.ORG ", "other": "x@example.org"}
    return CustomerFactory(account=account, meta_data=data)


def list_emails(account):
    rows = account.customers.order_by("id")
    return list(rows.values_list("email_folded", flat=True))


def test_reads_existing_customers_again(account, customer, other_account, monkeypatch):
    monkeypatch.setattr(account_settings, "BATCH_SIZE", 1)
    CustomerFactory(account=account)
    CustomerFactory(account=other_account, meta_data=customer.meta_data)

    update_customer_email_keys(account, keys=["email", "mail"], at=NOW)

    assert list_emails(account) == ["ann@example.org", None]
    assert list_emails(other_account) == [None]

    update_customer_email_keys(account, keys=["other", "mail"], at=NOW)
    assert list_emails(account) == ["x@example.org", None]

    update_customer_email_keys(account, keys=[], at=NOW)
    assert list_emails(account) == [None, None]


def test_logs_the_change_once(account):
    for _ in range(2):
        update_customer_email_keys(account, keys=[" mail ", "mail"], at=NOW)

    account.refresh_from_db()
    assert account.customer_email_keys == ["mail"]
    entry = account.audit_log.get(kind="account.customer_email_keys_changed")
    assert entry.details == {"customer_email_keys": [[], ["mail"]]}


@pytest.mark.parametrize("keys", [[""], ["a/b"], ["x" * 65], list("abcdef")])
def test_refuses_keys_that_customers_cannot_have(account, keys):
    with pytest.raises(InvalidSetting, match="keys of e-mail addresses"):
        update_customer_email_keys(account, keys=keys, at=NOW)

    assert account.customer_email_keys == []


def test_follows_changes_of_the_meta_data(account, customer):
    update_customer_email_keys(account, keys=["mail"], at=NOW)
    rows = account.customers.all()

    update_customer(
        account,
        customer=rows.get(),
        customer_id=None,
        meta_data={"mail": "B@example.org"},
        at=NOW,
    )
    assert list_emails(account) == ["b@example.org"]

    set_meta_data_key(account, rows, CustomerNotFound, key="mail", value="C@example.org", at=NOW)
    assert list_emails(account) == ["c@example.org"]

    delete_customer(account, public_id=customer.public_id, at=NOW)
    assert list_emails(account) == [None]


def test_reads_the_address_of_a_new_customer(account, scenario):
    update_customer_email_keys(account, keys=["mail"], at=NOW)

    data = CustomerData(
        customer_id="c-1",
        parameters=TrackingParameters(coupon=scenario.mina.coupon),
        meta_data={"mail": "Ann@example.org"},
    )
    create_customer(account, data=data, at=NOW)

    assert list_emails(account) == ["ann@example.org"]
