"""Numbers in texts from outside."""

from decimal import Decimal

import pytest

from accounts.decimals import parse_decimal


@pytest.mark.parametrize(
    ("text", "number"),
    [("12.50", "12.50"), ("-3", "-3"), ("+1.", "1"), (".5", "0.5"), ("1e2", "1E+2")],
)
def test_reads_the_digits_of_a_number(text, number):
    assert parse_decimal(text).as_tuple() == Decimal(number).as_tuple()


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "-", "1,5", " 1", "1_000", "٣", "0x1", "1e", "e5"),
        *("NaN", "sNaN", "Infinity", "-inf", "1e100", "1e-1000", "1e400000000"),
        "9" * 65,
    ],
)
def test_refuses_what_is_no_number_or_too_large(text):
    with pytest.raises(ValueError, match="is no number"):
        parse_decimal(text)
