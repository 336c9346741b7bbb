"""Query parameters of lists (docs/api-contract.md, section 1.3)."""

from datetime import UTC, datetime

import pytest

from affiliate_site.api.filters import BaseFilterSet
from tests.affiliate_site.responses import build_field_error
from tests.factories.tracking import ProgramFactory

pytestmark = pytest.mark.urls("tests.dummy_endpoints")


def parse_utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def programs(account):
    """Programs at the limits of two days, March 4 and 5."""
    timestamps = {
        "before": "2026-03-03T23:59:59.999999",
        "dawn": "2026-03-04T00:00:00",
        "dusk": "2026-03-05T23:59:59.999999",
        "after": "2026-03-06T00:00:00",
    }
    for slug, text in timestamps.items():
        ProgramFactory(account=account, slug=slug, created_at=parse_utc(text))


def slugs(response):
    assert response.status_code == 200
    return [row["id"] for row in response.json()]


# Dates


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
def test_filters_by_utc_dates_inclusively(api, programs, query, found):
    assert slugs(api.get(f"/dummies/?{query}")) == found


VALID_DATES = ["1970-01-01", "2000-02-29", "2024-02-29", "2026-12-31", "2999-12-31"]
INVALID_DATES = [
    *("", "%20", "2026-02-29", "2026-04-31", "2026-00-10", "2026-13-01", "2026-03-00"),
    *("2026-03-32", "2100-02-29", "0000-01-01", "1969-12-31", "3000-01-01"),
    *("9999-12-31", "10000-01-01", "20260304", "2026-W10-3", "2026-063", "2026-3-4"),
    *("26-03-04", "2026/03/04", "04-03-2026", "2026-03-04T00:00:00", "2026-03-04Z"),
    *("%202026-03-04", "2026-03-04%20", "2026-03-04%0A", "2026-03-04%00", "yesterday"),
    *("-2026-03-04", "%2B2026-03-04", "%EF%BC%92026-03-04", "%D9%A2026-03-04"),
    *("2026%E2%80%9303%E2%80%9304", "2026-03-0%FF", "1772582400", "2" * 50_000),
]


@pytest.mark.parametrize("date", VALID_DATES)
@pytest.mark.parametrize("name", ["date_from", "date_to"])
def test_accepts_a_valid_date(api, name, date):
    assert api.get(f"/dummies/?{name}={date}").status_code == 200


@pytest.mark.engine_independent
@pytest.mark.parametrize("date", INVALID_DATES, ids=lambda text: text[:30])
@pytest.mark.parametrize("name", ["date_from", "date_to"])
def test_rejects_an_invalid_date(api, name, date):
    response = api.get(f"/dummies/?{name}={date}")

    assert response.status_code == 400
    assert response.json() == {"errors": [build_field_error(name, "Invalid date")]}


def test_lists_the_errors_of_both_dates_in_order(api):
    response = api.get("/dummies/?date_to=x&page=x&date_from=x")

    assert response.json() == {
        "errors": [
            build_field_error("date_from", "Invalid date"),
            build_field_error("date_to", "Invalid date"),
            build_field_error("page", "Invalid page"),
        ]
    }


# Text


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
def test_filters_by_exact_text(api, programs, query, found):
    assert slugs(api.get(f"/dummies/?{query}")) == found


@pytest.mark.parametrize("value", ["%00", "dawn%00", "%00dawn", "a%00b"])
def test_rejects_nul_in_text(api, programs, value):
    response = api.get(f"/dummies/?slug={value}")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [build_field_error("slug", "This value is not valid text.")]
    }


@pytest.mark.parametrize("name", ["recurring", "currency", "page", "date_to"])
def test_rejects_nul_in_every_parameter(api, name):
    response = api.get(f"/dummies/?{name}=1%00")

    assert response.status_code == 400
    assert [error["property_path"] for error in response.json()["errors"]] == [name]


def test_last_of_repeated_parameters_counts(api, programs):
    last = api.get("/dummies/?slug=dusk&slug=%00&slug=dawn")
    emptied = api.get("/dummies/?slug=dusk&slug=")
    invalid = api.get("/dummies/?date_from=2026-03-04&date_from=x")

    assert slugs(last) == ["dawn"]
    assert slugs(emptied) == ["after", "dusk", "dawn", "before"]
    assert invalid.status_code == 400


# Booleans


@pytest.fixture
def recurring_programs(account):
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
def test_accepts_four_values_of_a_boolean(api, recurring_programs, value, found):
    assert set(slugs(api.get(f"/dummies/?recurring={value}"))) == found


@pytest.mark.parametrize(
    "value", ["yes", "on", "2", "-1", "00", "null", "%20true", "t", "%EF%BC%91"]
)
def test_rejects_other_values_of_a_boolean(api, value):
    response = api.get(f"/dummies/?recurring={value}")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [build_field_error("recurring", "This value should be true or false.")]
    }


# Choices


@pytest.mark.parametrize(
    ("value", "found"),
    [("EUR", {"forever"}), ("JPY", {"once"}), ("", {"once", "forever"})],
)
def test_accepts_a_choice(api, recurring_programs, value, found):
    assert set(slugs(api.get(f"/dummies/?currency={value}"))) == found


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
def test_error_lists_the_choices(api, sent, echo):
    response = api.get(f"/dummies/?currency={sent}")

    assert response.status_code == 400
    [error] = response.json()["errors"]
    assert error == {
        "message": f"Invalid value '{echo}'. Valid are 'EUR', 'JPY'",
        "message_raw": "Invalid value '{{ value }}'. Valid are {{ values }}",
        "property_path": "currency",
    }


# Combinations


def test_page_links_keep_the_filters(api, account):
    for n in range(26):
        ProgramFactory(account=account, slug=f"p-{n}", currency="JPY")
    ProgramFactory.create_batch(5, account=account)

    response = api.get("/dummies/?currency=JPY&page=1")

    base = "<http://testserver/1.6/dummies/?currency=JPY&page"
    assert len(response.json()) == 25
    assert response["Link"] == (
        f'{base}=2>; rel="next", {base}=2>; rel="last", {base}=1>; rel="first"'
    )


def test_filters_the_account_only(api, other_account):
    ProgramFactory(account=other_account, slug="zz-marker")

    assert slugs(api.get("/dummies/?slug=zz-marker")) == []


# Filters without a parameter are left out


def list_filter_sets(base=BaseFilterSet):
    """All classes of the site, without those of tests."""
    for filter_set in [base, *base.__subclasses__()]:
        if filter_set.__module__.startswith("affiliate_site."):
            yield filter_set


def test_a_filter_without_its_parameter_changes_nothing(account):
    rows = account.programs.newest_first()

    for filter_set in list_filter_sets():
        for declared in filter_set.base_filters.values():
            value = declared.field.clean(None)
            assert declared.filter(rows, value) is rows


def test_makes_no_form_without_a_parameter(api, programs, monkeypatch):
    monkeypatch.setattr(BaseFilterSet, "get_form_class", None)

    assert slugs(api.get("/dummies/?unknown=1")) == ["after", "dusk", "dawn", "before"]
