"""Parsing, rounding and validating amounts (docs/api-contract.md, section 1.3)."""

import json
from decimal import ROUND_HALF_UP, Decimal

import pytest
from babel.numbers import get_currency_precision
from hypothesis import given
from hypothesis import strategies as st

from tracking.errors import (
    AmountTooLarge,
    InvalidNumber,
    NegativeAmount,
    UnknownCurrency,
)
from tracking.money import (
    get_currency,
    get_exponent,
    get_symbol,
    list_currencies,
    parse_amount,
    round_amount,
    round_and_check_amount,
)

EXPONENTS = {"EUR": 2, "USD": 2, "JPY": 0, "KRW": 0, "KWD": 3, "BHD": 3, "TND": 3}


@pytest.mark.parametrize(("currency", "decimals"), EXPONENTS.items(), ids=EXPONENTS)
def test_returns_the_decimals_of_a_currency(currency, decimals):
    assert get_exponent(currency) == decimals


@pytest.mark.parametrize("currency", ["RSD", "ALL", "LBP", "MMK"])
def test_uses_two_decimals_of_currencies_without_coins(currency):
    assert get_currency_precision(currency) == 0
    assert get_exponent(currency) == 2


def test_has_at_least_the_decimals_of_babel():
    # Babel's decimals are those in everyday use, ISO 4217 defines the minor unit.
    fewer = {
        code for code in list_currencies() if get_currency_precision(code) > get_exponent(code)
    }

    assert fewer == set()


def test_no_currency_has_more_decimals_than_the_column():
    assert {get_exponent(code) for code in list_currencies()} <= {0, 1, 2, 3, 4}


def test_lists_current_legal_tender():
    assert {"EUR", "USD", "GBP", "CHF", "JPY", "KWD", "INR", "BRL"} <= list_currencies()
    assert list_currencies().isdisjoint({"DEM", "ITL", "XXX", "XTS", "XAU"})


@pytest.mark.parametrize("sent", ["EUR", "eur", "Eur", " eur ", "\teur\r\n"], ids=ascii)
def test_returns_a_currency_in_upper_case(sent):
    assert get_currency(sent) == "EUR"


@pytest.mark.parametrize(
    "sent",
    ["", " ", "EU", "EURO", "E UR", "XXX", "€", "\u00a0EUR", "\u0415UR"],
    ids=ascii,
)
def test_rejects_an_unknown_currency(sent):
    with pytest.raises(UnknownCurrency) as error:
        get_currency(sent)

    assert error.value.text == "Unknown currency"


SYMBOLS = {"EUR": "€", "USD": "$", "XOF": "F\u202fCFA", "AED": "AED"}


@pytest.mark.parametrize(("currency", "symbol"), SYMBOLS.items(), ids=SYMBOLS)
def test_returns_the_symbol_or_the_code(currency, symbol):
    assert get_symbol(currency) == symbol


ROUNDED = [
    ("EUR", "0.005", "0.01"),
    ("EUR", "0.0049999999999999999", "0.00"),
    ("EUR", "0.015", "0.02"),
    ("EUR", "0.025", "0.03"),
    ("EUR", "1.005", "1.01"),
    ("EUR", "2.675", "2.68"),
    ("EUR", "3.7425", "3.74"),
    ("EUR", "0.30000000000000004", "0.30"),
    ("EUR", "0.1", "0.10"),
    ("EUR", "20", "20.00"),
    ("EUR", "9999999999999.994", "9999999999999.99"),
    ("JPY", "0.5", "1"),
    ("JPY", "1.5", "2"),
    ("JPY", "2.49", "2"),
    ("KWD", "0.0005", "0.001"),
    ("KWD", "3.7425", "3.743"),
    ("KWD", "0.0004", "0.000"),
    ("EUR", "-0.005", "-0.01"),
    ("EUR", "-1.004", "-1.00"),
]


