"""Reports: docs/api-contract.md, section 2.11."""

from decimal import Decimal

import pytest

from affiliate_site.api.resources import reports
from payouts.report_columns import COLUMNS
from payouts.services import statistics
from payouts.services.exchange_rates import set_rate
from payouts.services.reports import FILTERS
from tests.conftest import NOW, ApiClient
from tests.factories.accounts import AccountFactory
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

MARCH = "date_from=2026-03-01&date_to=2026-03-31"


@pytest.fixture
def sales(scenario):
    """A click and two sales of Mina in two currencies."""
    scenario.create_click()
    for currency in ("EUR", "USD"):
        scenario.create_conversion("20.5", currency=currency)
    return scenario


def get_rows(api, query):
    response = api.get(f"/reports/?{MARCH}&{query}")
    assert response.status_code == 200, response.content
    return response.json()["rows"]


def test_answers_rows_and_totals(api, sales):
    query = f"rows=affiliate&columns=clicks,revenue,last_sale&{MARCH}&compare=previous"
    response = api.get(f"/reports/?{query}")

    now = b'"clicks":1,"revenue":20.5,"last_sale":"2026-03-04T09:15:27+00:00"'
    before = b'"clicks_before":0,"revenue_before":0,"last_sale_before":null'
    mina = b'"affiliate":"minakessler","affiliate_name":"Mina Kessler",'
    totals = [b'"currency":"%s",%s,%s}' % (it, now, before) for it in (b"EUR", b"USD")]
    assert response.content == b'{"rows":[%s],"totals":[%s],%s}' % (
        b",".join(b"{" + mina + it for it in totals),
        b",".join(b"{" + it for it in totals),
        b'"from":"2026-03-01","to":"2026-03-31","limited":null',
    )
    url = f"http://testserver/1.6/reports/?{query}&page=1"
    assert response["Link"] == f'<{url}>; rel="last", <{url}>; rel="first"'
    assert response["X-RateLimit-Limit"] == "100"


def test_filters_and_sorts(api, sales):
    odette = sales.create_enrolled_affiliate("Odette", "Varga")
    sales.create_conversion("7", affiliate=odette)
    query = "rows=affiliate&columns=revenue"

    assert [row["revenue"] for row in get_rows(api, f"{query}&sort=revenue")] == [7, 20.5, 20.5]
    for filters in (
        "filter[affiliate]=odettevarga",
        f"filter%5Bgroup%5D=&filter[program]={sales.program.slug}",
    ):
        found = get_rows(api, f"{query}&sort=revenue&{filters}")
        assert (found[0]["affiliate"], found[0]["revenue"]) == ("odettevarga", 7)
    assert get_rows(api, f"{query}&filter[coupon]=") == []


@pytest.mark.parametrize("name", FILTERS)
def test_filters_by_each_field(api, sales, name):
    assert get_rows(api, f"rows=program&columns=commissions&filter[{name}]=") in (
        [],
        get_rows(api, "rows=program&columns=commissions"),
    )


def test_pages_have_totals_of_the_whole(api, sales, monkeypatch):
    monkeypatch.setattr(reports, "REPORT_PAGE_SIZE", 1)
    query = f"rows=affiliate&columns=revenue&{MARCH}"
    first, second, third = (api.get(f"/reports/?{query}&page={page}") for page in (1, 2, 3))

    assert [row["currency"] for row in first.json()["rows"]] == ["EUR"]
    assert [row["currency"] for row in second.json()["rows"]] == ["USD"]
    assert third.json()["rows"] == []
    assert first.json()["totals"] == third.json()["totals"]
    assert first["Link"].startswith(f'<http://testserver/1.6/reports/?{query}&page=2>; rel="next"')


