"""Contract 2.8: clicks, as the API takes and shows them.

The messages of tracking are in test_tracking_messages.py.
"""

import re
from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import ClickFactory, EnrolmentFactory

pytestmark = pytest.mark.usefixtures("now")

FORM = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
LIMITS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
TYPE = "This value should be of type {{ type }}."
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"
CODE = {"referral_code": "qv7kd2p"}
NOT_FOUND = {"errors": [{"message": "Click not found"}]}


def shown_of(click):
    """The fixture `click` as the API shows it."""
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


def limits_of(response):
    return [response.headers.get(name) for name in LIMITS]


def flaw(path, message, raw=None):
    return {"message": message, "message_raw": raw or message, "property_path": path}


def made(api, body):
    """The click that a POST made, as the API shows it."""
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
    assert limits_of(response) == [None, None, None]


def test_makes_a_new_click_of_every_call(api, odette):
    ids = [api.post("/clicks/", CODE).json()["id"] for _ in range(3)]

    assert len(set(ids)) == 3
    assert [row["id"] for row in api.get("/clicks/").json()] == ids[::-1]


def test_takes_an_asset_with_a_source(api, odette, pair):
    response = api.post("/clicks/", pair)

    assert response.status_code == 200
    (shown,) = api.get("/clicks/").json()
    assert shown["affiliate"]["id"] == "odettevarga"


@pytest.mark.parametrize("code", [None, ""], ids=["null", "blank"])
def test_takes_a_pair_beside_an_empty_code(api, odette, pair, code):
    assert api.post("/clicks/", pair | {"referral_code": code}).status_code == 200


@pytest.mark.parametrize(
    "source", ["unknown", "999999-000000", "", None, "{rival}"], ids=repr
)
def test_ignores_a_source_beside_a_code_that_is_not_its_own(
    api, account, odette, rival, source
):
    if source == "{rival}":
        source = str(account.sources.get(affiliate=rival.affiliate))

    assert made(api, {"source_id": source})["affiliate"]["id"] == "odettevarga"


def test_trims_the_code(api, odette):
    assert made(api, {"referral_code": "\t qv7kd2p\n"})


ADDRESSES = [
    ("https://notes.example.org/lamps?a=b#c", True),
    ("http://notes.example.org", True),
    ("notes.example.org/lamps", False),
    ("/lamps", False),
    ("//notes.example.org", False),
    ("javascript:alert(1)", False),
    ("ftp://notes.example.org/", False),
    ("http://[", False),
    ("", False),
    (None, False),
    (7, False),
]


@pytest.mark.parametrize("name", ["referrer", "landing_page"])
@pytest.mark.parametrize(
    ("sent", "kept"), ADDRESSES, ids=[str(a) for a, _ in ADDRESSES]
)
def test_never_refuses_an_address_of_the_web(api, odette, name, sent, kept):
    shown = made(api, {name: sent})

    assert shown["details"][name] == (sent if kept else None)


@pytest.mark.parametrize("name", ["referrer", "landing_page"])
def test_cuts_an_address_at_2048_characters(api, odette, name):
    address = "https://notes.example.org/🛶".ljust(5000, "x")

    assert made(api, {name: address})["details"][name] == address[:2048]


@pytest.mark.parametrize("ip", ["nowhere", "", 7, "1.2.3.4, 5.6.7.8", "x" * 5000])
def test_never_refuses_an_address_of_the_net(api, odette, ip):
    assert made(api, {"ip": ip})["geolocation"] is None


def test_cuts_a_user_agent_at_1000_characters(api, account, odette):
    made(api, {"user_agent": "🛶" * 1001})

    assert account.clicks.get().user_agent == "🛶" * 1000


def test_tells_what_a_visitor_came_with(api, odette):
    details = made(api, {"user_agent": FIREFOX})["details"]

    assert list(details) == [
        "referrer",
        "landing_page",
        "browser",
        "os",
        "platform",
        "device",
    ]
    assert details["browser"] == "Firefox 131"
    assert details["os"] == "Linux"
    assert all(it is None or isinstance(it, str) for it in details.values())


@pytest.mark.parametrize("agent", [None, "", "no agent at all", "\u202e🛶"])
def test_tells_nothing_of_an_odd_user_agent(api, odette, agent):
    details = made(api, {"user_agent": agent})["details"]

    assert [details[it] for it in ("browser", "os", "platform", "device")] == [None] * 4


def test_returns_meta_data_byte_for_byte(api, odette):
    data = {" key ": " 🛶 e\u0301 ", "1": "", "ž🛶": "\u2028'\"\\/&<>"}

    assert made(api, {"meta_data": data})["meta_data"] == data


