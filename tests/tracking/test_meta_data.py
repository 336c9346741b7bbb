"""Contract 1.10: what a meta-data object may hold."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracking.meta_data import OddMetaData, checked

FORBIDDEN = "\":{}]\\'/&"


def flaws_of(data):
    """The key and the text of everything that is wrong with the map."""
    with pytest.raises(OddMetaData) as refused:
        checked(data)
    return [(flaw.key, text_of(flaw)) for flaw in refused.value.flaws]


def text_of(flaw):
    text = flaw.template
    for name, value in flaw.values.items():
        text = text.replace(f"{{{{ {name} }}}}", str(value))
    return text


def flaw_of(data):
    (flaw,) = flaws_of(data)
    return flaw


def short(value):
    """A long parameter as a short id."""
    text = ascii(value)
    return text if len(text) < 20 else f"{text[:8]} {len(value)}"


def test_takes_an_empty_map():
    assert checked({}) == {}


def test_takes_ten_keys():
    data = {f"key-{n}": "value" for n in range(10)}

    assert checked(data) == data


def test_refuses_eleven_keys():
    data = {f"key-{n}": "value" for n in range(11)}

    assert flaw_of(data) == (None, "Meta data holds 10 keys at most.")


@pytest.mark.parametrize("key", ["k", "k" * 64, "ž" * 64, "🛶" * 64], ids=short)
def test_takes_a_key_of_1_to_64_characters(key):
    assert checked({key: "value"}) == {key: "value"}


@pytest.mark.parametrize("key", ["k" * 65, "🛶" * 65], ids=short)
def test_refuses_a_key_of_65_characters(key):
    told = "This value is too long, 64 characters at most."

    assert flaw_of({key: "value"}) == (key, told)


def test_refuses_an_empty_key():
    told = "This value is too short, 1 characters at least."

    assert flaw_of({"": "value"}) == ("", told)


@pytest.mark.parametrize("character", FORBIDDEN, ids=short)
@pytest.mark.parametrize("form", ["{}", "a{}", "{}z", "a{}z"])
def test_refuses_a_forbidden_character_anywhere_in_a_key(form, character):
    key = form.replace("{}", character)

    told = "This key holds a character that is not allowed."
    assert flaw_of({key: "value"}) == (key, told)


@pytest.mark.parametrize("key", ["a b", "a[b", "a.b", "a-b_c", " ", "a,b;c#d", "<b>"])
def test_takes_every_other_character_in_a_key(key):
    assert checked({key: "value"}) == {key: "value"}


@pytest.mark.parametrize(
    "value", ["", " ", "v" * 255, "🛶" * 255, FORBIDDEN], ids=short
)
def test_takes_a_value_of_255_characters_as_it_is(value):
    assert checked({"key": value}) == {"key": value}


@pytest.mark.parametrize("value", ["v" * 256, "🛶" * 256], ids=short)
def test_refuses_a_value_of_256_characters(value):
    told = "This value is too long, 255 characters at most."

    assert flaw_of({"key": value}) == ("key", told)


@pytest.mark.parametrize(
    "value", [None, [], {}, ["a"], {"a": "b"}, 1.5, b"text"], ids=repr
)
def test_refuses_what_is_no_text(value):
    assert flaw_of({"key": value}) == ("key", "This value should be of type string.")


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


@pytest.mark.parametrize(("sent", "kept"), AS_TEXT)
def test_keeps_a_number_or_a_boolean_as_text(sent, kept):
    value = json.loads(sent, parse_float=Decimal)

    assert checked({"key": value}) == {"key": kept}


@pytest.mark.parametrize(
    "sent",
    [
        "10000000000000",
        "1e13",
        "1e99",
        "-1e13",
        "90071992547409.93",
        "0.1234567890123456",
        "1.000000000000001",
        "1." + "0" * 40 + "1",
        "12345678901234567890",
    ],
)
def test_refuses_a_number_of_more_digits_than_an_amount(sent):
    value = json.loads(sent, parse_float=Decimal)

    told = "This value has too many digits."
    assert flaw_of({"key": value}) == ("key", told)


@pytest.mark.parametrize("sent", ["0e99", "0e-99", "-0", "0.00"])
def test_keeps_any_nought_as_a_short_text(sent):
    kept = checked({"key": json.loads(sent, parse_float=Decimal)})["key"]

    assert Decimal(kept) == 0
    assert "e" not in kept.lower()
    assert len(kept) <= 255


def test_names_everything_that_is_wrong_in_the_order_sent():
    data = {"fine": "value", "none": None, "a/b": "value", "long": "v" * 256}

    assert [key for key, _ in flaws_of(data)] == ["none", "a/b", "long"]


texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=[*FORBIDDEN, "\x00"]),
    min_size=1,
    max_size=64,
)


@given(st.dictionaries(texts, st.text(max_size=255), max_size=10))
def test_keeps_texts_unchanged_and_in_their_order(data):
    assert list(checked(data).items()) == list(data.items())
