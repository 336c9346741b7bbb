"""What the kinds of shops have in common."""

from decimal import Decimal

import pytest

from accounts.exact_json import format_decimal
from affiliate_site.shops.base import (
    OddValue,
    describe,
    list_link_values,
    pick_attributes,
    read_id,
    read_signed,
    show_value,
)
from affiliate_site.shops.lines import build_lines
from payouts.services.imported_people import find_code
from tests.architecture.syntax_trees import ROOT
from tracking.models.programs import CODE_PARAMETERS, FOREIGN_LINK_PARAMETERS
from tracking.models.shops import Connection


@pytest.mark.parametrize(
    ("address", "values"),
    [
        ("/?utm_source=x&via=b&ref=a", ["a", "b"]),
        ("https://shop.example.net/p?fpr=a#ref=b", ["a"]),
        ("/?tap_a=1-a&tap_s=2-b", ["1-a 2-b"]),
        ("/?tap_a=1-a", []),
        ("/?partner=z&ref=a", ["z", "a"]),
        ("/?ref=", []),
        ("http://[", []),
        ("/?" + "&".join("a" * 200), []),
        (None, []),
        (5, []),
    ],
)
def test_links_name_who_referred_the_visitor(address, values):
    connection = Connection(settings={"referral_fields": ["partner"]})
    assert list_link_values(connection, address) == values


@pytest.mark.parametrize("name", CODE_PARAMETERS)
def test_shops_and_imports_read_the_same_links(name):
    link = f"https://shop.example.net/#/?{name}=old&amp;{name}=mina-10"
    assert list_link_values(Connection(), link) == ["mina-10"]
    assert find_code(link) == "mina-10"


def test_the_browser_script_reads_them_too():
    script = (ROOT / "affiliate_site" / "browser" / "tap.js").read_text()
    names = ", ".join(f'"{name}"' for name in FOREIGN_LINK_PARAMETERS)
    assert f"FOREIGN_PARAMETERS = [{names}]" in script


def test_attributes_that_no_rule_names_are_left_out():
    rules = [{"field": "shelf"}, {"field": "currency"}]
    connection = Connection(settings={"programs": rules})
    assert pick_attributes(connection, {"shelf": "b", "note": "x"}) == {"shelf": "b"}


def list_amounts(listed, total, currency="EUR"):
    lines = [{"id": "", "products": [], "amount": amount} for amount in listed]
    built = build_lines(lines, Decimal(total), currency)
    return [format_decimal(Decimal(line["amount"])) for line in built]


@pytest.mark.parametrize(
    ("listed", "total", "currency", "expected"),
    [
        (["84.03", "8.40"], "92.43", "EUR", ["84.03", "8.4"]),
        # Rounding.
        (["84.03", "8.40"], "92.44", "EUR", ["84.04", "8.4"]),
        (["8.40", "84.03"], "92.41", "EUR", ["8.4", "84.01"]),
        (["8"], "9", "JPY", ["9"]),
        # A credit lowers the lines above zero in proportion.
        (["-5", "30"], "25", "EUR", ["0", "25"]),
        (["30", "-5"], "25", "EUR", ["25", "0"]),
        (["10", "20", "-3"], "27", "EUR", ["9", "18", "0"]),
        # A part was paid in another way; tax earns.
        (["10", "20"], "20", "EUR", ["6.67", "13.33"]),
        (["10", "20"], "35.7", "EUR", ["11.9", "23.8"]),
        (["10", "0"], "9.99", "EUR", ["9.99", "0"]),
        (["1", "1", "1", "0"], "1", "EUR", ["0.33", "0.33", "0.34", "0"]),
        (["10", "20"], "0", "EUR", ["0", "0"]),
        (["10", "20"], "-7", "EUR", ["0", "0"]),
        # Nothing is above zero.
        (["0", "-2"], "9", "EUR", ["9"]),
        ([], "9", "JPY", ["9"]),
    ],
)
def test_lines_have_the_sum_of_the_sale(listed, total, currency, expected):
    assert list_amounts(listed, total, currency) == expected


def test_a_line_says_what_the_shop_listed_if_that_is_different():
    line = {"id": "1", "products": ["LAMP"], "amount": "10"}
    assert build_lines([line], Decimal(10), "EUR") == [line]
    assert build_lines([line], Decimal(9), "EUR") == [
        {"id": "1", "products": ["LAMP"], "amount": "9", "listed": "10"}
    ]


@pytest.mark.parametrize("value", [None, True, 1.5, Decimal(5), "", "x" * 256, [1], {}])
def test_odd_ids_are_refused(value):
    with pytest.raises(ValueError, match="is no ID"):
        read_id(value)


@pytest.mark.parametrize("value", ["--5", "-", "-NaN", "- -5", None, True, [], "-1e20"])
def test_odd_amounts_are_refused(value):
    with pytest.raises(ValueError, match="no amount"):
        read_signed(value)


def test_an_amount_may_be_below_zero():
    assert read_signed("-5.95") == Decimal("-5.95")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OddValue("“ten” is no amount"), "“ten” is no amount"),
        (KeyError("currency"), "it has no “currency”"),
        (IndexError("list index out of range"), "a list in it is empty"),
        (
            TypeError("'NoneType' object is not subscriptable"),
            "a value in it has another form than the shop documents",
        ),
    ],
)
def test_errors_are_described_for_staff(error, sentence):
    assert describe(error) == sentence


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "there"),
        (True, "“true”"),
        (Decimal("10.50"), "“10.50”"),
        ({}, "an object"),
        ([5], "a list"),
        ("a\x00b" + "c" * 100, "“ab" + "c" * 77 + "”"),
    ],
)
def test_odd_values_are_shown(value, text):
    assert show_value(value) == text
