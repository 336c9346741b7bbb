"""Days as the language in use writes them."""

from datetime import date

from babel import Locale
from babel.dates import format_date
from django.utils.translation import get_language

FRENCH_FIRST = "1er"  # of a month; the locale data of Babel has none


def get_locale() -> Locale:
    """The language in use; English days are British: `25 Nov 2026`."""
    language = get_language() or "en"
    return Locale.parse("en_GB" if language == "en" else language)


def write_day(day: date, length: str = "long") -> str:
    """`25 November 2026`, in French `1er décembre 2026`; `medium`: `25 Nov 2026`."""
    locale = get_locale()
    text = str(format_date(day, length, locale=locale))
    is_french_first = locale.language == "fr" and text.startswith("1 ")
    return FRENCH_FIRST + text[1:] if is_french_first else text