def test_hands_its_meta_data_to_the_customer(api, odette):
    click = made(api, {"meta_data": {"subid1": "a"}})

    customer = api.post("/customers/", {"customer_id": "a", "click_id": click["id"]})

    assert customer.json()["affiliate_meta_data"] == {"subid1": "a"}
    assert customer.json()["meta_data"] == {}


@pytest.mark.parametrize(
    "body",
    [
        {"asset_id": None, "source_id": None, "meta_data": None},
        {"referrer": None, "landing_page": None, "user_agent": None, "ip": None},
        {"coupon": "unknown", "click_id": [], "customer_id": {}, "metadata": 1},
    ],
    ids=["nulls", "more-nulls", "unknown"],
)
def test_does_not_mind_what_it_does_not_need(api, odette, body):
    assert made(api, body)["meta_data"] == {}


FIELDS = [
    ("referral_code", True, "referral_code"),
    ("referral_code", 1.5, "referral_code"),
    ("referral_code", ["qv7kd2p"], "referral_code"),
    ("referral_code", [], "referral_code"),
    ("referral_code", False, "referral_code"),
    ("asset_id", [], "asset_id"),
    ("source_id", 1.5, "source_id"),
    ("user_agent", {"a": 1}, "user_agent"),
    ("meta_data", {"a": None}, "meta_data[a]"),
]


@pytest.mark.parametrize(
    ("name", "value", "path"), FIELDS, ids=[f"{a}-{b}" for a, b, _ in FIELDS]
)
def test_refuses_an_odd_field(api, account, odette, name, value, path):
    response = api.post("/clicks/", CODE | {name: value})

    assert response.status_code == 400
    assert response.json() == {
        "errors": [flaw(path, "This value should be of type string.", TYPE)]
    }
    assert account.clicks.count() == 0


def test_names_every_odd_field_in_the_order_of_the_table(api, odette):
    names = ["asset_id", "source_id", "user_agent", "meta_data"]

    response = api.post("/clicks/", CODE | dict.fromkeys(reversed(names), 1.5))

    found = [entry["property_path"] for entry in response.json()["errors"]]
    assert found == names


# GET /clicks/{id}/


def test_shows_a_click(api, click):
    response = api.get(f"/clicks/{click}/")

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == shown_of(click)
    assert list(response.json()) == list(shown_of(click))
    assert limits_of(response) == ["100", "99", str(int(NOW.timestamp()) + 60)]
    assert "Link" not in response


def test_shows_a_click_of_an_affiliate_that_was_deleted(api, odette, click):
    odette.affiliate.change(removed_at=NOW)

    assert api.get(f"/clicks/{click}/").json() == shown_of(click)


@pytest.mark.parametrize(
    "which",
    ["5b0f6f1e-98c4-4c0e-9f0a-3c1f0d2b7a61", "1", "{upper}", "{foreign}", "{hex}"],
)
def test_does_not_know_other_clicks(api, other_account, foreign, click, which):
    theirs = ClickFactory(account=other_account, enrolment=foreign)
    which = {
        "{upper}": f"{str(click)[:-1]}F",
        "{foreign}": str(theirs),
        "{hex}": str(click).replace("-", ""),
    }.get(which, which)

    response = api.get(f"/clicks/{which}/")

    assert response.status_code == 404
    assert response.json() == NOT_FOUND


# GET /clicks/

SUB_VALUES = [
    {"subid1": "newsletter-12"},
    {"subid1": "newsletter-13", "1": "one", "0": "nought"},
    {"ž🛶": "é", "a b": "", "a.b": "dot", "$": "dollar", "[0": "bracket", "#": "x"},
    {"SUBID1": "newsletter-12", "a*b%": "50%_", "subid": "newsletter"},
]


@pytest.fixture
def listed(account, other_account, odette, rival, foreign):
    """Four clicks on four days, the first of SUB_VALUES the newest."""
    for n, data in enumerate(SUB_VALUES):
        ClickFactory(
            account=account,
            enrolment=rival if n == 3 else odette,
            created_at=NOW - timedelta(days=n),
            meta_data=data,
        )
    ClickFactory(
        account=other_account,
        enrolment=foreign,
        created_at=NOW,
        meta_data={"subid1": "newsletter-12", "zz-marker": "zz-marker"},
    )


def test_lists_clicks_newest_first(api, listed):
    response = api.get("/clicks/")

    assert response.status_code == 200
    assert [row["meta_data"] for row in response.json()] == SUB_VALUES
    assert limits_of(response) == ["900", "899", str(int(NOW.timestamp()) + 60)]
    address = "<http://testserver/1.6/clicks/?page=1>"
    assert response["Link"] == f'{address}; rel="last", {address}; rel="first"'


