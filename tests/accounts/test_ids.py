"""docs/api-contract.md, sections 1.3 and 1.4: the formats of identifiers."""

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
def test_generates_public_ids_of_16_letters_and_digits(prefix):
    public_id = ids.generate_public_id(prefix)

    assert re.fullmatch(rf"{prefix}_[A-Za-z0-9]{{16}}", public_id, re.ASCII)


def test_generates_unique_public_ids():
    assert len({ids.generate_public_id("cu") for _ in range(1000)}) == 1000


def test_uses_every_letter_and_digit_of_the_alphabet():
    assert set(ids.generate_random_text(5000)) == set(string.ascii_letters + string.digits)


def test_uses_no_character_outside_the_alphabet():
    assert set(ids.generate_random_text(500, alphabet="ab")) == {"a", "b"}


@pytest.mark.parametrize("digits", [1, 6, 7, 32])
def test_generates_the_requested_number_of_hex_digits(digits):
    assert re.fullmatch(rf"[0-9a-f]{{{digits}}}", ids.generate_hex(digits))


def test_generates_a_version_7_uuid_in_lower_case():
    generated = ids.generate_uuid7()

    assert generated.version == 7
    assert generated.variant == uuid.RFC_4122
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(generated))


def test_uuids_are_ordered_by_millisecond(monkeypatch):
    times = [1_772_615_727_000, 1_772_615_727_001, 1_772_615_728_000]
    uuids = []
    for milliseconds in times:
        monkeypatch.setattr(time, "time_ns", lambda now=milliseconds: now * 1_000_000)
        uuids.append(str(ids.generate_uuid7()))

    assert uuids == sorted(uuids)
    assert [uuid.UUID(text).int >> 80 for text in uuids] == times


def test_generates_unique_uuids_within_one_millisecond(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 1_772_615_727_000_000_000)

    assert len({ids.generate_uuid7() for _ in range(1000)}) == 1000


@given(st.text())
def test_checksum_is_the_crc32_in_six_base62_characters(text):
    number = 0
    for character in ids.calculate_checksum(text):
        number = number * 62 + BASE62.index(character)

    assert len(ids.calculate_checksum(text)) == 6
    assert number == zlib.crc32(text.encode())


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "000000"), (61, "00000z"), (62, "000010"), (2**32 - 1, "4gfFC3")],
    ids=["zero", "last digit", "carry", "highest crc"],
)
def test_pads_base62_with_zeros(number, text):
    assert ids.encode_base62(number, 6) == text


@pytest.mark.parametrize("slug", ["a", "7", "harbor-lamp-partners", "a" * 64, "a-"])
def test_accepts_a_valid_slug(slug):
    assert ids.SLUG_PATTERN.fullmatch(slug)


@pytest.mark.parametrize(
    "slug", ["", "-a", "A", "a b", "a_b", "a/b", "a" * 65, "ä", "٣", "a\n"], ids=ascii
)
def test_rejects_an_invalid_slug(slug):
    assert not ids.SLUG_PATTERN.fullmatch(slug)
