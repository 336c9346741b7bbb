"""Updates of meta data (docs/api-contract.md, section 2.1.5)."""

import pytest

from accounts.errors import InvalidInput
from tests.conftest import NOW
from tests.factories.tracking import CustomerFactory
from tracking.errors import CustomerNotFound, MetaDataKeyNotFound, TooManyMetaDataKeys
from tracking.services.meta_data import (
    delete_meta_data_key,
    replace_meta_data,
    set_meta_data_key,
)

TEN_KEYS = {f"key-{n}": str(n) for n in range(10)}


@pytest.fixture
def customer(account):
    return CustomerFactory(account=account, meta_data={"plan": "basic", "1": "one"})


def change(operation, customer, **arguments):
    account = customer.account
    rows = account.customers.not_deleted().filter(public_id=customer.public_id)
    return operation(account, rows, CustomerNotFound, **arguments, at=NOW)


def list_audit_log_entries(account):
    return [
        (event.kind, event.subject, event.details)
        for event in account.audit_log.order_by("id")
    ]


@pytest.mark.parametrize(
    "data", [{}, {"tier": "gold"}, TEN_KEYS], ids=["none", "one", "10"]
)
def test_replaces_all_keys(customer, data):
    returned = change(replace_meta_data, customer, data=data)

    assert returned == data
    assert customer.reload().meta_data == data


@pytest.mark.parametrize("key", ["tier", "0", "-1", "a b", "ž", "🛶", "a.b", "$", "[0"])
@pytest.mark.parametrize("value", ["", "gold", " 🛶 ", "{}[]\"'\\/&:"], ids=ascii)
def test_adds_a_key(customer, key, value):
    returned = change(set_meta_data_key, customer, key=key, value=value)

    data = {"plan": "basic", "1": "one", key: value}
    assert returned == data
    assert customer.reload().meta_data == data


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("a/b", "This key holds a character that is not allowed."),
        ("[0]", "This key holds a character that is not allowed."),
        ("k" * 65, "This value is too long, 64 characters at most."),
    ],
    ids=["slash", "bracket", "65"],
)
def test_rejects_an_invalid_key(customer, key, message):
    with pytest.raises(InvalidInput) as error:
        change(set_meta_data_key, customer, key=key, value="value")

    assert str(error.value) == message
    assert customer.reload().meta_data == {"plan": "basic", "1": "one"}


def test_overwrites_a_key(customer):
    change(set_meta_data_key, customer, key="plan", value="pro")

    assert customer.reload().meta_data == {"plan": "pro", "1": "one"}


def test_rejects_an_eleventh_key(customer):
    change(replace_meta_data, customer, data=TEN_KEYS)

    with pytest.raises(TooManyMetaDataKeys) as error:
        change(set_meta_data_key, customer, key="key-10", value="10")

    assert str(error.value) == "Meta data holds 10 keys at most."
    assert customer.reload().meta_data == TEN_KEYS


def test_overwrites_one_of_ten_keys(customer):
    change(replace_meta_data, customer, data=TEN_KEYS)

    change(set_meta_data_key, customer, key="key-9", value="nine")

    assert customer.reload().meta_data == TEN_KEYS | {"key-9": "nine"}


@pytest.mark.parametrize(("key", "left"), [("1", "plan"), ("plan", "1")])
def test_deletes_a_key(customer, key, left):
    change(delete_meta_data_key, customer, key=key)

    assert list(customer.reload().meta_data) == [left]


@pytest.mark.parametrize("key", ["unknown", "Plan", "", "0"])
def test_rejects_deleting_an_unknown_key(customer, key):
    with pytest.raises(MetaDataKeyNotFound):
        change(delete_meta_data_key, customer, key=key)

    assert customer.reload().meta_data == {"plan": "basic", "1": "one"}


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        (replace_meta_data, {"data": {}}),
        (set_meta_data_key, {"key": "tier", "value": "gold"}),
        (delete_meta_data_key, {"key": "plan"}),
    ],
    ids=["replace", "set_key", "delete_key"],
)
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


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        (replace_meta_data, {"data": {}}),
        (set_meta_data_key, {"key": "tier", "value": "gold"}),
        (delete_meta_data_key, {"key": "plan"}),
    ],
    ids=["replace", "set_key", "delete_key"],
)
def test_does_not_change_a_deleted_customer(account, customer, operation, arguments):
    customer.update_row(deleted_at=NOW)

    with pytest.raises(CustomerNotFound):
        change(operation, customer, **arguments)

    assert customer.reload().meta_data == {"plan": "basic", "1": "one"}
