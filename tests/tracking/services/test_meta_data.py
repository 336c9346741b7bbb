"""Updates of meta data (docs/api-contract.md, section 2.1.5)."""

import pytest

from tests.conftest import NOW
from tests.factories.tracking import CustomerFactory
from tracking.errors import CustomerNotFound
from tracking.services.meta_data import (
    delete_meta_data_key,
    replace_meta_data,
    set_meta_data_key,
)


@pytest.fixture
def customer(account):
    return CustomerFactory(account=account, meta_data={"plan": "basic", "1": "one"})


def change(operation, customer, **arguments):
    account = customer.account
    rows = account.customers.not_deleted().filter(public_id=customer.public_id)
    return operation(account, rows, CustomerNotFound, **arguments, at=NOW)


def list_audit_log_entries(account):
    return [
        (event.kind, event.subject, event.details) for event in account.audit_log.order_by("id")
    ]


CHANGES = pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        (replace_meta_data, {"data": {}}),
        (set_meta_data_key, {"key": "tier", "value": "gold"}),
        (delete_meta_data_key, {"key": "plan"}),
    ],
    ids=["replace", "set_key", "delete_key"],
)


@CHANGES
def test_logs_a_change_once(account, customer, operation, arguments):
    change(operation, customer, **arguments)

    subject = f"customer:{customer.public_id}"
    assert list_audit_log_entries(account) == [
        ("customer.updated", subject, {"fields": ["meta_data"]})
    ]


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        (replace_meta_data, {"data": {"1": "one", "plan": "basic"}}),
        (set_meta_data_key, {"key": "plan", "value": "basic"}),
    ],
    ids=["replace", "set_key"],
)
def test_logs_nothing_if_nothing_changes(account, customer, operation, arguments):
    change(operation, customer, **arguments)

    assert list_audit_log_entries(account) == []


@CHANGES
def test_does_not_change_a_deleted_customer(account, customer, operation, arguments):
    customer.update_row(deleted_at=NOW)

    with pytest.raises(CustomerNotFound):
        change(operation, customer, **arguments)

    assert customer.reload().meta_data == {"plan": "basic", "1": "one"}
