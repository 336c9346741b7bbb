"""Contract 1.3: amounts that are read, rounded once, and admitted."""

import json
from decimal import ROUND_HALF_UP, Decimal

import pytest
from babel.numbers import get_currency_precision
from hypothesis import given
from hypothesis import strategies as st

from tracking.errors import (
    BelowNought,
    NotANumber,
    TooManyDigits,
    UnknownCurrency,
)
from tracking.money import (
    admit,
    currencies,
    currency_named,
    exponent,
    read_amount,
    round_to,
    symbol,
)

EXPONENTS = {"EUR": 2, "USD": 2, "JPY": 0, "KRW": 0, "KWD": 3, "BHD": 3, "TND": 3}


@pytest.mark.parametrize(("currency", "decimals"), EXPONENTS.items(), ids=EXPONENTS)
def test_knows_the_decimals_of_a_currency(currency, decimals):
    assert exponent(currency) == decimals


@pytest.mark.parametrize("currency", ["RSD", "ALL", "LBP", "MMK"])
def test_keeps_the_hundredths_that_everyday_cash_has_given_up(currency):
    assert get_currency_precision(currency) == 0
    assert exponent(currency) == 2


def test_differs_from_babel_only_where_everyday_cash_does():
    # Babel tells how many decimals people use, ISO 4217 how many the currency has.
    fewer = {
        code for code in currencies() if get_currency_precision(code) > exponent(code)
    }

    assert fewer == set()


def test_has_no_currency_with_more_decimals_than_a_column():
    assert {exponent(code) for code in currencies()} <= {0, 1, 2, 3, 4}


def test_pays_in_the_currencies_of_the_world_today():
    assert {"EUR", "USD", "GBP", "CHF", "JPY", "KWD", "INR", "BRL"} <= currencies()
    assert currencies().isdisjoint({"DEM", "ITL", "XXX", "XTS", "XAU"})


@pytest.mark.parametrize("sent", ["EUR", "eur", "Eur", " eur ", "\teur\r\n"], ids=ascii)
def test_names_a_currency_in_upper_case(sent):
    assert currency_named(sent) == "EUR"


@pytest.mark.parametrize(
    "sent",
    ["", " ", "EU", "EURO", "E UR", "XXX", "€", "\u00a0EUR", "\u0415UR"],
    ids=ascii,
)
def test_does_not_know_another_currency(sent):
    with pytest.raises(UnknownCurrency) as refused:
        currency_named(sent)

    assert refused.value.text == "Unknown currency"


@pytest.mark.parametrize(
    ("currency", "sign"), [("EUR", "€"), ("USD", "$"), ("XOF", "F\u202fCFA")]
)
def test_shows_a_currency_by_its_symbol(currency, sign):
    assert symbol(currency) == sign


def test_shows_a_currency_by_its_code_when_it_has_no_symbol():
    assert symbol("AED") == "AED"


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


@pytest.mark.parametrize(("currency", "exact", "kept"), ROUNDED)
def test_rounds_half_up_to_the_minor_unit(currency, exact, kept):
    rounded = round_to(currency, Decimal(exact))

    assert rounded == Decimal(kept)
    assert str(rounded) == kept or not rounded


@pytest.mark.parametrize("exact", ["0", "-0", "-0.00", "-0.004", "0E+50"])
def test_knows_one_nought(exact):
    assert str(round_to("EUR", Decimal(exact))) == "0"


amounts = st.decimals(
    min_value=0, max_value=9_999_999_999, allow_nan=False, allow_infinity=False
)


@given(amounts, st.sampled_from(["EUR", "JPY", "KWD"]))
def test_rounds_by_half_a_minor_unit_at_most(exact, currency):
    unit = Decimal(1).scaleb(-exponent(currency))

    rounded = round_to(currency, exact)

    assert abs(rounded - exact) <= unit / 2
    assert rounded == rounded.quantize(unit)


@given(amounts, st.sampled_from(["EUR", "JPY", "KWD"]))
def test_rounds_a_rounded_amount_no_further(exact, currency):
    rounded = round_to(currency, exact)

    assert round_to(currency, rounded) == rounded


@given(amounts, amounts, st.sampled_from(["EUR", "JPY", "KWD"]))
def test_rounds_the_larger_amount_to_no_less(one, other, currency):
    smaller, larger = sorted([one, other])

    assert round_to(currency, smaller) <= round_to(currency, larger)


