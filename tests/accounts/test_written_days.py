"""Days in the language in use."""

from datetime import date

import pytest
from django.utils import translation

from accounts.written_days import write_day

pytestmark = pytest.mark.engine_independent


@pytest.mark.parametrize(
    ("language", "day", "long", "medium"),
    [
        ("en", date(2026, 12, 1), "1 December 2026", "1 Dec 2026"),
        ("de", date(2026, 12, 1), "1. Dezember 2026", "01.12.2026"),
        ("es", date(2026, 12, 1), "1 de diciembre de 2026", "1 dic 2026"),
        ("fr", date(2026, 12, 1), "1er décembre 2026", "1er déc. 2026"),
        ("fr", date(2026, 12, 11), "11 décembre 2026", "11 déc. 2026"),
    ],
)
def test_writes_days(language, day, long, medium):
    with translation.override(language):
        assert (write_day(day), write_day(day, "medium")) == (long, medium)
