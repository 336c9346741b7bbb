"""Contract 1.3: days, booleans, words and texts in the query of a list."""

from datetime import UTC, datetime

import pytest

from tests.factories.tracking import ProgramFactory

pytestmark = pytest.mark.urls("tests.probes")


def entry(path, message, raw=None):
    return {"message": message, "message_raw": raw or message, "property_path": path}


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def programs(account):
    """Four days with a program at each edge of the middle two."""
    moments = {
        "before": "2026-03-03T23:59:59.999999",
        "dawn": "2026-03-04T00:00:00",
        "dusk": "2026-03-05T23:59:59.999999",
        "after": "2026-03-06T00:00:00",
    }
    for slug, moment in moments.items():
        ProgramFactory(account=account, slug=slug, created_at=at(moment))


def slugs(response):
    assert response.status_code == 200
    return [row["id"] for row in response.json()]


# Days


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["after", "dusk", "dawn", "before"]),
        ("date_from=2026-03-04", ["after", "dusk", "dawn"]),
        ("date_to=2026-03-05", ["dusk", "dawn", "before"]),
        ("date_from=2026-03-04&date_to=2026-03-05", ["dusk", "dawn"]),
        ("date_from=2026-03-04&date_to=2026-03-04", ["dawn"]),
        ("date_from=2026-03-06", ["after"]),
        ("date_to=2026-03-03", ["before"]),
        ("date_from=2026-03-05&date_to=2026-03-04", []),
        (
            "date_from=1970-01-01&date_to=2999-12-31",
            ["after", "dusk", "dawn", "before"],
        ),
        ("date_from=2999-12-31", []),
        ("date_to=1970-01-01", []),
    ],
)
def test_takes_days_of_utc_from_first_to_last(api, programs, query, found):
    assert slugs(api.get(f"/probes/?{query}")) == found


REAL_DAYS = ["1970-01-01", "2000-02-29", "2024-02-29", "2026-12-31", "2999-12-31"]
ODD_DAYS = {
    "empty": "",
    "white space": "%20",
    "no day of February": "2026-02-29",
    "no day of April": "2026-04-31",
    "month 0": "2026-00-10",
    "month 13": "2026-13-01",
    "day 0": "2026-03-00",
    "day 32": "2026-03-32",
    "no leap century": "2100-02-29",
    "year 0": "0000-01-01",
    "before 1970": "1969-12-31",
    "after 2999": "3000-01-01",
    "the last of all": "9999-12-31",
    "five digits": "10000-01-01",
    "basic form": "20260304",
    "a week": "2026-W10-3",
    "a day of the year": "2026-063",
    "short": "2026-3-4",
    "two digits": "26-03-04",
    "slashes": "2026/03/04",
    "other order": "04-03-2026",
    "with time": "2026-03-04T00:00:00",
    "with zone": "2026-03-04Z",
    "white space before": "%202026-03-04",
    "white space behind": "2026-03-04%20",
    "a line break behind": "2026-03-04%0A",
    "NUL behind": "2026-03-04%00",
    "a sign": "-2026-03-04",
    "a plus": "%2B2026-03-04",
    "full-width": "%EF%BC%92026-03-04",
    "Arabic-Indic": "%D9%A2026-03-04",
    "other dashes": "2026%E2%80%9303%E2%80%9304",
    "a broken byte": "2026-03-0%FF",
    "a word": "yesterday",
    "a number": "1772582400",
    "very long": "2" * 50_000,
}


@pytest.mark.parametrize("day", REAL_DAYS)
@pytest.mark.parametrize("name", ["date_from", "date_to"])
def test_takes_a_day_of_the_calendar(api, name, day):
    assert api.get(f"/probes/?{name}={day}").status_code == 200


@pytest.mark.parametrize("day", ODD_DAYS.values(), ids=ODD_DAYS)
@pytest.mark.parametrize("name", ["date_from", "date_to"])
def test_refuses_what_is_no_day(api, name, day):
    response = api.get(f"/probes/?{name}={day}")

    assert response.status_code == 400
    assert response.json() == {"errors": [entry(name, "Invalid date")]}


def test_refuses_a_day_without_a_value(api):
    response = api.get("/probes/?date_from")

    assert response.status_code == 400
    assert response.json() == {"errors": [entry("date_from", "Invalid date")]}


def test_refuses_both_days_in_order(api):
    response = api.get("/probes/?date_to=x&page=x&date_from=x")

    assert response.json() == {
        "errors": [
            entry("date_from", "Invalid date"),
            entry("date_to", "Invalid date"),
            entry("page", "Invalid page"),
        ]
    }


