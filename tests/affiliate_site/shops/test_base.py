"""What the kinds of shops have in common."""

from decimal import Decimal

import pytest

from affiliate_site.shops.base import (
    adjust_rounding,
    list_link_values,
    pick_attributes,
    read_id,
    read_signed,
)
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


def test_attributes_that_no_rule_names_are_left_out():
    rules = [{"field": "shelf"}, {"field": "currency"}]
    connection = Connection(settings={"programs": rules})
    assert pick_attributes(connection, {"shelf": "b", "note": "x"}) == {"shelf": "b"}


def build_lines(*amounts):
    return [{"id": "", "products": [], "amount": amount} for amount in amounts]


@pytest.mark.parametrize(
    ("amounts", "total", "currency", "expected"),
    [
        (["84.03", "8.40"], "92.44", "EUR", ["84.04", "8.40"]),
        (["8.40", "84.03"], "92.41", "EUR", ["8.40", "84.01"]),
        (["8.40", "84.03"], "92.40", "EUR", ["8.40", "84.03"]),
        (["8.40"], "8.40", "EUR", ["8.40"]),
        (["8"], "9", "JPY", ["9"]),
        ([], "9", "JPY", []),
    ],
)
def test_only_what_rounding_lost_is_added(amounts, total, currency, expected):
    lines = adjust_rounding(build_lines(*amounts), Decimal(total), currency)
    assert [line["amount"] for line in lines] == expected


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
