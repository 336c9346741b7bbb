# ruff: noqa: DTZ001 - files have times without a zone
"""Numbers and dates are read in one style, which is asked about, never guessed."""

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from affiliate_site.moving.tables.importing import UnansweredQuestions
from affiliate_site.moving.tables.values import (
    DATE_STYLES,
    NUMBER_STYLES,
    Reading,
    Styles,
    find_styles,
    parse_date,
    parse_number,
    read_cell,
)
from tests.affiliate_site.moving.tables.building import NOW, build
from tracking.services.imports import ImportProblem


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("12", "12", "12"),
        ("-12.5", "-12.5", None),
        ("1234.56", "1234.56", None),
        ("1,234.56", "1234.56", None),
        ("1234,56", None, "1234.56"),
        ("1.234,56", None, "1234.56"),
        ("1 234,56", None, "1234.56"),
        ("1\u202f234,56", None, "1234.56"),
        ("1'234.56", "1234.56", None),
        ("1.234", "1.234", "1234"),
        ("1,234", "1234", "1.234"),
        ("1.234.567", None, "1234567"),
        ("12,34.5", None, None),
        ("1e5", None, None),
        ("٣", None, None),
        ("12 EUR", "12", "12"),
        ("1.413,68 €", None, "1413.68"),
        ("-$1,234.50", "-1234.50", None),
        ("CHF 1'234.50", "1234.50", None),
        ("12 cats", None, None),
        ("€12€", None, None),
        ("", None, None),
    ],
)
def test_read_numbers_in_both_styles(text, point, comma):
    for style, expected in (("point", point), ("comma", comma)):
        if expected is None:
            with pytest.raises(ImportProblem):
                parse_number(text, style)
        else:
            assert parse_number(text, style) == Decimal(expected)


@pytest.mark.parametrize(
    ("text", "style", "expected"),
    [
        ("2026-03-04", "iso", datetime(2026, 3, 4)),
        ("2026-03-04 09:15", "iso", datetime(2026, 3, 4, 9, 15)),
        ("2026-03-04T09:15:27Z", "iso", datetime(2026, 3, 4, 9, 15, 27, tzinfo=UTC)),
        ("2026-03-04 09:15 UTC", "iso", datetime(2026, 3, 4, 9, 15, tzinfo=UTC)),
        ("4.3.2026", "day.month.year", datetime(2026, 3, 4)),
        ("04.03.2026 9:15", "day.month.year", datetime(2026, 3, 4, 9, 15)),
        ("04/03/2026", "day/month/year", datetime(2026, 3, 4)),
        ("04/03/2026", "month/day/year", datetime(2026, 4, 3)),
        ("2026/3/4", "year/month/day", datetime(2026, 3, 4)),
        ("03.04.26", "day.month.yy", datetime(2026, 4, 3)),
        ("3/4/26 1:05 PM", "month/day/yy", datetime(2026, 3, 4, 13, 5)),
        ("12/31/2025 12:00 am", "month/day/year", datetime(2025, 12, 31)),
        ("13:05 12/31/2025", "month/day/year", None),
        ("12/31/2025 13:05 PM", "month/day/year", None),
        ("04-03-2026", "day-month-year", datetime(2026, 3, 4)),
        ("Jan 03, 2025", "name-day-year", datetime(2025, 1, 3)),
        ("3. März 2025", "day-name-year", datetime(2025, 3, 3)),
        ("3 de enero de 2025", "day-name-year", datetime(2025, 1, 3)),
        ("3 Quux 2025", "day-name-year", None),
        ("1735862400", "seconds", datetime(2025, 1, 3, tzinfo=UTC)),
        ("1735862400000", "milliseconds", datetime(2025, 1, 3, tzinfo=UTC)),
        ("1735862400000", "seconds", None),
        ("2026-03-04T09:15:27.123456+02:00", "iso", None),
        ("04-03-2026", "iso", None),
        ("31/12/26", "day/month/year", None),
        ("13/13/2026", "day/month/year", None),
        ("30.02.2026", "day.month.year", None),
    ],
)
def test_read_dates_in_each_style(text, style, expected):
    if expected is not None:
        assert parse_date(text, style) == expected
    elif "+" in text:
        assert parse_date(text, style).utcoffset().total_seconds() == 7200
    else:
        with pytest.raises(ImportProblem):
            parse_date(text, style)


