import pytest
from django.conf import settings
from django.utils.translation import override
from django_countries import countries

from accounts.countries import find_country, get_country_name, list_countries

LANGUAGES = dict(settings.LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_country_of_the_api_has_a_name_in_each_language(language):
    with override(language):
        rows = list_countries()
        named = {code: get_country_name(code) for code, _ in rows}
    assert rows[0] == ("", "-")
    assert {code for code, _ in rows[1:]} == {code for code, _ in countries}
    assert all(name != code for code, name in named.items() if code)
    assert named == dict(rows) | {"": ""}


def test_names_and_orders_countries_as_the_language_does():
    names = {}
    for language in LANGUAGES:
        with override(language):
            names[language] = [name for _, name in list_countries()]
    assert names["en"][1:3] == ["Afghanistan", "Åland Islands"]
    assert "Eswatini" in names["de"]
    oman, austria = names["de"].index("Oman"), names["de"].index("Österreich")
    assert oman < austria < names["de"].index("Pakistan")
    assert "Guyana" in names["fr"]
    assert "Esuatini" in names["es"]


def test_what_is_no_code_stays_as_it_is():
    assert get_country_name("XX") == "XX"
    assert get_country_name(None) == get_country_name("") == ""


@pytest.mark.parametrize("text", ["de", "DE", "germany", "Deutschland", "ALLEMAGNE"])
def test_finds_a_country_by_its_code_and_by_names_of_all_languages(text):
    assert find_country(text) == "DE"


def test_finds_no_country_by_other_texts():
    assert find_country("Atlantis") == find_country("") == ""
