"""Validation of meta data (docs/api-contract.md, section 1.10)."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracking.meta_data import InvalidMetaData, mend_meta_data, validate_meta_data

FORBIDDEN = "\":{}]\\'/&"


def list_errors(data):
    """The key and the message of each error."""
    with pytest.raises(InvalidMetaData) as error:
        validate_meta_data(data)
    return [(each.key, each.text) for each in error.value.errors]


def get_error(data):
    (error,) = list_errors(data)
    return error


def shorten(value):
    """A short test id for a long value."""
    text = ascii(value)
    return text if len(text) < 20 else f"{text[:8]} {len(value)}"


def test_accepts_an_empty_object():
    assert validate_meta_data({}) == {}


def test_accepts_ten_keys():
    data = {f"key-{n}": "value" for n in range(10)}

    assert validate_meta_data(data) == data


def test_rejects_eleven_keys():
    data = {f"key-{n}": "value" for n in range(11)}

    assert get_error(data) == (None, "Meta data holds 10 keys at most.")


@pytest.mark.parametrize("key", ["k", "k" * 64, "ž" * 64, "🛶" * 64], ids=shorten)
def test_accepts_a_key_of_1_to_64_characters(key):
    assert validate_meta_data({key: "value"}) == {key: "value"}


@pytest.mark.parametrize("key", ["k" * 65, "🛶" * 65], ids=shorten)
def test_rejects_a_key_of_65_characters(key):
    message = "This value is too long, 64 characters at most."

    assert get_error({key: "value"}) == (key, message)


def test_rejects_an_empty_key():
    message = "This value is too short, 1 characters at least."

    assert get_error({"": "value"}) == ("", message)


@pytest.mark.parametrize("character", FORBIDDEN, ids=shorten)
@pytest.mark.parametrize("form", ["{}", "a{}", "{}z", "a{}z"])
def test_rejects_a_forbidden_character_anywhere_in_a_key(form, character):
    key = form.replace("{}", character)

    message = "This key holds a character that is not allowed."
    assert get_error({key: "value"}) == (key, message)


@pytest.mark.parametrize("key", ["a b", "a[b", "a.b", "a-b_c", " ", "a,b;c#d", "<b>"])
def test_accepts_other_characters_in_a_key(key):
    assert validate_meta_data({key: "value"}) == {key: "value"}


@pytest.mark.parametrize("value", ["", " ", "v" * 255, "🛶" * 255, FORBIDDEN], ids=shorten)
def test_accepts_a_value_of_255_characters_unchanged(value):
    assert validate_meta_data({"key": value}) == {"key": value}


@pytest.mark.parametrize("value", ["v" * 256, "🛶" * 256], ids=shorten)
def test_rejects_a_value_of_256_characters(value):
    message = "This value is too long, 255 characters at most."

    assert get_error({"key": value}) == ("key", message)


@pytest.mark.parametrize("value", [None, [], {}, ["a"], {"a": "b"}, 1.5, b"text"], ids=repr)
def test_rejects_values_of_other_types(value):
    assert get_error({"key": value}) == ("key", "This value should be of type string.")


AS_TEXT = [
    ("true", "true"),
    ("false", "false"),
    ("0", "0"),
    ("7", "7"),
    ("-7", "-7"),
    ("1.50", "1.50"),
    ("1e2", "100"),
    ("1E+2", "100"),
    ("1.5e1", "15"),
    ("25e-1", "2.5"),
    ("1e12", "1000000000000"),
    ("0.30000000000000", "0.30000000000000"),
    ("9999999999999", "9999999999999"),
    ("9999999999999.99", "9999999999999.99"),
    ("1e-15", "0.000000000000001"),
]


@pytest.mark.parametrize(("sent", "stored"), AS_TEXT)
def test_converts_a_number_or_a_boolean_to_text(sent, stored):
    value = json.loads(sent, parse_float=Decimal)

    assert validate_meta_data({"key": value}) == {"key": stored}


@pytest.mark.parametrize(
    "sent",
    [
        *("10000000000000", "1e13", "1e99", "-1e13", "90071992547409.93"),
        *("0.1234567890123456", "1.000000000000001"),
        "1." + "0" * 40 + "1",
        "12345678901234567890",
    ],
)
def test_rejects_a_number_with_more_digits_than_an_amount(sent):
    value = json.loads(sent, parse_float=Decimal)

    message = "This value has too many digits."
    assert get_error({"key": value}) == ("key", message)


@pytest.mark.parametrize("sent", ["0e99", "0e-99", "-0", "0.00"])
def test_converts_any_zero_to_a_short_text(sent):
    stored = validate_meta_data({"key": json.loads(sent, parse_float=Decimal)})["key"]

    assert Decimal(stored) == 0
    assert "e" not in stored.lower()
    assert len(stored) <= 255


def test_reports_all_errors_in_the_order_sent():
    data = {"fine": "value", "none": None, "a/b": "value", "long": "v" * 256}

    assert [key for key, _ in list_errors(data)] == ["none", "a/b", "long"]


texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=[*FORBIDDEN, "\x00"]),
    min_size=1,
    max_size=64,
)


@given(st.dictionaries(texts, st.text(max_size=255), max_size=10))
def test_keeps_texts_and_their_order(data):
    assert list(validate_meta_data(data).items()) == list(data.items())


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner),
    max_leaves=3,
).filter(lambda value: not isinstance(value, Decimal) or value.is_finite())


@given(st.dictionaries(st.text(max_size=70), JSON_VALUES, max_size=12))
def test_mended_meta_data_is_valid(data):
    mended, is_odd = mend_meta_data(data)

    assert validate_meta_data(mended) == mended
    assert list(mended) == [key for key in list(data)[:10] if key in mended]
    assert is_odd is (len(mended) < min(len(data), 10))