@pytest.mark.parametrize(
    ("cells", "style", "asked"),
    [
        (["1", "2"], "point", []),
        (["1.5", "2"], "point", []),
        (["1,5", "2"], "comma", []),
        (["1.5", "x"], "point", []),
        (["1.5", "1,5"], None, ["point", "comma"]),
        (["1.5", "1,234"], None, ["point"]),
        (["1.234"], None, ["point", "comma"]),
        ([], "point", []),
        (["x"], "point", []),
    ],
)
def test_guess_a_style_of_numbers_only_if_each_has_one_meaning(cells, style, asked):
    assert find_styles(cells, parse_number, list(NUMBER_STYLES)) == (style, asked)


@pytest.mark.parametrize(
    ("cells", "style", "asked"),
    [
        (["2026-03-04", "2026-03-05"], "iso", []),
        (["4.3.2026"], "day.month.year", []),
        (["13/02/2026"], "day/month/year", []),
        (["02/13/2026"], "month/day/year", []),
        (["03/03/2026"], "day/month/year", []),
        (["13/02/2026", "01/02/2026"], None, ["day/month/year"]),
        (["13/02/2026", "02/13/2026"], None, ["day/month/year", "month/day/year"]),
        (["2026-03-04", "4.3.2026"], None, ["iso", "day.month.year"]),
    ],
)
def test_guess_a_style_of_dates_only_if_each_has_one_meaning(cells, style, asked):
    assert find_styles(cells, parse_date, list(DATE_STYLES)) == (style, asked)


def test_take_times_without_a_zone_as_those_of_the_account():
    reading = Reading(Styles(), ZoneInfo("Europe/Berlin"), NOW)
    assert read_cell("2026-07-01", "date", reading) == "2026-06-30T22:00:00+00:00"
    moment = datetime(2026, 1, 1, 12)
    assert read_cell(moment, "date", reading) == "2026-01-01T11:00:00+00:00"


SALES = """Affiliate,Amount,Currency,Program,Created,Order
mina@notes.example.org,"{amount}",EUR,harbor-lamp-partners,{date},1
"""


@pytest.mark.django_db
def test_ask_and_store_nothing_until_it_is_answered(scenario):
    text = SALES.format(amount="1,234", date="01/02/2026")
    importer = build(scenario.account, "conversions", text)
    report = importer.preview()
    decimal, dates = report.questions
    assert vars(decimal) == {
        "name": "decimal",
        "column": "Amount",
        "example": "1,234",
        "options": {"point": "1234", "comma": "1.234"},
        "suggestion": "",
        "is_needed": True,
    }
    assert vars(dates) == {
        "name": "dates",
        "column": "Created",
        "example": "01/02/2026",
        "options": {
            "day/month/year": "2026-02-01 00:00:00",
            "month/day/year": "2026-01-02 00:00:00",
        },
        "suggestion": "",
        "is_needed": True,
    }
    with pytest.raises(UnansweredQuestions):
        importer.store()
    assert not scenario.account.table_imports.exists()

    importer.styles = Styles(decimal="point", dates="month/day/year")
    assert importer.store().counts["created"] == 1
    conversion = scenario.account.conversions.get()
    assert conversion.amount == 1234
    assert conversion.created_at == datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.django_db
def test_mark_cells_that_the_answer_cannot_read(scenario):
    text = SALES.format(amount="1,5", date="13/02/2026")
    styles = Styles(decimal="point", dates="month/day/year")
    report = build(scenario.account, "conversions", text, styles=styles).preview()
    found = [(each.row, each.column, each.code) for each in report.problems]
    assert found == [(2, "Amount", "invalid_number"), (2, "Created", "invalid_date")]
