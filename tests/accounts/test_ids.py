"""Contract 1.3 and 1.4: the forms of the identifiers that others see."""

import re
import string
import time
import uuid
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts import ids

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


@pytest.mark.parametrize("prefix", ["cu", "pa", "ap", "ag", "no", "bo"])
def test_makes_public_ids_of_sixteen_letters_and_digits(prefix):
    made = ids.new_id(prefix)

    assert re.fullmatch(rf"{prefix}_[A-Za-z0-9]{{16}}", made, re.ASCII)


def test_makes_no_public_id_twice():
    assert len({ids.new_id("cu") for _ in range(1000)}) == 1000


def test_uses_every_letter_and_digit_of_the_alphabet():
    assert set(ids.random_text(5000)) == set(string.ascii_letters + string.digits)


def test_uses_no_character_outside_the_alphabet():
    assert set(ids.random_text(500, alphabet="ab")) == {"a", "b"}


@pytest.mark.parametrize("digits", [1, 6, 7, 32])
def test_makes_as_many_hex_digits_as_asked(digits):
    assert re.fullmatch(rf"[0-9a-f]{{{digits}}}", ids.new_hex(digits))


def test_makes_a_uuid_of_version_7_written_in_lower_case():
    made = ids.time_ordered_uuid()

    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(made))


def test_orders_uuids_by_their_millisecond(monkeypatch):
    moments = [1_772_615_727_000, 1_772_615_727_001, 1_772_615_728_000]
    made = []
    for moment in moments:
        monkeypatch.setattr(time, "time_ns", lambda now=moment: now * 1_000_000)
        made.append(str(ids.time_ordered_uuid()))

    assert made == sorted(made)
    assert [uuid.UUID(text).int >> 80 for text in made] == moments


def test_makes_no_uuid_twice_in_one_millisecond(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 1_772_615_727_000_000_000)

    assert len({ids.time_ordered_uuid() for _ in range(1000)}) == 1000


@given(st.text())
def test_puts_the_crc32_of_the_text_into_six_base62_characters(text):
    number = 0
    for character in ids.checksum(text):
        number = number * 62 + BASE62.index(character)

    assert len(ids.checksum(text)) == 6
    assert number == zlib.crc32(text.encode())


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "000000"), (61, "00000z"), (62, "000010"), (2**32 - 1, "4gfFC3")],
    ids=["nought", "last digit", "carry", "highest crc"],
)
def test_pads_base62_with_noughts(number, text):
    assert ids.base62(number, 6) == text


@pytest.mark.parametrize("slug", ["a", "7", "harbor-lamp-partners", "a" * 64, "a-"])
def test_takes_a_slug(slug):
    assert ids.SLUG.fullmatch(slug)


@pytest.mark.parametrize(
    "slug",
    ["", "-a", "A", "a b", "a_b", "a/b", "a" * 65, "ä", "٣", "a\n"],
    ids=ascii,
)
def test_takes_nothing_else_for_a_slug(slug):
    assert not ids.SLUG.fullmatch(slug)
