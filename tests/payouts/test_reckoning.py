"""Contract 7.2: how much a sale earns, and in which state it is born."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payouts.reckoning import Circumstances, Facts, Part, Rate, reckon
from tracking.money import exponent

CURRENCIES = ["EUR", "JPY", "KWD"]


def percent(value, source="commission type standard"):
    return Rate("standard", "Standard", "percentage", Decimal(value), source)


def fixed(value):
    return Rate("flat", "Flat", "fixed", Decimal(value), "commission type flat")


def facts(*parts, currency="EUR", **more):
    return Facts(
        currency=currency,
        affiliate=7,
        parts=parts,
        circumstances=Circumstances(**({"approves": False} | more)),
    )


def amount(sub_amount, rate, currency="EUR"):
    """What one part of a sale earns."""
    line = reckon(facts(Part(Decimal(sub_amount), rate), currency=currency))[0]
    return line.amount


@pytest.mark.parametrize(
    ("sub_amount", "rate", "earned"),
    [
        pytest.param("200.00", "10", "20", id="tenth"),
        pytest.param("49.90", "7.5", "3.74", id="the-contracts-3.7425"),
        pytest.param("0.05", "10", "0.01", id="half-a-cent-goes-up"),
        pytest.param("0.04", "10", "0", id="less-than-half-a-cent"),
        pytest.param("0.33", "1.5", "0", id="0.00495-is-rounded-once"),
        pytest.param("1.00", "0.4999", "0", id="0.004999"),
        pytest.param("1.00", "0.5", "0.01", id="0.005"),
        pytest.param("9999999999999.99", "100", "9999999999999.99", id="the-most"),
        pytest.param("9999999999999.99", "33.3333", "3333330000000", id="long"),
        pytest.param("200", "0", "0", id="nought-percent"),
        pytest.param("0", "10", "0", id="of-nought"),
    ],
)
def test_takes_a_share_of_the_sub_amount(sub_amount, rate, earned):
    assert amount(sub_amount, percent(rate)) == Decimal(earned)


@pytest.mark.parametrize(
    ("currency", "sub_amount", "earned"),
    [
        pytest.param("JPY", "15", "2", id="JPY-half-goes-up"),
        pytest.param("JPY", "14", "1", id="JPY-below-half"),
        pytest.param("KWD", "0.005", "0.001", id="KWD-half-goes-up"),
        pytest.param("KWD", "0.004", "0", id="KWD-below-half"),
        pytest.param("KWD", "1.234", "0.123", id="KWD-three-decimals"),
    ],
)
def test_rounds_to_the_minor_unit_of_the_currency(currency, sub_amount, earned):
    assert amount(sub_amount, percent(10), currency) == Decimal(earned)


@pytest.mark.parametrize("currency", CURRENCIES)
@pytest.mark.parametrize("sub_amount", ["0", "0.01", "200", "9999999999999"])
def test_keeps_the_number_of_a_fixed_amount(currency, sub_amount):
    assert amount(sub_amount, fixed("5"), currency) == Decimal(5)


def test_writes_a_line_for_each_part_in_their_order():
    parts = [
        Part(Decimal("200.00"), percent(10)),
        Part(Decimal(0), percent(10), "nothing"),
        Part(Decimal("49.90"), percent("7.5"), "a lamp"),
    ]

    lines = reckon(facts(*parts))

    assert [line.part for line in lines] == parts
    assert [line.affiliate for line in lines] == [7, 7, 7]
    assert [line.exact for line in lines] == [
        Decimal(20),
        Decimal(0),
        Decimal("3.7425"),
    ]
    assert [line.amount for line in lines] == [Decimal(20), Decimal(0), Decimal("3.74")]


@pytest.mark.parametrize(
    ("approves", "warnings", "past_cap", "status", "reason"),
    [
        pytest.param(
            *(False, (), False, "pending"),
            "the program lets somebody decide",
            id="waits",
        ),
        pytest.param(
            *(True, (), False, "approved"),
            "the program approves by itself",
            id="approves",
        ),
        pytest.param(
            *(True, ("customer_is_affiliate",), False, "pending"),
            "waits for a look: customer_is_affiliate",
            id="warned",
        ),
        pytest.param(
            *(False, ("one", "another"), False, "pending"),
            "waits for a look: one, another",
            id="warned-twice",
        ),
        pytest.param(
            *(False, (), True, "disapproved"),
            "past the program's cap for this customer",
            id="past-the-cap",
        ),
        pytest.param(
            *(True, ("customer_is_affiliate",), True, "disapproved"),
            "past the program's cap for this customer",
            id="past-the-cap-and-warned",
        ),
    ],
)
def test_says_in_which_state_and_why(approves, warnings, past_cap, status, reason):
    parts = [Part(Decimal(200), percent(10)), Part(Decimal(0), percent(10))]

    lines = reckon(
        facts(*parts, approves=approves, warnings=warnings, past_cap=past_cap)
    )

    assert [(line.status, line.reason) for line in lines] == [(status, reason)] * 2


def test_keeps_enough_to_do_the_arithmetic_again():
    line = reckon(facts(Part(Decimal("49.90"), percent("7.5"))))[0]

    working = line.working()

    assert working == {
        "engine": "1",
        "affiliate": 7,
        "sub_amount": "49.90",
        "rate": {
            "kind": "percentage",
            "value": "7.5",
            "from": "commission type standard",
        },
        "exact": working["exact"],
        "amount": "3.74",
        "status": "pending",
        "reason": "the program lets somebody decide",
        "circumstances": {
            "approves": False,
            "warnings": [],
            "told_by_page": False,
            "past_cap": False,
            "covered": True,
            "leads": None,
        },
    }
    assert Decimal(working["exact"]) == Decimal("3.7425")


@given(
    currency=st.sampled_from(CURRENCIES),
    units=st.integers(min_value=0, max_value=10**15 - 1),
    rate=st.integers(min_value=0, max_value=100 * 10_000),
)
def test_agrees_with_whole_numbers_for_any_share(currency, units, rate):
    decimals = exponent(currency)
    units %= 10 ** (13 + decimals)
    numerator, denominator = units * rate, 100 * 10_000
    half_up = (2 * numerator + denominator) // (2 * denominator)

    earned = amount(
        Decimal(units).scaleb(-decimals), percent(Decimal(rate).scaleb(-4)), currency
    )

    assert earned == Decimal(half_up).scaleb(-decimals)
    assert earned == earned.quantize(Decimal(1).scaleb(-decimals))


@given(
    currency=st.sampled_from(CURRENCIES),
    units=st.integers(min_value=0, max_value=10**13 - 1),
    sub_amount=st.decimals(min_value=0, max_value=10**12, places=3),
)
def test_pays_a_fixed_amount_whatever_was_sold(currency, units, sub_amount):
    value = Decimal(units).scaleb(-exponent(currency))

    assert amount(sub_amount, fixed(value), currency) == value
