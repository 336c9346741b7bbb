"""The catalogs of translations are complete, fit their texts and are compiled.

That they have all texts of the sources is checked by `make messages-difference`.
"""

import re
from collections import Counter

import pytest
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from django.conf import settings

from tests.architecture.syntax_trees import ROOT

LANGUAGES = [code for code, _name in settings.LANGUAGES if code != "en"]
# Placeholders of both kinds, tags and entities, addresses and line ends.
FIXED = re.compile(r"%\(\w+\)s|%%|\$?\{+\w*\}+|</?[^>]+>|https?://\S+|\n")
SAME_AS_IN_ENGLISH = {
    "de": {
        *("Bonus", "Code", "ID", "Link", "Links", "Name", "Postbacks"),
        *("Sub-ID", "Text", "{reward}: {cases}."),
    },
    "es": {"Banners", "ID", "Postbacks", "Sub-ID", "{reward}: {cases}."},
    "fr": {
        *("Code", "Commission", "Commissions", "Date", "Page", "Pages", "Postbacks"),
        *("Questions", "Correction", "%(width)s x %(height)s pixels"),
    },
}

pytestmark = [
    pytest.mark.engine_independent,
    pytest.mark.parametrize("language", LANGUAGES),
]


def read_catalog(language):
    path = ROOT / "locale" / language / "LC_MESSAGES" / "django.po"
    with path.open("rb") as file:
        return path, read_po(file)


def list_pairs(language):
    """Yield each text with its translation; of plurals, each form with the last."""
    for message in read_catalog(language)[1]:
        if message.pluralizable:
            yield from ((message.id[-1], text) for text in message.string)
        elif message.id:
            yield message.id, message.string


def test_all_messages_are_translated(language):
    catalog = read_catalog(language)[1]
    assert [it.id for it in catalog if it.id and it.fuzzy] == []
    assert [text for text, translated in list_pairs(language) if not translated] == []
    assert len(catalog) > 400


def test_translations_keep_placeholders_tags_and_spaces(language):
    def parts(text):
        spaces = re.findall(r"^\s+|\s+$", text)
        return Counter(FIXED.findall(text)), spaces

    differing = [
        (text, translated)
        for text, translated in list_pairs(language)
        if parts(text) != parts(translated)
    ]
    assert differing == []


def test_translations_differ_from_english(language):
    pairs = list_pairs(language)
    same = {text for text, translated in pairs if text == translated}
    assert same == SAME_AS_IN_ENGLISH[language]


def test_the_compiled_catalog_is_that_of_the_texts(language):
    path, catalog = read_catalog(language)
    with path.with_suffix(".mo").open("rb") as file:
        compiled = read_mo(file)
    assert list_texts(compiled) == list_texts(catalog), "run make messages"


def list_texts(catalog):
    """The messages in order; plurals as lists, which both readers differ in."""
    return sorted(
        ([*each.id, *each.string] if each.pluralizable else [each.id, each.string])
        for each in catalog
        if each.id
    )