@pytest.mark.parametrize(("currency", "exact", "expected"), ROUNDED)
def test_rounds_half_up_to_the_minor_unit(currency, exact, expected):
    rounded = round_amount(Decimal(exact), currency)

    assert rounded == Decimal(expected)
    assert str(rounded) == expected or not rounded


@pytest.mark.parametrize("exact", ["0", "-0", "-0.00", "-0.004", "0E+50"])
def test_rounds_to_one_representation_of_zero(exact):
    assert str(round_amount(Decimal(exact), "EUR")) == "0"


amounts = st.decimals(min_value=0, max_value=9_999_999_999, allow_nan=False, allow_infinity=False)


@given(amounts, amounts, st.sampled_from(["EUR", "JPY", "KWD"]))
def test_rounding_is_near_idempotent_and_monotonic(one, other, currency):
    unit = Decimal(1).scaleb(-get_exponent(currency))
    smaller, larger = sorted([one, other])

    rounded = round_amount(smaller, currency)

    assert abs(rounded - smaller) <= unit / 2
    assert rounded == rounded.quantize(unit) == round_amount(rounded, currency)
    assert rounded <= round_amount(larger, currency)


PARSED = {
    "0": "0",
    "5": "5",
    "49.90": "49.90",
    "007": "7",
    "00.50": "0.50",
    "-5": "-5",
    "-0.01": "-0.01",
    "90071992547409.93": "90071992547409.93",
    "0.30000000000000004": "0.30000000000000004",
}


@pytest.mark.parametrize(("sent", "expected"), PARSED.items(), ids=PARSED)
def test_parses_an_ascii_decimal_string(sent, expected):
    assert str(parse_amount(sent)) == expected


@pytest.mark.parametrize(
    "sent",
    [
        *("", " ", " 5 ", "5 ", "5\n", "+1", "--1", "- 1", "1e3", "1E3", "1_000"),
        *("1,5", "1,000.00", ".5", "5.", ".", "-", "-.5", "1.2.3", "NaN", "nan"),
        *("Infinity", "-Infinity", "inf", "sNaN", "0x10", "five", "5 EUR", "€5"),
        *("\uff15", "\u0665", "1\u00a0000", "5\x00", "null", "true"),
    ],
    ids=ascii,
)
def test_rejects_any_other_string(sent):
    with pytest.raises(InvalidNumber) as error:
        parse_amount(sent)

    assert error.value.text == "This value should be a number."


@pytest.mark.parametrize("sent", [0, 5, -5, 10**15], ids=str)
def test_parses_an_integer(sent):
    assert parse_amount(sent) == Decimal(sent)


def test_parses_a_json_number_exactly():
    sent = json.loads("0.30000000000000004", parse_float=Decimal)

    assert str(parse_amount(sent)) == "0.30000000000000004"


@pytest.mark.parametrize(
    "sent", [True, False, None, 0.5, [], [5], {}, {"amount": 5}, b"5"], ids=repr
)
def test_rejects_values_of_other_types(sent):
    with pytest.raises(InvalidNumber):
        parse_amount(sent)


VALID = {
    "EUR": {
        "0": "0",
        "9999999999999.99": "9999999999999.99",
        "9999999999999.994": "9999999999999.99",
        "9999999999999": "9999999999999",
        "1000000000000.01": "1000000000000.01",
        "0." + "3" * 40: "0.33",
        "0.30000000000000004": "0.3",
        "1.99999999999999999999": "2",
        "1E+12": "1000000000000",
        **dict.fromkeys(("0E+50", "0E-90", "1E-90", "-0.004", "-0.0"), "0"),
    },
    "JPY": dict.fromkeys(("9999999999999", "9999999999999.4"), "9999999999999"),
    "KWD": {
        "999999999999.999": "999999999999.999",
        "9999999999999.99": "9999999999999.99",
        "9999999999999.990": "9999999999999.99",
        "9999999999999.9904": "9999999999999.99",
    },
}