# Texts


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("slug=dawn", ["dawn"]),
        ("slug=Dawn", []),
        ("slug=%20dawn", []),
        ("slug=unknown", []),
        ("slug=daw%25", []),
        ("slug=%FF", []),
        ("slug=", ["after", "dusk", "dawn", "before"]),
        ("slug", ["after", "dusk", "dawn", "before"]),
        ("slug=dawn&date_to=2026-03-03", []),
        ("SLUG=dawn", ["after", "dusk", "dawn", "before"]),
        ("slug[]=dawn", ["after", "dusk", "dawn", "before"]),
        ("unknown=%00", ["after", "dusk", "dawn", "before"]),
    ],
)
def test_narrows_by_text_as_sent(api, programs, query, found):
    assert slugs(api.get(f"/probes/?{query}")) == found


@pytest.mark.parametrize("value", ["%00", "dawn%00", "%00dawn", "a%00b"])
def test_refuses_nul_in_a_text(api, programs, value):
    response = api.get(f"/probes/?slug={value}")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [entry("slug", "This value is not valid text.")]
    }


@pytest.mark.parametrize("name", ["recurring", "currency", "page", "date_to"])
def test_refuses_nul_in_any_value_it_reads(api, name):
    response = api.get(f"/probes/?{name}=1%00")

    assert response.status_code == 400
    assert [flaw["property_path"] for flaw in response.json()["errors"]] == [name]


def test_lets_the_last_of_repeated_parameters_count(api, programs):
    last = api.get("/probes/?slug=dusk&slug=%00&slug=dawn")
    emptied = api.get("/probes/?slug=dusk&slug=")
    refused = api.get("/probes/?date_from=2026-03-04&date_from=x")

    assert slugs(last) == ["dawn"]
    assert slugs(emptied) == ["after", "dusk", "dawn", "before"]
    assert refused.status_code == 400


# Booleans


@pytest.fixture
def one_of_each(account):
    ProgramFactory(account=account, slug="once", recurring=False, currency="JPY")
    ProgramFactory(account=account, slug="forever", recurring=True, currency="EUR")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("true", {"forever"}),
        ("TRUE", {"forever"}),
        ("True", {"forever"}),
        ("1", {"forever"}),
        ("false", {"once"}),
        ("False", {"once"}),
        ("0", {"once"}),
        ("", {"once", "forever"}),
    ],
)
def test_takes_four_words_for_a_boolean(api, one_of_each, value, found):
    assert set(slugs(api.get(f"/probes/?recurring={value}"))) == found


@pytest.mark.parametrize(
    "value", ["yes", "on", "2", "-1", "00", "null", "%20true", "t", "%EF%BC%91"]
)
def test_refuses_other_words_for_a_boolean(api, value):
    response = api.get(f"/probes/?recurring={value}")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [entry("recurring", "This value should be true or false.")]
    }


# Words of a list


@pytest.mark.parametrize(
    ("value", "found"),
    [("EUR", {"forever"}), ("JPY", {"once"}), ("", {"once", "forever"})],
)
def test_takes_a_word_of_the_list(api, one_of_each, value, found):
    assert set(slugs(api.get(f"/probes/?currency={value}"))) == found


@pytest.mark.parametrize(
    ("sent", "echo"),
    [
        ("USD", "USD"),
        ("eur", "eur"),
        ("%3Cb%3E", "<b>"),
        ("%7B%7B%20values%20%7D%7D", "{{ values }}"),
        ("%25(value)s", "%(value)s"),
        ("x" * 256, "x" * 255),
    ],
    ids=["unknown", "other case", "markup", "placeholder", "format", "long"],
)
def test_names_the_words_of_the_list(api, sent, echo):
    response = api.get(f"/probes/?currency={sent}")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [
            entry(
                "currency",
                f"Invalid value '{echo}'. Valid are 'EUR', 'JPY'",
                "Invalid value '{{ value }}'. Valid are {{ values }}",
            )
        ]
    }


# All together


def test_keeps_filters_on_the_way_to_other_pages(api, account):
    for n in range(26):
        ProgramFactory(account=account, slug=f"p-{n}", currency="JPY")
    ProgramFactory.create_batch(5, account=account)

    response = api.get("/probes/?currency=JPY&page=1")

    base = "<http://testserver/1.6/probes/?currency=JPY&page"
    assert len(response.json()) == 25
    assert response["Link"] == (
        f'{base}=2>; rel="next", {base}=2>; rel="last", {base}=1>; rel="first"'
    )


def test_narrows_the_account_alone(api, other_account):
    ProgramFactory(account=other_account, slug="zz-marker")

    assert slugs(api.get("/probes/?slug=zz-marker")) == []
