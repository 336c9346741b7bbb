"""Contract 1.3: exact numbers and UTC seconds in everything that leaves the house."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.exact_json import exact_json, plain

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


@pytest.mark.parametrize(("amount", "written"), AMOUNTS.items(), ids=AMOUNTS)
def test_writes_an_amount_digit_by_digit(amount, written):
    assert exact_json(Decimal(amount)) == written
    assert plain(Decimal(amount)).encode() == written


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_loses_no_digit_of_any_amount(amount):
    written = exact_json({"amount": amount})

    read = json.loads(written, parse_float=Decimal, parse_int=Decimal)["amount"]
    assert read == amount
    assert b"E" not in written.upper().replace(b"AMOUNT", b"")


def test_writes_moments_in_utc_with_seconds():
    moment = datetime(2026, 3, 4, 9, 15, 27, 999_999, tzinfo=UTC)

    assert exact_json(moment) == b'"2026-03-04T09:15:27+00:00"'


def test_keeps_keys_in_their_order_and_text_as_it_is():
    data = {"b": "Žlutý 🛶 ' \u2028", "a": [None, True, False, 7, {}]}

    assert json.loads(exact_json(data)) == data
    assert exact_json(data).startswith('{"b":"Žlutý 🛶'.encode())


@pytest.mark.parametrize(
    "odd", [{1, 2}, object(), b"bytes"], ids=["set", "object", "bytes"]
)
def test_refuses_what_has_no_form_in_json(odd):
    with pytest.raises(TypeError):
        exact_json({"odd": odd})
