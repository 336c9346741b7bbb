"""Amounts as shops print them."""

import re

import pytest

from tests.printed_amounts import PRINTED_AMOUNTS, REFUSED_BY_THE_SERVER
from tracking.money import list_currencies
from tracking.printed_amounts import MARKS, read_printed_amount


@pytest.mark.parametrize(("text", "currency", "value"), PRINTED_AMOUNTS)
def test_reads_an_amount_that_has_one_meaning(text, currency, value):
    amount = read_printed_amount(text, currency)

    assert (amount and amount.digits) == value


@pytest.mark.parametrize(("text", "currency"), REFUSED_BY_THE_SERVER)
def test_refuses_a_mark_of_another_currency(text, currency):
    assert read_printed_amount(text, currency) is None


@pytest.mark.parametrize(
    ("text", "currencies"),
    [
        ("49.90", set()),
        ("€49.90", {"EUR"}),
        ("49.90 USD", {"USD"}),
        ("¥500", {"JPY", "CNY"}),
        ("500 kr", {"SEK", "NOK", "DKK", "ISK"}),
    ],
)
def test_says_which_currencies_are_meant(text, currencies):
    assert read_printed_amount(text, None).currencies == currencies


def test_knows_the_currencies_of_its_marks():
    codes = {code for text in MARKS.values() for code in text.split()}

    assert {code for code in codes if not re.fullmatch("[A-Z]{3}", code)} == set()
    assert codes <= list_currencies()
