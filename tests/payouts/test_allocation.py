"""Proportional allocation of an amount (docs/api-contract.md, section 2.2.6)."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from payouts.calculation import allocate_proportionally
from tracking.money import get_exponent

CURRENCIES = ["EUR", "JPY", "KWD"]
MAX_UNITS = 10**12

currencies = st.sampled_from(CURRENCIES)
units = st.integers(min_value=0, max_value=MAX_UNITS)
unit_lists = st.lists(units, min_size=1, max_size=100)


def decimals(texts):
    return [Decimal(text) for text in texts.split()]


def from_minor_units(number, currency):
    """Convert minor units to an amount."""
    return Decimal(number).scaleb(-get_exponent(currency))


def round_half_up(exact):
    """Round a fraction half up."""
    return (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)


@pytest.mark.parametrize(
    ("sub_amounts", "old_total", "new_total", "currency", "expected"),
    [
        pytest.param("200", "200", "150", "EUR", "150", id="one-becomes-the-total"),
        pytest.param("80", "200", "150", "EUR", "150", id="one-whatever-it-was"),
        pytest.param("0", "200", "150", "EUR", "150", id="one-of-zero"),
        pytest.param("60 40", "100", "50", "EUR", "30 20", id="in-proportion"),
        pytest.param("60 40", "100", "0", "EUR", "0 0", id="to-zero"),
        pytest.param("60 40", "100", "100", "EUR", "60 40", id="the-same"),
        pytest.param(*("1 1 1", "3", "10", "EUR", "3.33 3.33 3.34"), id="the-last-takes-more"),
        pytest.param(*("1 1 1", "3", "20", "EUR", "6.67 6.67 6.66"), id="the-last-takes-less"),
        pytest.param("1 1 1", "3", "10", "JPY", "3 3 4", id="JPY"),
        pytest.param("1 1 1", "3", "10", "KWD", "3.333 3.333 3.334", id="KWD"),
        pytest.param(*("1 1 1 1", "4", "0.02", "EUR", "0.01 0.01 0 0"), id="none-negative"),
        pytest.param("1 1 1 1", "4", "2", "JPY", "1 1 0 0", id="none-negative-JPY"),
        pytest.param("0 100", "100", "50", "EUR", "0 50", id="a-sub-amount-of-zero"),
        pytest.param("100 0", "100", "33.33", "EUR", "33.33 0", id="zero-at-the-end"),
        pytest.param("0 0", "0", "9", "EUR", "9 0", id="the-first-of-a-total-of-zero"),
        pytest.param("0", "0", "9", "EUR", "9", id="one-of-a-total-of-zero"),
        pytest.param("5 7", "0", "9", "EUR", "9 0", id="added-to-zero"),
        pytest.param("", "0", "9", "EUR", "", id="none-of-zero"),
        pytest.param("", "100", "9", "EUR", "", id="none"),
        pytest.param("100 50", "100", "50", "EUR", "50 25", id="more-than-the-total"),
        pytest.param("1 1", "3", "10", "EUR", "3.33 3.33", id="less-than-the-total"),
        pytest.param(
            *("9999999999999.99 0", "9999999999999.99", "0.01", "EUR", "0.01 0"),
            id="from-the-most-to-the-least",
        ),
        pytest.param(
            *("0.01 0", "0.01", "9999999999999.99", "EUR", "9999999999999.99 0"),
            id="from-the-least-to-the-most",
        ),
    ],
)
def test_scales_all_amounts(sub_amounts, old_total, new_total, currency, expected):
    found = allocate_proportionally(
        decimals(sub_amounts),
        old_total=Decimal(old_total),
        new_total=Decimal(new_total),
        currency=currency,
        is_complete=True,
    )

    assert found == decimals(expected)


@pytest.mark.parametrize(
    ("sub_amounts", "old_total", "new_total", "expected"),
    [
        pytest.param("100", "100", "50", "50", id="one"),
        pytest.param("40", "100", "50", "20", id="one-with-a-final-one"),
        pytest.param("1 1", "3", "20", "6.67 6.67", id="no-remainder-is-allocated"),
        pytest.param("1 1 1", "3", "10", "3.33 3.33 3.33", id="though-they-add-up"),
        pytest.param("40 0", "0", "50", "50 0", id="the-first-of-a-total-of-zero"),
        pytest.param("", "0", "50", "", id="none"),
    ],
)
def test_scales_some_of_the_amounts_proportionally(sub_amounts, old_total, new_total, expected):
    found = allocate_proportionally(
        decimals(sub_amounts),
        old_total=Decimal(old_total),
        new_total=Decimal(new_total),
        currency="EUR",
        is_complete=False,
    )

    assert found == decimals(expected)


@given(currency=currencies, sub_amounts=unit_lists, new_total=units)
@example(currency="EUR", sub_amounts=[1] * 100, new_total=50)
@example(currency="KWD", sub_amounts=[0] * 100, new_total=MAX_UNITS)
def test_adds_up_to_the_new_total(currency, sub_amounts, new_total):
    whole = from_minor_units(new_total, currency)

    found = allocate_proportionally(
        [from_minor_units(sub_amount, currency) for sub_amount in sub_amounts],
        old_total=from_minor_units(sum(sub_amounts), currency),
        new_total=whole,
        currency=currency,
        is_complete=True,
    )

    assert len(found) == len(sub_amounts)
    assert sum(found) == whole
    assert all(0 <= rounded <= whole for rounded in found)
    assert all(-rounded.as_tuple().exponent <= get_exponent(currency) for rounded in found)


@given(currency=currencies, sub_amounts=unit_lists, new_total=units)
@example(currency="EUR", sub_amounts=[1] * 100, new_total=50)
def test_rounds_each_amount_up_to_the_remainder(currency, sub_amounts, new_total):
    old_total, remainder, expected = sum(sub_amounts), new_total, []
    for sub_amount in sub_amounts[:-1]:
        rounded = (
            round_half_up(Fraction(sub_amount * new_total, old_total)) if old_total else remainder
        )
        expected.append(min(rounded, remainder))
        remainder -= expected[-1]
    expected.append(remainder)

    found = allocate_proportionally(
        [from_minor_units(sub_amount, currency) for sub_amount in sub_amounts],
        old_total=from_minor_units(old_total, currency),
        new_total=from_minor_units(new_total, currency),
        currency=currency,
        is_complete=True,
    )

    assert found == [from_minor_units(rounded, currency) for rounded in expected]


@given(
    currency=currencies,
    sub_amounts=unit_lists,
    old_total=st.integers(min_value=1, max_value=MAX_UNITS),
    new_total=units,
)
def test_rounds_each_amount_once_if_not_complete(currency, sub_amounts, old_total, new_total):
    found = allocate_proportionally(
        [from_minor_units(sub_amount, currency) for sub_amount in sub_amounts],
        old_total=from_minor_units(old_total, currency),
        new_total=from_minor_units(new_total, currency),
        currency=currency,
        is_complete=False,
    )

    assert found == [
        from_minor_units(round_half_up(Fraction(sub_amount * new_total, old_total)), currency)
        for sub_amount in sub_amounts
    ]


@given(currency=currencies, sub_amounts=st.lists(units, min_size=2, max_size=20))
def test_changes_nothing_if_the_amount_stays(currency, sub_amounts):
    old_total = from_minor_units(sum(sub_amounts) or 1, currency)
    amounts = [from_minor_units(sub_amount, currency) for sub_amount in sub_amounts]

    assert allocate_proportionally(
        amounts,
        old_total=old_total,
        new_total=old_total,
        currency=currency,
        is_complete=True,
    ) == (amounts)
