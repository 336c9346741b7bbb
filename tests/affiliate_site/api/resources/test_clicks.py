"""Recording, showing and listing clicks: docs/api-contract.md, section 2.8.

The error messages of tracking are tested in tests/affiliate_site.
"""

import re
from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import ClickFactory, EnrollmentFactory

pytestmark = pytest.mark.usefixtures("frozen_time")

FORM = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"
CODE = {"referral_code": "qv7kd2p"}


def expected_click(click):
    """Return the representation of the fixture `click`."""
    return {
        "id": str(click),
        "created_at": "2026-03-01T09:15:27+00:00",
        "meta_data": {"subid1": "newsletter-12"},
        "details": {
            "referrer": "https://notes.example.org/lamps",
            "landing_page": "https://shop.example.net/?ref=qv7kd2p",
            "browser": None,
            "os": None,
            "platform": None,
            "device": None,
        },
        "geolocation": None,
        "affiliate": {"id": "odettevarga", "firstname": "Odette", "lastname": "Varga"},
        "program": {
            "id": "harbor-lamp-partners",
            "title": "Harbor Lamp Partners",
            "currency": "EUR",
        },
    }


def make_click(api, body):
    """Create a click by POST and return its representation."""
    response = api.post("/clicks/", CODE | body)
    assert response.status_code == 200, response.content
    return api.get(f"/clicks/{response.json()['id']}/").json()


# POST /clicks/


def test_records_a_visit(api, odette):
    body = CODE | {
        "referrer": "https://notes.example.org/lamps",
        "landing_page": "https://shop.example.net/?ref=qv7kd2p",
        "user_agent": FIREFOX,
        "ip": "203.0.113.7",
        "meta_data": {"subid1": "newsletter-12"},
    }

    response = api.post("/clicks/", body)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert list(response.json()) == ["id"]
    assert re.fullmatch(FORM, response.json()["id"])


def test_creates_a_click_on_every_call(api, odette):
    ids = [api.post("/clicks/", CODE).json()["id"] for _ in range(3)]

    assert len(set(ids)) == 3
    assert [row["id"] for row in api.get("/clicks/").json()] == ids[::-1]


def test_accepts_an_asset_with_a_source(api, odette, asset_pair):
    response = api.post("/clicks/", asset_pair)

    assert response.status_code == 200
    (shown,) = api.get("/clicks/").json()
    assert shown["affiliate"]["id"] == "odettevarga"


@pytest.mark.parametrize("source", ["unknown", "", None, "{second}"], ids=repr)
def test_ignores_a_source_that_does_not_match_the_code(
    api, account, odette, second_affiliate, source
):
    if source == "{second}":
        source = str(account.sources.get(affiliate=second_affiliate.affiliate))

    assert make_click(api, {"source_id": source})["affiliate"]["id"] == "odettevarga"


ADDRESSES = [
    ("https://notes.example.org/lamps?a=b#c", True),
    ("javascript:alert(1)", False),
    ("", False),
    (7, False),
]


@pytest.mark.parametrize("name", ["referrer", "landing_page"])
@pytest.mark.parametrize(("sent", "kept"), ADDRESSES, ids=[str(a) for a, _ in ADDRESSES])
def test_never_rejects_a_url(api, odette, name, sent, kept):
    shown = make_click(api, {name: sent})

    assert shown["details"][name] == (sent if kept else None)


@pytest.mark.parametrize("ip", ["nowhere", "", 7, "1.2.3.4, 5.6.7.8", "x" * 5000])
def test_never_rejects_an_ip_address(api, odette, ip):
    assert make_click(api, {"ip": ip})["geolocation"] is None


def test_truncates_a_user_agent_to_1000_characters(api, account, odette):
    make_click(api, {"user_agent": "🛶" * 1001})

    assert account.clicks.get().user_agent == "🛶" * 1000


def test_shows_the_details_of_the_user_agent(api, odette):
    details = make_click(api, {"user_agent": FIREFOX})["details"]

    assert list(details) == [*("referrer", "landing_page", "browser", "os", "platform", "device")]
    assert details["browser"] == "Firefox 131"
    assert details["os"] == "Linux"
    assert all(value is None or isinstance(value, str) for value in details.values())


@pytest.mark.parametrize("agent", [None, "", "no agent at all", "\u202e🛶"])
def test_shows_no_details_of_an_unknown_user_agent(api, odette, agent):
    details = make_click(api, {"user_agent": agent})["details"]

    assert [details[item] for item in ("browser", "os", "platform", "device")] == [None] * 4


@pytest.mark.parametrize(
    "body",
    [
        {"asset_id": None, "source_id": None, "meta_data": None},
        {"referrer": None, "landing_page": None, "user_agent": None, "ip": None},
        {"coupon": "unknown", "click_id": [], "customer_id": {}, "metadata": 1},
    ],
    ids=["nulls", "more-nulls", "unknown"],
)
def test_ignores_unneeded_values(api, odette, body):
    assert make_click(api, body)["meta_data"] == {}


def test_reports_every_invalid_field_in_documented_order(api, odette):
    names = ["asset_id", "source_id", "user_agent", "meta_data"]

    response = api.post("/clicks/", CODE | dict.fromkeys(reversed(names), 1.5))

    found = [entry["property_path"] for entry in response.json()["errors"]]
    assert found == names


# GET /clicks/{id}/


def test_shows_a_click(api, click):
    response = api.get(f"/clicks/{click}/")

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == expected_click(click)
    assert list(response.json()) == list(expected_click(click))
    assert "Link" not in response


def test_shows_a_click_of_a_deleted_affiliate(api, odette, click):
    odette.affiliate.update_row(deleted_at=NOW)

    assert api.get(f"/clicks/{click}/").json() == expected_click(click)


