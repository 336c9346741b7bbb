"""The texts that affiliates are found by."""

import pytest

from tracking.search import (
    MAX_SUFFIX_LENGTH,
    fold_text,
    list_search_words,
    list_suffixes,
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Hana", "hana"),
        ("HÁNÁ", "hana"),
        ("Háná", "hana"),
        ("Łukasz Østergård", "lukasz ostergard"),
        ("Straße", "strasse"),
        ("Ægir", "aegir"),
        ("Ольга", "ольга"),
        ("ﬁn", "fin"),
    ],
)
def test_folds_case_and_accents(text, folded):
    assert fold_text(text) == folded


def test_stores_the_end_of_each_word_from_each_letter_on():
    assert list_suffixes(["Hana", None, "bo"]) == ["ana", "bo", "hana", "na", "o"]


def test_leaves_out_what_begins_another_suffix():
    assert list_suffixes(["hana", "hanah"]) == ["ah", "anah", "hanah", "nah"]


def test_finds_exactly_the_parts_of_the_words():
    text = "hana.svobodova@mail.example.org Studio-Á"
    suffixes = list_suffixes([text])

    parts = {
        word[start:end]
        for word in fold_text(text).split()
        for start in range(len(word))
        for end in range(start + 1, len(word) + 1)
    }
    assert {s[:end] for s in suffixes for end in range(1, len(s) + 1)} == parts


def test_limits_the_length():
    suffixes = list_suffixes(["x" * 300])
    (word,) = list_search_words("X" * 300)

    assert suffixes == [word] == ["x" * MAX_SUFFIX_LENGTH]


def test_splits_a_search_term_into_words():
    assert list_search_words("  Hana  SVOB ") == ["hana", "svob"]
    assert list_search_words(" \u0301 ") == []
