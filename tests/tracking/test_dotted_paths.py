"""Paths into JSON."""

import pytest

from tracking.dotted_paths import find_value, is_path, list_values

BODY = {
    "data": {
        "id": 7,
        "items": [{"sku": "a"}, {"sku": "b", "tags": ["x", "y"]}, {"name": "c"}],
    },
    "0": "a key that is a number",
    "none": None,
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("data.id", [7]),
        ("data.items.1.sku", ["b"]),
        ("data.items.*.sku", ["a", "b"]),
        ("data.items.*.tags.*", ["x", "y"]),
        ("0", ["a key that is a number"]),
        ("none", [None]),
        ("data.items.3.sku", []),
        ("data.items.-1.sku", []),
        ("data.items.²", []),
        ("data.id.more", []),
        ("data.*", []),
        ("missing", []),
    ],
)
def test_it_lists_the_values_at_a_path(path, values):
    assert list_values(BODY, path) == values


def test_it_finds_the_first_value_or_none():
    assert find_value(BODY, "data.items.*.sku") == "a"
    assert find_value(BODY, "data.items.*.price") is None
    assert find_value(BODY, "") is None


@pytest.mark.parametrize("path", ["a", "a.b", "a.0.*", "a b.c", "a." * 19 + "b"])
def test_it_takes_paths(path):
    assert is_path(path)


@pytest.mark.parametrize(
    "path", ["", ".", "a.", ".a", "a..b", "a. b", "a\n", "a." * 20 + "b", "x" * 201, 5]
)
def test_it_takes_nothing_else(path):
    assert not is_path(path)
