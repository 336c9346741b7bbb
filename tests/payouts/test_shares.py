"""Contract 2.2.6: how the parts of a sale follow its amount."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from payouts.reckoning import shares
from tracking.money import exponent

CURRENCIES = ["EUR", "JPY", "KWD"]
MOST = 10**12

currencies = st.sampled_from(CURRENCIES)
units = st.integers(min_value=0, max_value=MOST)
wholes = st.lists(units, min_size=1, max_size=100)


def decimals(texts):
    return [Decimal(text) for text in texts.split()]


def in_units(number, currency):
    """So many minor units as an amount."""
    return Decimal(number).scaleb(-exponent(currency))


def half_up(exact):
    """A fraction in whole numbers, half up."""
    return (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)


@pytest.mark.parametrize(
    ("parts", "was", "now", "currency", "became"),
    [
        pytest.param("200", "200", "150", "EUR", "150", id="one-becomes-the-whole"),
        pytest.param("80", "200", "150", "EUR", "150", id="one-whatever-it-was"),
        pytest.param("0", "200", "150", "EUR", "150", id="one-of-nought"),
        pytest.param("60 40", "100", "50", "EUR", "30 20", id="in-proportion"),
        pytest.param("60 40", "100", "0", "EUR", "0 0", id="to-nought"),
        pytest.param("60 40", "100", "100", "EUR", "60 40", id="the-same"),
        pytest.param(
            *("1 1 1", "3", "10", "EUR", "3.33 3.33 3.34"), id="the-last-takes-more"
        ),
        pytest.param(
            *("1 1 1", "3", "20", "EUR", "6.67 6.67 6.66"), id="the-last-takes-less"
        ),
        pytest.param("1 1 1", "3", "10", "JPY", "3 3 4", id="JPY"),
        pytest.param("1 1 1", "3", "10", "KWD", "3.333 3.333 3.334", id="KWD"),
        pytest.param(
            *("1 1 1 1", "4", "0.02", "EUR", "0.01 0.01 0 0"), id="none-below-nought"
        ),
        pytest.param("1 1 1 1", "4", "2", "JPY", "1 1 0 0", id="none-below-nought-JPY"),
        pytest.param("0 100", "100", "50", "EUR", "0 50", id="a-part-of-nought"),
        pytest.param("100 0", "100", "33.33", "EUR", "33.33 0", id="nought-at-the-end"),
        pytest.param(
            "0 0", "0", "9", "EUR", "9 0", id="the-first-of-a-whole-of-nought"
        ),
        pytest.param("0", "0", "9", "EUR", "9", id="one-of-a-whole-of-nought"),
        pytest.param("5 7", "0", "9", "EUR", "9 0", id="whatever-was-added-to-nought"),
        pytest.param("", "0", "9", "EUR", "", id="no-parts-of-nought"),
        pytest.param("", "100", "9", "EUR", "", id="no-parts"),
        pytest.param("100 50", "100", "50", "EUR", "50 25", id="more-than-the-whole"),
        pytest.param("1 1", "3", "10", "EUR", "3.33 3.33", id="less-than-the-whole"),
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
def test_lets_all_parts_follow(parts, was, now, currency, became):
    found = shares(
        decimals(parts),
        was=Decimal(was),
        now=Decimal(now),
        currency=currency,
        complete=True,
    )

    assert found == decimals(became)


@pytest.mark.parametrize(
    ("parts", "was", "now", "became"),
    [
        pytest.param("100", "100", "50", "50", id="one"),
        pytest.param("40", "100", "50", "20", id="one-beside-a-final-one"),
        pytest.param("1 1", "3", "20", "6.67 6.67", id="no-rest-is-dealt-out"),
        pytest.param("1 1 1", "3", "10", "3.33 3.33 3.33", id="though-they-add-up"),
        pytest.param("40 0", "0", "50", "50 0", id="the-first-of-a-whole-of-nought"),
        pytest.param("", "0", "50", "", id="none"),
    ],
)
def test_lets_some_of_the_parts_follow_in_proportion(parts, was, now, became):
    found = shares(
        decimals(parts),
        was=Decimal(was),
        now=Decimal(now),
        currency="EUR",
        complete=False,
    )

    assert found == decimals(became)


@given(currency=currencies, parts=wholes, now=units)
@example(currency="EUR", parts=[1] * 100, now=50)
@example(currency="KWD", parts=[0] * 100, now=MOST)
def test_makes_the_new_whole_of_parts_that_made_the_old_one(currency, parts, now):
    whole = in_units(now, currency)

    found = shares(
        [in_units(part, currency) for part in parts],
        was=in_units(sum(parts), currency),
        now=whole,
        currency=currency,
        complete=True,
    )

    assert len(found) == len(parts)
    assert sum(found) == whole
    assert all(0 <= share <= whole for share in found)
    assert all(-share.as_tuple().exponent <= exponent(currency) for share in found)


@given(currency=currencies, parts=wholes, now=units)
@example(currency="EUR", parts=[1] * 100, now=50)
def test_gives_each_its_rounded_share_until_nothing_is_left(currency, parts, now):
    was, left, expected = sum(parts), now, []
    for part in parts[:-1]:
        share = half_up(Fraction(part * now, was)) if was else left
        expected.append(min(share, left))
        left -= expected[-1]
    expected.append(left)

    found = shares(
        [in_units(part, currency) for part in parts],
        was=in_units(was, currency),
        now=in_units(now, currency),
        currency=currency,
        complete=True,
    )

    assert found == [in_units(share, currency) for share in expected]


@given(
    currency=currencies,
    parts=wholes,
    was=st.integers(min_value=1, max_value=MOST),
    now=units,
)
def test_rounds_each_share_once_where_a_final_one_keeps_its_part(
    currency, parts, was, now
):
    found = shares(
        [in_units(part, currency) for part in parts],
        was=in_units(was, currency),
        now=in_units(now, currency),
        currency=currency,
        complete=False,
    )

    assert found == [
        in_units(half_up(Fraction(part * now, was)), currency) for part in parts
    ]


@given(currency=currencies, parts=st.lists(units, min_size=2, max_size=20))
def test_changes_nothing_where_the_amount_stays(currency, parts):
    was = in_units(sum(parts) or 1, currency)
    amounts = [in_units(part, currency) for part in parts]

    assert shares(amounts, was=was, now=was, currency=currency, complete=True) == (
        amounts
    )
