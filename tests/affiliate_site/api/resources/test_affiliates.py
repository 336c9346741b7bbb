"""Creating, showing and listing affiliates: docs/api-contract.md, 2.4.1 to 2.4.3."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import check_password

from tests.affiliate_site.api.resources.expected import HOME, expected_affiliate
from tests.affiliate_site.responses import build_field_error
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory, ClickFactory
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("frozen_time")

MISSING = "Missing mandatory parameter(s)"
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."
SHORT = "This value is too short, {{ limit }} characters at least."
EMAIL = "This is not a valid email address."
NAME = {"firstname": "Odette", "lastname": "Varga"}
ADDRESS = HOME | {"country": {"code": "SI"}}
BARE = expected_affiliate(
    id="odettevarga", **NAME, email=None, created_at="2026-03-04T09:15:27+00:00"
)
FULL = BARE | {
    "email": "odette@notes.example.org",
    "company": {"name": "Varga Notes", "description": None},
    "address": HOME,
    "meta_data": {"tier": "silver"},
}


def make_affiliate(api, body):
    response = api.post("/affiliates/", NAME | body)
    assert response.status_code == 200, response.content
    return response.json()


# POST /affiliates/


def test_creates_an_affiliate(api):
    body = {
        "firstname": "Odette",
        "lastname": "Varga",
        "email": "odette@notes.example.org",
        "password": "a secret of hers",
        "company": {"name": "Varga Notes"},
        "address": ADDRESS,
        "custom_fields": {"website": "https://notes.example.org"},
        "meta_data": {"tier": "silver"},
    }

    response = api.post("/affiliates/", body)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == FULL | {"password": None}
    assert list(response.json()) == [*BARE, "password"]
    assert "Link" not in response
    shown = api.get("/affiliates/odettevarga/")
    assert shown.status_code == 200
    assert shown.json() == FULL


def test_creates_an_affiliate_from_its_name_only(api, account):
    shown = make_affiliate(api, {})

    password = shown.pop("password")
    assert shown == BARE
    assert re.fullmatch("[A-Za-z0-9]{16}", password)
    assert check_password(password, account.affiliates.get().password)
    assert account.enrollments.count() == 0


def test_shows_the_password_once(api):
    password = make_affiliate(api, {})["password"]

    for path in ("/affiliates/", "/affiliates/odettevarga/"):
        assert password.encode() not in api.get(path).content
        assert b"password" not in api.get(path).content


@pytest.mark.parametrize("password", ["x" * 128, " " * 8, "žš🛶" * 3, 12345678])
def test_stores_a_sent_password_as_a_hash(api, account, password):
    assert make_affiliate(api, {"password": password})["password"] is None

    assert check_password(str(password), account.affiliates.get().password)


@pytest.mark.parametrize(
    ("is_on", "wish", "mails"),
    [(True, "true", 1), (True, "1", 1), (True, "x", 0), (False, "true", 0)],
)
def test_mails_a_welcome_without_changing_the_answer(api, account, is_on, wish, mails):
    update_portal_settings(account, changes={"is_on": is_on}, at=NOW)
    body = NAME | {"email": "odette@varga.example.org", "password": "boats-at-sea"}
    plain = make_affiliate(api, body)
    api.delete(f"/affiliates/{plain['id']}/")

    response = api.post(f"/affiliates/?send_welcome_email={wish}", body)

    assert response.status_code == 200
    assert response.json() == plain | {name: response.json()[name] for name in ("id", "created_at")}
    sent = account.mails.all()
    assert len(sent) == mails
    assert all(mail.recipient == body["email"] for mail in sent)
    assert all("/password/" in mail.text for mail in sent)


def test_mails_no_welcome_without_an_address(api, account):
    update_portal_settings(account, changes={"is_on": True}, at=NOW)
    response = api.post("/affiliates/?send_welcome_email=true", NAME)

    assert response.status_code == 200
    assert not account.mails.exists()


@pytest.mark.parametrize(
    "body",
    [
        {"email": None, "password": None, "company": None, "address": None},
        {"custom_fields": None, "meta_data": None},
        {"company": {}, "address": {}, "custom_fields": {}, "meta_data": {}},
        {"company": {"name": None, "description": None}},
        {"company": {"unknown": "x"}},
        {"id": "chosen", "created_at": "x", "parent_id": "x", "promoted_at": 1},
        {"metadata": {"a": "b"}, "affiliate_group_id": "ag_1", "referral_code": "x"},
    ],
    ids=range(7),
)
def test_ignores_empty_and_unknown_values(api, body):
    shown = make_affiliate(api, body)

    del shown["password"]
    assert shown == BARE


def test_returns_text_byte_for_byte(api):
    special = " 🛶 e\u0301 \u2028\t"
    address = {
        "address": special,
        "address_two": "",
        "postal_code": special,
        "city": special,
        "state": special,
        "country": {"code": " si\n", "name": "Nowhere"},
    }

    shown = make_affiliate(
        api,
        {
            "firstname": special,
            "lastname": special,
            "company": {"name": special, "description": ""},
            "address": address,
            "meta_data": {special: special},
        },
    )

    assert (shown["firstname"], shown["lastname"]) == (special, special)
    assert shown["company"] == {"name": special, "description": ""}
    assert shown["address"] == address | {"country": {"code": "SI", "name": "Slovenia"}}
    assert shown["meta_data"] == {special: special}
    del shown["password"]
    assert api.get(f"/affiliates/{shown['id']}/").json() == shown


@pytest.mark.parametrize(
    ("country", "code", "name"),
    [
        ("SI", "SI", "Slovenia"),
        ("si", "SI", "Slovenia"),
        (" sI ", "SI", "Slovenia"),
        ({"code": "de"}, "DE", "Germany"),
        ({"code": "AT", "name": "Österreich"}, "AT", "Austria"),
    ],
    ids=repr,
)
def test_accepts_a_country_code(api, country, code, name):
    shown = make_affiliate(api, {"address": ADDRESS | {"country": country}})

    assert shown["address"]["country"] == {"code": code, "name": name}


COUNTRY, NO_COUNTRY = "address.country.code", "Unknown country"
INVALID_FIELDS = [
    (
        {"firstname": None, "lastname": ""},
        [("firstname", MISSING), ("lastname", MISSING)],
    ),
    ({"firstname": []}, [("firstname", TYPE, "string")]),
    ({"firstname": "x" * 256}, [("firstname", LONG, 255)]),
    ({"email": ""}, [("email", EMAIL)]),
    ({"email": "a@b.example, c@d.example"}, [("email", EMAIL)]),
    ({"email": "x" * 243 + "@example.org"}, [("email", LONG, 254)]),
    ({"password": ""}, [("password", SHORT, 8)]),
    ({"password": "x" * 129}, [("password", LONG, 128)]),
    ({"password": True}, [("password", TYPE, "string")]),
    (
        {"company": {"name": "x" * 256, "description": "x" * 1001}},
        [("company.name", LONG, 255), ("company.description", LONG, 1000)],
    ),
    (
        {"address": {"state": "x", "address": " ", "postal_code": "", "city": None}},
        [
            *((f"address.{name}", MISSING) for name in ("address", "postal_code", "city")),
            (COUNTRY, MISSING),
        ],
    ),
    *(
        ({"address": ADDRESS | {"country": country}}, [(COUNTRY, MISSING)])
        for country in (None, {}, "", {"name": "Slovenia"})
    ),
    *(
        ({"address": ADDRESS | {"country": country}}, [(COUNTRY, NO_COUNTRY)])
        for country in ("XX", "SVN", {"code": 705}, "ß", {"code": "ﬁ"})
    ),
    (
        {"address": ADDRESS | {"country": [], "city": {}, "state": "x" * 256}},
        [
            ("address.city", TYPE, "string"),
            ("address.state", LONG, 255),
            ("address.country", TYPE, "object"),
        ],
    ),
    (
        {"custom_fields": {"website": True}},
        [("custom_fields[website]", TYPE, "string")],
    ),
    (
        {"custom_fields": {"website": "x" * 5001}},
        [("custom_fields[website]", LONG, 5000)],
    ),
    (
        {"custom_fields": {"fine": "x" * 5000, "shoes": ["x"] * 51}},
        [("custom_fields[shoes]", "This list holds {{ limit }} items at most.", 50)],
    ),
    ({"meta_data": {"tier": None}}, [("meta_data[tier]", TYPE, "string")]),
    (
        dict.fromkeys(["meta_data", "custom_fields", "address", "company"], 1)
        | {"password": "x", "email": "x", "lastname": None, "firstname": None},
        [
            *(("firstname", MISSING), ("lastname", MISSING), ("email", EMAIL)),
            ("password", SHORT, 8),
            *(
                (name, TYPE, "object")
                for name in ("company", "address", "custom_fields", "meta_data")
            ),
        ],
    ),
]


@pytest.mark.parametrize(("body", "errors"), INVALID_FIELDS, ids=range(len(INVALID_FIELDS)))
def test_rejects_invalid_fields(api, account, body, errors):
    response = api.post("/affiliates/", NAME | body)

    assert response.status_code == 400
    assert response.json()["errors"] == [build_field_error(*error) for error in errors]
    assert account.affiliates.count() == 0


@pytest.mark.parametrize("email", ["odette@notes.example.org", " ODETTE@Notes.Example.ORG "])
def test_rejects_a_taken_email(api, account, odette, email):
    response = api.post("/affiliates/", NAME | {"email": email})

    assert response.status_code == 400
    assert response.json() == {
        "errors": [build_field_error("email", "Email address is already in use")]
    }
    assert account.affiliates.count() == 1


def test_accepts_the_email_of_a_deleted_or_foreign_affiliate(api, odette, foreign_enrollment):
    odette.affiliate.update_row(deleted_at=NOW)

    own = make_affiliate(api, {"email": "odette@notes.example.org"})
    foreign = make_affiliate(api, {"email": "zz-marker@notes.example.org"})

    assert (own["id"], foreign["id"]) == ("odettevarga2", "odettevarga3")


# GET /affiliates/{id}/


def test_shows_an_affiliate(api, odette):
    response = api.get("/affiliates/odettevarga/")

    assert response.status_code == 200
    assert response.json() == BARE | {
        "email": "odette@notes.example.org",
        "created_at": "2025-11-24T09:15:27+00:00",
    }
    assert list(response.json()) == list(BARE)


# GET /affiliates/


@pytest.fixture
def affiliates(account, other_account, odette, second_affiliate, foreign_enrollment):
    """Odette, Mina, one without a program, one deleted, one of another account."""
    AffiliateFactory(account=account, slug="nobody", email="100%_x@x.example", created_at=NOW)
    AffiliateFactory(
        account=account,
        slug="removed",
        email="removed@notes.example.org",
        deleted_at=NOW,
    )


def test_lists_affiliates_newest_first(api, affiliates):
    response = api.get("/affiliates/")

    assert response.status_code == 200
    assert [row["id"] for row in response.json()] == [
        "nobody",
        "minakessler",
        "odettevarga",
    ]
    assert response.json()[2] == api.get("/affiliates/odettevarga/").json()
    address = "<http://testserver/1.6/affiliates/?page=1>"
    assert response["Link"] == f'{address}; rel="last", {address}; rel="first"'


EVERYBODY = ["nobody", "minakessler", "odettevarga"]
FILTERS = [
    ("email=odette@notes.example.org", ["odettevarga"]),
    ("email=ODETTE%40Notes.Example.ORG", ["odettevarga"]),
    ("email=%20odette@notes.example.org%09", ["odettevarga"]),
    ("email=100%25_x@x.example", ["nobody"]),
    ("email=%25", []),
    ("email=zz-marker@notes.example.org", []),
    ("referral_code=qv7kd2p", ["odettevarga"]),
    ("referral_code=zz-marker-code", []),
    ("source_id={source}", ["odettevarga"]),
    ("source_id={foreign_source}", []),
    ("source_id={odd_source}", []),
    ("source_id=99999999999999999999-000000", []),
    ("click_id={click}", ["odettevarga"]),
    ("click_id={foreign_click}", []),
    ("parent_id=odettevarga", []),
    ("parentId=odettevarga", []),
    ("affiliate_group_id=ag_unknown", []),
    ("email=odette@notes.example.org&referral_code=qv7kd2p", ["odettevarga"]),
    ("email=odette@notes.example.org&referral_code=mina777", []),
    ("firstname=Odette&limit=1&date_from=x", EVERYBODY),
]


@pytest.mark.parametrize(("query", "found"), FILTERS, ids=[case[0] for case in FILTERS])
def test_filters_the_list(
    api,
    account,
    other_account,
    odette,
    foreign_enrollment,
    click,
    asset_pair,
    affiliates,
    query,
    found,
):
    foreign_click = ClickFactory(account=other_account, enrollment=foreign_enrollment)
    number = asset_pair["source_id"].partition("-")[0]
    hex_digits = "000000" if not asset_pair["source_id"].endswith("000000") else "ffffff"
    query = query.format(
        source=asset_pair["source_id"],
        odd_source=f"{number}-{hex_digits}",
        foreign_source=other_account.sources.get(),
        click=click,
        foreign_click=foreign_click,
    )

    response = api.get(f"/affiliates/?{query}")

    assert response.status_code == 200
    assert [row["id"] for row in response.json()] == found


def test_lists_an_affiliate_of_several_programs_once(api, account, odette, second_affiliate):
    account.enrollments.create(program=second_affiliate.program, affiliate=odette.affiliate)
    for n in range(3):
        ClickFactory(account=account, enrollment=odette, created_at=NOW + timedelta(n))

    assert len(api.get("/affiliates/").json()) == 2