READ = {
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


@pytest.mark.parametrize(("sent", "meant"), READ.items(), ids=READ)
def test_reads_an_ascii_decimal_string(sent, meant):
    assert str(read_amount(sent)) == meant


@pytest.mark.parametrize(
    "sent",
    [
        "",
        " ",
        " 5 ",
        "5 ",
        "5\n",
        "+1",
        "--1",
        "- 1",
        "1e3",
        "1E3",
        "1_000",
        "1,5",
        "1,000.00",
        ".5",
        "5.",
        ".",
        "-",
        "-.5",
        "1.2.3",
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "inf",
        "sNaN",
        "0x10",
        "five",
        "5 EUR",
        "€5",
        "\uff15",
        "\u0665",
        "1\u00a0000",
        "5\x00",
        "null",
        "true",
    ],
    ids=ascii,
)
def test_refuses_any_other_string(sent):
    with pytest.raises(NotANumber) as refused:
        read_amount(sent)

    assert refused.value.text == "This value should be a number."


@pytest.mark.parametrize("sent", [0, 5, -5, 10**15], ids=str)
def test_reads_a_whole_number(sent):
    assert read_amount(sent) == Decimal(sent)


def test_reads_the_very_digits_of_a_json_number():
    sent = json.loads("0.30000000000000004", parse_float=Decimal)

    assert str(read_amount(sent)) == "0.30000000000000004"


@pytest.mark.parametrize(
    "sent", [True, False, None, 0.5, [], [5], {}, {"amount": 5}, b"5"], ids=repr
)
def test_refuses_what_is_no_number(sent):
    with pytest.raises(NotANumber):
        read_amount(sent)


ADMITTED = [
    ("EUR", "0", "0"),
    ("EUR", "9999999999999.99", "9999999999999.99"),
    ("EUR", "9999999999999.994", "9999999999999.99"),
    ("EUR", "9999999999999", "9999999999999"),
    ("EUR", "1000000000000.01", "1000000000000.01"),
    ("EUR", "0." + "3" * 40, "0.33"),
    ("EUR", "0.30000000000000004", "0.3"),
    ("EUR", "1.99999999999999999999", "2"),
    ("EUR", "0E+50", "0"),
    ("EUR", "0E-90", "0"),
    ("EUR", "1E-90", "0"),
    ("EUR", "-0.004", "0"),
    ("EUR", "-0.0", "0"),
    ("EUR", "1E+12", "1000000000000"),
    ("JPY", "9999999999999", "9999999999999"),
    ("JPY", "9999999999999.4", "9999999999999"),
    ("KWD", "999999999999.999", "999999999999.999"),
    ("KWD", "9999999999999.99", "9999999999999.99"),
    ("KWD", "9999999999999.990", "9999999999999.99"),
    ("KWD", "9999999999999.9904", "9999999999999.99"),
]


@pytest.mark.parametrize(("currency", "exact", "kept"), ADMITTED)
def test_admits_an_amount_rounded(currency, exact, kept):
    assert admit(Decimal(exact), currency) == Decimal(kept)


REFUSED = [
    ("EUR", "10000000000000"),
    ("EUR", "9999999999999.995"),
    ("EUR", "1E+13"),
    ("EUR", "1E+99"),
    ("EUR", "90071992547409.93"),
    ("JPY", "9999999999999.5"),
    ("JPY", "10000000000000"),
    ("KWD", "9999999999999.999"),
    ("KWD", "1000000000000.001"),
]


@pytest.mark.parametrize(("currency", "exact"), REFUSED)
def test_refuses_an_amount_of_too_many_digits(currency, exact):
    with pytest.raises(TooManyDigits) as refused:
        admit(Decimal(exact), currency)

    assert refused.value.text == "This value has too many digits."


@pytest.mark.parametrize(
    "sent", ["9" * 14, "9" * 64, "9" * 65, "9" * 400, "1" + "0" * 13]
)
def test_refuses_a_string_of_too_many_digits(sent):
    with pytest.raises(TooManyDigits):
        admit(read_amount(sent), "EUR")


LONG_STRINGS = {
    "many decimals": ("0." + "3" * 70, "0.33"),
    "many noughts behind": ("5." + "0" * 70, "5"),
    "many noughts before": ("0" * 70 + "5", "5"),
}


@pytest.mark.parametrize(("sent", "kept"), LONG_STRINGS.values(), ids=LONG_STRINGS)
def test_rounds_a_string_first_and_counts_its_digits_then(sent, kept):
    assert admit(read_amount(sent), "EUR") == Decimal(kept)


@pytest.mark.parametrize(
    ("currency", "exact"),
    [("EUR", "-0.01"), ("EUR", "-0.005"), ("EUR", "-5"), ("JPY", "-0.5")],
)
def test_refuses_an_amount_below_nought(currency, exact):
    with pytest.raises(BelowNought) as refused:
        admit(Decimal(exact), currency)

    assert refused.value.text == "This value should be 0 or more."


def test_refuses_what_no_currency_could_mend_while_it_is_unknown():
    assert admit(Decimal("0.3333"), None) == Decimal("0.3333")
    with pytest.raises(TooManyDigits):
        admit(Decimal("1E+13"), None)
    with pytest.raises(BelowNought):
        admit(Decimal(-5), None)


@pytest.mark.parametrize(
    ("currency", "exact"),
    [("EUR", "-0.004"), ("JPY", "-0.4"), ("KWD", "-0.0004"), ("KWD", "0.0005")],
)
def test_refuses_nothing_early_that_its_currency_admits(currency, exact):
    early = admit(Decimal(exact), None)

    assert admit(early, currency) == admit(Decimal(exact), currency)


def admitted(exact, currency):
    """The contract's rule in other words: the amount, or the kind of its refusal."""
    unit = Decimal(1).scaleb(-exponent(currency))
    rounded = exact if exact >= 10**15 else exact.quantize(unit, ROUND_HALF_UP)
    digits = len(rounded.normalize().as_tuple().digits)
    if abs(rounded) >= 10**13 or digits > 15:
        return TooManyDigits
    return rounded if rounded >= 0 else BelowNought


@given(
    st.decimals(-(10**14), 10**16, allow_nan=False, allow_infinity=False, places=6),
    st.sampled_from(["EUR", "JPY", "KWD"]),
)
def test_admits_only_what_the_contract_admits(exact, currency):
    expected = admitted(exact, currency)

    if isinstance(expected, Decimal):
        assert admit(exact, currency) == expected
    else:
        with pytest.raises(expected):
            admit(exact, currency)