def test_says_at_which_rates_it_converts(api, sales):
    account = sales.account
    account.default_currency = "EUR"
    account.save()
    set_rate(account, currency="USD", rate=Decimal("0.9"), at=NOW)
    sales.create_conversion("900", currency="JPY")

    columns = "revenue_converted,revenue"
    response = api.get(f"/reports/?{MARCH}&rows=program&columns={columns}&sort=program")
    alone = api.get(f"/reports/?{MARCH}&rows=program&columns=revenue_converted")

    program = f'"program":"{sales.program.slug}","program_name":"{sales.program.title}",'
    values = [("EUR", "20.5", "20.5"), ("JPY", "null", "900"), ("USD", "18.45", "20.5")]
    rows = [
        f'"currency":"{it}","revenue_converted":{value},"revenue":{amount}}}'
        for it, value, amount in values
    ]
    converted = (
        '"from":"2026-03-01","to":"2026-03-31","limited":null,'
        '"converted":{"currency":"EUR","revenue_converted":38.95,'
        '"rates":[{"currency":"USD","rate":0.9,"set_on":"2026-03-04"}],"missing":["JPY"]}}'
    )
    assert response.content.decode() == (
        f'{{"rows":[{",".join("{" + program + it for it in rows)}],'
        f'"totals":[{",".join("{" + it for it in rows)}],{converted}'
    )
    whole = '"currency":"EUR","revenue_converted":38.95}'
    assert alone.content.decode() == (
        f'{{"rows":[{{{program}{whole}],"totals":[{{{whole}],{converted}'
    )


def get_errors(response):
    assert response.status_code == 400
    return [(error["property_path"], error["message"]) for error in response.json()["errors"]]


def test_says_what_is_missing(api, scenario):
    names = ("rows", "columns", "date_from", "date_to")
    missing = [(name, "Missing mandatory parameter(s)") for name in names]

    assert get_errors(api.get("/reports/")) == missing
    assert get_errors(api.get("/reports/?rows=&columns=clicks&date_from=2026-03-01")) == [
        missing[0],
        missing[3],
    ]


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        (
            "rows=program&date_from=x&date_to=",
            [("date_from", "Invalid date"), ("date_to", "Invalid date")],
        ),
        ("rows=program&page=0", [("page", "Invalid page")]),
        ("rows=a%00b", [("rows", "This value is not valid text.")]),
        (
            "rows=program&filter[color]=red",
            [("filter", f"filter of a report: 'color'; possible: {', '.join(FILTERS)}")],
        ),
        ("rows=program&filter[program]=moon", [("filter", "There is no program 'moon'")]),
        (
            "rows=program&compare=week&sort=size",
            [
                ("sort", "sort of a report: 'size'; possible: program, clicks"),
                ("compare", "compare of a report: 'week'; possible: previous, year"),
            ],
        ),
        (
            "rows=program&date_from=2026-04-01",
            [("date_to", "Enter a first and a last day in this order, of at most 1830 days.")],
        ),
    ],
)
def test_says_what_to_change(api, scenario, query, errors):
    response = api.get(f"/reports/?{MARCH}&columns=clicks&{query}")

    assert get_errors(response) == errors


def test_says_that_days_are_still_being_counted(api, sales, monkeypatch):
    monkeypatch.setattr(statistics, "MAX_SECONDS", 0)

    response = api.get(f"/reports/?{MARCH}&rows=day&columns=clicks")

    assert response.status_code == 409
    text = "Days whose statistics are still being counted: 28. Try again in a few minutes."
    assert response.json() == {"errors": [{"message": text, "code": "statistics_not_ready"}]}


def test_each_column_is_known(api, sales):
    [row, _] = get_rows(api, f"rows=program&columns={','.join(COLUMNS)}")

    assert list(row) == ["program", "program_name", "currency", *COLUMNS]


def test_shows_one_account_only(sales, make_key):
    other = ProgramScenario(AccountFactory(), slug="elsewhere", prefix="other-", email=None)
    api = ApiClient(make_key(other.account, "viewer"))

    assert get_rows(api, "rows=affiliate&columns=revenue,clicks") == []
