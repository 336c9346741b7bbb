"""Names of countries in the language in use; the codes are those of ISO 3166-1."""

import unicodedata  # noqa: TID251 - names of Babel, which are short
from functools import cache

from babel import Locale
from django.conf import settings
from django_countries import countries

from accounts.written_days import get_locale


def get_country_name(code: str | None) -> str:
    """`Germany` for `DE`, in German `Deutschland`; what is no such code stays."""
    code = code or ""
    return str(get_locale().territories.get(code, code))


def list_countries(empty: str = "-") -> list[tuple[str, str]]:
    """The choices of a form: an empty one, then codes and names, by name."""
    return [("", empty), *_list_sorted(str(get_locale()))]


def find_country(text: str) -> str:
    """The code, of a code or of a name in a language of the portal; else ""."""
    if text.upper() in countries.countries:
        return text.upper()
    return countries.by_name(text) or _list_codes().get(text.casefold(), "")


@cache
def _list_sorted(locale: str) -> list[tuple[str, str]]:
    names = Locale.parse(locale).territories
    rows = [(code, names[code]) for code in countries.countries]
    return sorted(rows, key=lambda row: _fold(row[1]))


def _fold(name: str) -> bytes:
    """The letters without accents: `Åland` comes before `Albania`."""
    return unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore")


@cache
def _list_codes() -> dict[str, str]:
    return {
        name.casefold(): code
        for language in dict(settings.LANGUAGES)
        for code, name in _list_sorted(language)
    }