# GET /clicks/

SUB_VALUES = [
    {"subid1": "newsletter-12"},
    {"subid1": "newsletter-13", "1": "one", "0": "zero"},
    {"ž🛶": "é", "a b": "", "a.b": "dot", "$": "dollar", "[0": "bracket", "#": "x"},
    {"SUBID1": "newsletter-12", "a*b%": "50%_", "subid": "newsletter"},
]


@pytest.fixture
def clicks(account, other_account, odette, second_affiliate, foreign_enrollment):
    """Four clicks on four days; the first of SUB_VALUES is the newest."""
    for n, data in enumerate(SUB_VALUES):
        ClickFactory(
            account=account,
            enrollment=second_affiliate if n == 3 else odette,
            created_at=NOW - timedelta(days=n),
            meta_data=data,
        )
    ClickFactory(
        account=other_account,
        enrollment=foreign_enrollment,
        created_at=NOW,
        meta_data={"subid1": "newsletter-12", "zz-marker": "zz-marker"},
    )


def test_lists_clicks_newest_first(api, clicks):
    response = api.get("/clicks/")

    assert response.status_code == 200
    assert [row["meta_data"] for row in response.json()] == SUB_VALUES
    address = "<http://testserver/1.6/clicks/?page=1>"
    assert response["Link"] == f'{address}; rel="last", {address}; rel="first"'


FILTERS = [
    ("program_id=harbor-lamp-partners", [0, 1, 2]),
    ("program_id=zz-marker-program", []),
    ("affiliate_id=odettevarga", [0, 1, 2]),
    ("affiliate_id=minakessler", [3]),
    ("affiliate_id=zz-marker-affiliate", []),
    ("date_from=2026-03-03&date_to=2026-03-03", [1]),
    ("meta_data[key]=subid1", [0, 1]),
    ("meta_data%5Bkey%5D=subid1", [0, 1]),
    ("meta_data[key]=SUBID1", [3]),
    ("meta_data[key]=subid", [3]),
    ("meta_data[key]=unknown", []),
    ("meta_data[key]=zz-marker", []),
    ("meta_data[key]=", [0, 1, 2, 3]),
    ("meta_data[key]=1", [1]),
    ("meta_data[key]=0", [1]),
    ("meta_data[key]=1&meta_data[value]=one", [1]),
    ("meta_data[key]=0&meta_data[value]=one", []),
    ("meta_data[key]=%C5%BE%F0%9F%9B%B6", [2]),
    ("meta_data[key]=%C5%BE%F0%9F%9B%B6&meta_data[value]=%C3%A9", [2]),
    ("meta_data[key]=a+b", [2]),
    ("meta_data[key]=a.b", [2]),
    ("meta_data[key]=a", []),
    ("meta_data[key]=$", [2]),
    ("meta_data[key]=[0", [2]),
    ("meta_data[key]=%23", [2]),
    ("meta_data[key]=a*b%25", [3]),
    ("meta_data[key]=a%25b%25", []),
    ("meta_data[key]=%25", []),
    ("meta_data[key]=a*b%25&meta_data[value]=50%25_", [3]),
    ("meta_data[key]=a*b%25&meta_data[value]=50xx", []),
    ("meta_data[key]=subid1&meta_data[value]=newsletter-12", [0]),
    ("meta_data[key]=subid1&meta_data[value]=NEWSLETTER-12", []),
    ("meta_data[key]=subid1&meta_data[value]=", [0, 1]),
    ("meta_data[value]=newsletter-12", [0, 1, 2, 3]),
    ("meta_data[key]=%22", []),
    ("meta_data[key]=a%22b", []),
    ("meta_data[key]=subid1%22", []),
    ("meta_data[key]=%7B%7D", []),
    ("meta_data[key]=a%5D", []),
    ("meta_data[key]=" + "k" * 300, []),
    ("meta_data[key]=subid1&affiliate_id=minakessler", []),
    ("meta_data[key]=subid1&date_from=2026-03-04", [0]),
    ("meta_data=subid1&metadata[key]=unknown", [0, 1, 2, 3]),
    ("click_id=unknown&limit=1", [0, 1, 2, 3]),
]


def test_filters_the_list(api, clicks, subtests):
    for query, found in FILTERS:
        with subtests.test(query=query):
            response = api.get(f"/clicks/?{query}")

            assert response.status_code == 200
            assert [row["meta_data"] for row in response.json()] == [SUB_VALUES[n] for n in found]


def test_rejects_an_invalid_query(api, clicks):
    response = api.get(
        "/clicks/?date_from=x&date_to=&page=-1&meta_data[key]=%00&meta_data[value]=%00"
    )

    assert response.status_code == 400
    found = [(error["property_path"]) for error in response.json()["errors"]]
    assert sorted(found) == [
        *("date_from", "date_to", "meta_data[key]", "meta_data[value]", "page")
    ]


def test_keeps_brackets_in_page_links(api, account, odette):
    ClickFactory.create_batch(26, account=account, enrollment=odette, meta_data={"1": "one"})

    response = api.get("/clicks/?meta_data[key]=1")

    address = "<http://testserver/1.6/clicks/?meta_data[key]=1&page={}>".format
    assert len(response.json()) == 25
    assert response["Link"] == (
        f'{address(2)}; rel="next", {address(2)}; rel="last", {address(1)}; rel="first"'
    )


def test_records_clicks_in_each_program_of_the_affiliate(api, account, odette):
    EnrollmentFactory(account=account, affiliate=odette.affiliate, code="second1")

    first, second = make_click(api, {}), make_click(api, {"referral_code": "second1"})

    assert first["affiliate"] == second["affiliate"]
    assert first["program"] != second["program"]
