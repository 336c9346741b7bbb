"""Contract 2.1.5: meta data replaced whole, or one key at a time."""

import pytest

from accounts.errors import Rejected
from tests.conftest import NOW
from tests.factories.tracking import CustomerFactory
from tracking.errors import CustomerNotFound, MetaDataKeyNotFound, TooManyKeys
from tracking.services.meta_data import forget_key, replace, set_key

TEN = {f"key-{n}": str(n) for n in range(10)}


@pytest.fixture
def customer(account):
    return CustomerFactory(account=account, meta_data={"plan": "basic", "1": "one"})


def change(how, customer, **what):
    account = customer.account
    rows = account.customers.present().filter(public_id=customer.public_id)
    return how(account, rows, CustomerNotFound, **what, at=NOW)


def diary_of(account):
    return [
        (event.kind, event.subject, event.facts)
        for event in account.events.order_by("id")
    ]


@pytest.mark.parametrize("data", [{}, {"tier": "gold"}, TEN], ids=["none", "one", "10"])
def test_forgets_all_keys_and_keeps_these(customer, data):
    returned = change(replace, customer, data=data)

    assert returned == data
    assert customer.again().meta_data == data


@pytest.mark.parametrize("key", ["tier", "0", "-1", "a b", "ž", "🛶", "a.b", "$", "[0"])
@pytest.mark.parametrize("value", ["", "gold", " 🛶 ", "{}[]\"'\\/&:"], ids=ascii)
def test_adds_a_key(customer, key, value):
    returned = change(set_key, customer, key=key, value=value)

    data = {"plan": "basic", "1": "one", key: value}
    assert returned == data
    assert customer.again().meta_data == data


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("a/b", "This key holds a character that is not allowed."),
        ("[0]", "This key holds a character that is not allowed."),
        ("k" * 65, "This value is too long, 64 characters at most."),
    ],
    ids=["slash", "bracket", "65"],
)
def test_refuses_an_odd_key(customer, key, told):
    with pytest.raises(Rejected) as refusal:
        change(set_key, customer, key=key, value="value")

    assert str(refusal.value) == told
    assert customer.again().meta_data == {"plan": "basic", "1": "one"}


def test_overwrites_a_key(customer):
    change(set_key, customer, key="plan", value="pro")

    assert customer.again().meta_data == {"plan": "pro", "1": "one"}


def test_refuses_an_eleventh_key(customer):
    change(replace, customer, data=TEN)

    with pytest.raises(TooManyKeys) as refusal:
        change(set_key, customer, key="key-10", value="10")

    assert str(refusal.value) == "Meta data holds 10 keys at most."
    assert customer.again().meta_data == TEN


def test_overwrites_one_of_ten_keys(customer):
    change(replace, customer, data=TEN)

    change(set_key, customer, key="key-9", value="nine")

    assert customer.again().meta_data == TEN | {"key-9": "nine"}


@pytest.mark.parametrize(("key", "left"), [("1", "plan"), ("plan", "1")])
def test_removes_a_key(customer, key, left):
    change(forget_key, customer, key=key)

    assert list(customer.again().meta_data) == [left]


@pytest.mark.parametrize("key", ["unknown", "Plan", "", "0"])
def test_removes_no_key_that_is_not_there(customer, key):
    with pytest.raises(MetaDataKeyNotFound):
        change(forget_key, customer, key=key)

    assert customer.again().meta_data == {"plan": "basic", "1": "one"}


@pytest.mark.parametrize(
    ("how", "what"),
    [
        (replace, {"data": {}}),
        (set_key, {"key": "tier", "value": "gold"}),
        (forget_key, {"key": "plan"}),
    ],
    ids=["replace", "set_key", "forget_key"],
)
def test_writes_one_line_for_a_change(account, customer, how, what):
    change(how, customer, **what)

    subject = f"customer:{customer.public_id}"
    assert diary_of(account) == [
        ("customer.updated", subject, {"fields": ["meta_data"]})
    ]


@pytest.mark.parametrize(
    ("how", "what"),
    [
        (replace, {"data": {"1": "one", "plan": "basic"}}),
        (set_key, {"key": "plan", "value": "basic"}),
    ],
    ids=["replace", "set_key"],
)
def test_writes_nothing_when_nothing_changes(account, customer, how, what):
    change(how, customer, **what)

    assert diary_of(account) == []


@pytest.mark.parametrize(
    ("how", "what"),
    [
        (replace, {"data": {}}),
        (set_key, {"key": "tier", "value": "gold"}),
        (forget_key, {"key": "plan"}),
    ],
    ids=["replace", "set_key", "forget_key"],
)
def test_changes_nothing_of_a_removed_customer(account, customer, how, what):
    customer.change(removed_at=NOW)

    with pytest.raises(CustomerNotFound):
        change(how, customer, **what)

    assert customer.again().meta_data == {"plan": "basic", "1": "one"}