def test_lists_what_it_shows(api, click):
    assert api.get("/clicks/").json() == [shown_of(click)]


FILTERS = [
    ("", [0, 1, 2, 3]),
    ("program_id=harbor-lamp-partners", [0, 1, 2]),
    ("program_id=unknown", []),
    ("program_id=zz-marker-program", []),
    ("program_id=", [0, 1, 2, 3]),
    ("affiliate_id=odettevarga", [0, 1, 2]),
    ("affiliate_id=minakessler", [3]),
    ("affiliate_id=OdetteVarga", []),
    ("affiliate_id=zz-marker-affiliate", []),
    ("affiliate_id=", [0, 1, 2, 3]),
    ("date_from=2026-03-03", [0, 1]),
    ("date_to=2026-03-02", [2, 3]),
    ("date_from=2026-03-03&date_to=2026-03-03", [1]),
    ("date_from=2026-03-04&date_to=2026-03-03", []),
    ("meta_data[key]=subid1", [0, 1]),
    ("meta_data%5Bkey%5D=subid1", [0, 1]),
    ("meta_data[key]=SUBID1", [3]),
    ("meta_data[key]=subid", [3]),
    ("meta_data[key]=unknown", []),
    ("meta_data[key]=zz-marker", []),
    ("meta_data[key]=", [0, 1, 2, 3]),
    ("meta_data[key]=1", [1]),
    ("meta_data[key]=0", [1]),
    ("meta_data[key]=2", []),
    ("meta_data[key]=-1", []),
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
    ("meta_data[key]=%5C", []),
    ("meta_data[key]=%27", []),
    ("meta_data[key]=%7B%7D", []),
    ("meta_data[key]=a%5D", []),
    ("meta_data[key]=a%2Fb", []),
    ("meta_data[key]=a%26b", []),
    ("meta_data[key]=a%3Ab", []),
    ("meta_data[key]=" + "k" * 300, []),
    ("meta_data[key]=subid1&affiliate_id=minakessler", []),
    ("meta_data[key]=subid1&date_from=2026-03-04", [0]),
    ("meta_data=subid1&metadata[key]=unknown", [0, 1, 2, 3]),
    ("click_id=unknown&limit=1", [0, 1, 2, 3]),
]


@pytest.mark.parametrize(
    ("query", "found"), FILTERS, ids=[it[0][:60] for it in FILTERS]
)
def test_narrows_the_list(api, listed, query, found):
    response = api.get(f"/clicks/?{query}")

    assert response.status_code == 200
    assert [row["meta_data"] for row in response.json()] == [
        SUB_VALUES[n] for n in found
    ]


@pytest.mark.parametrize(
    ("query", "entry"),
    [
        ("date_from=x", flaw("date_from", "Invalid date")),
        ("date_to=", flaw("date_to", "Invalid date")),
        ("page=-1", flaw("page", "Invalid page")),
        ("meta_data[key]=%00", flaw("meta_data[key]", "This value is not valid text.")),
        (
            "meta_data[key]=a&meta_data[value]=%00",
            flaw("meta_data[value]", "This value is not valid text."),
        ),
    ],
    ids=["from", "to", "page", "key", "value"],
)
def test_refuses_an_odd_query(api, listed, query, entry):
    response = api.get(f"/clicks/?{query}")

    assert response.status_code == 400
    assert response.json() == {"errors": [entry]}


def test_keeps_brackets_on_the_way_to_other_pages(api, account, odette):
    ClickFactory.create_batch(
        26, account=account, enrolment=odette, meta_data={"1": "one"}
    )

    response = api.get("/clicks/?meta_data[key]=1")

    address = "<http://testserver/1.6/clicks/?meta_data[key]=1&page={}>".format
    assert len(response.json()) == 25
    assert response["Link"] == (
        f'{address(2)}; rel="next", {address(2)}; rel="last", {address(1)}; rel="first"'
    )


@pytest.mark.parametrize(
    ("plan", "status"), [("basic", 403), ("pro", 200), ("enterprise", 200)]
)
def test_shows_clicks_where_the_plan_has_them(
    api, account, click, set_plan, plan, status
):
    set_plan(account, plan)

    for path in ("/clicks/", f"/clicks/{click}/"):
        assert api.get(path).status_code == status


def test_records_through_every_program_of_the_affiliate(api, account, odette):
    EnrolmentFactory(account=account, affiliate=odette.affiliate, code="second1")

    first, second = made(api, {}), made(api, {"referral_code": "second1"})

    assert first["affiliate"] == second["affiliate"]
    assert first["program"] != second["program"]
