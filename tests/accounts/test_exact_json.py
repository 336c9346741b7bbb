"""docs/api-contract.md, section 1.3: exact decimals and UTC times in JSON output."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.exact_json import format_decimal, serialize_exact_json

AMOUNTS = {
    "20": b"20",
    "20.0000": b"20",
    "49.90": b"49.9",
    "-5": b"-5",
    "-5.50": b"-5.5",
    "0": b"0",
    "0.0000": b"0",
    "-0.00": b"0",
    "100": b"100",
    "1E+2": b"100",
    "1E-4": b"0.0001",
    "0.10": b"0.1",
    "90071992547409.93": b"90071992547409.93",
    "9999999999999.99": b"9999999999999.99",
    "0.1234": b"0.1234",
}


@pytest.mark.parametrize(("amount", "expected"), AMOUNTS.items(), ids=AMOUNTS)
def test_serializes_an_amount_exactly(amount, expected):
    assert serialize_exact_json(Decimal(amount)) == expected
    assert format_decimal(Decimal(amount)).encode() == expected


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_preserves_all_digits_of_any_amount(amount):
    serialized = serialize_exact_json({"amount": amount})

    parsed = json.loads(serialized, parse_float=Decimal, parse_int=Decimal)["amount"]
    assert parsed == amount
    assert b"E" not in serialized.upper().replace(b"AMOUNT", b"")


def test_serializes_times_in_utc_with_seconds():
    time = datetime(2026, 3, 4, 9, 15, 27, 999_999, tzinfo=UTC)

    assert serialize_exact_json(time) == b'"2026-03-04T09:15:27+00:00"'


def test_preserves_the_order_of_keys_and_unicode_text():
    data = {"b": "Žlutý 🛶 ' \u2028", "a": [None, True, False, 7, {}]}

    assert json.loads(serialize_exact_json(data)) == data
    assert serialize_exact_json(data).startswith('{"b":"Žlutý 🛶'.encode())


@pytest.mark.parametrize("value", [{1, 2}, object(), b"bytes"], ids=["set", "object", "bytes"])
def test_rejects_values_that_are_not_json_serializable(value):
    with pytest.raises(TypeError):
        serialize_exact_json({"key": value})