@pytest.mark.parametrize(
    ("currency", "exact", "expected"),
    [(currency, *row) for currency, rows in VALID.items() for row in rows.items()],
)
def test_rounds_a_valid_amount(currency, exact, expected):
    assert round_and_check_amount(Decimal(exact), currency) == Decimal(expected)


INVALID = {
    "EUR": [
        *("10000000000000", "9999999999999.995", "1E+13", "1E+99"),
        "90071992547409.93",
    ],
    "JPY": ["9999999999999.5", "10000000000000"],
    "KWD": ["9999999999999.999", "1000000000000.001"],
}


@pytest.mark.parametrize(
    ("currency", "exact"),
    [(currency, exact) for currency, rows in INVALID.items() for exact in rows],
)
def test_rejects_an_amount_with_too_many_digits(currency, exact):
    with pytest.raises(AmountTooLarge) as error:
        round_and_check_amount(Decimal(exact), currency)

    assert error.value.text == "This value has too many digits."


@pytest.mark.parametrize("sent", ["9" * 14, "9" * 64, "9" * 65, "9" * 400, "1" + "0" * 13])
def test_rejects_a_string_with_too_many_digits(sent):
    with pytest.raises(AmountTooLarge):
        round_and_check_amount(parse_amount(sent), "EUR")


LONG_STRINGS = {
    "many decimals": ("0." + "3" * 70, "0.33"),
    "many trailing zeros": ("5." + "0" * 70, "5"),
    "many leading zeros": ("0" * 70 + "5", "5"),
}


@pytest.mark.parametrize(("sent", "expected"), LONG_STRINGS.values(), ids=LONG_STRINGS)
def test_rounds_before_counting_digits(sent, expected):
    assert round_and_check_amount(parse_amount(sent), "EUR") == Decimal(expected)


@pytest.mark.parametrize(
    ("currency", "exact"),
    [("EUR", "-0.01"), ("EUR", "-0.005"), ("EUR", "-5"), ("JPY", "-0.5")],
)
def test_rejects_negative_amount(currency, exact):
    with pytest.raises(NegativeAmount) as error:
        round_and_check_amount(Decimal(exact), currency)

    assert error.value.text == "This value should be 0 or more."


def test_checks_limits_without_a_currency():
    assert round_and_check_amount(Decimal("0.3333"), None) == Decimal("0.3333")
    with pytest.raises(AmountTooLarge):
        round_and_check_amount(Decimal("1E+13"), None)
    with pytest.raises(NegativeAmount):
        round_and_check_amount(Decimal(-5), None)


@pytest.mark.parametrize(
    ("currency", "exact"),
    [("EUR", "-0.004"), ("JPY", "-0.4"), ("KWD", "-0.0004"), ("KWD", "0.0005")],
)
def test_validation_without_currency_rejects_no_valid_amount(currency, exact):
    without_currency = round_and_check_amount(Decimal(exact), None)

    assert round_and_check_amount(without_currency, currency) == round_and_check_amount(
        Decimal(exact), currency
    )


def calculate_expected(exact, currency):
    """An independent implementation: the amount, or the class of its error."""
    unit = Decimal(1).scaleb(-get_exponent(currency))
    rounded = exact if exact >= 10**15 else exact.quantize(unit, ROUND_HALF_UP)
    digits = len(rounded.normalize().as_tuple().digits)
    if abs(rounded) >= 10**13 or digits > 15:
        return AmountTooLarge
    return rounded if rounded >= 0 else NegativeAmount


@given(
    st.decimals(-(10**14), 10**16, allow_nan=False, allow_infinity=False, places=6),
    st.sampled_from(["EUR", "JPY", "KWD"]),
)
def test_validates_like_an_independent_implementation(exact, currency):
    expected = calculate_expected(exact, currency)

    if isinstance(expected, Decimal):
        assert round_and_check_amount(exact, currency) == expected
    else:
        with pytest.raises(expected):
            round_and_check_amount(exact, currency)
