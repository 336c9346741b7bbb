"""Contract 2.7.2: affiliates in a program, as the API takes and shows them."""

import re
from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import (
    AffiliateFactory,
    EnrolmentFactory,
    ProgramFactory,
)
from tracking.services.programs import archive

pytestmark = pytest.mark.usefixtures("now")

LIST = "/programs/harbor-lamp-partners/affiliates/"
ONE = f"{LIST}odettevarga/"
LIMITS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
NO_AFFILIATE = {"errors": [{"message": "Affiliate not found"}]}
NO_PROGRAM = {"errors": [{"message": "Program not found"}]}
ARCHIVED = {
    "errors": [{"message": "This program is archived.", "code": "program_archived"}]
}
MISSING = "Missing mandatory parameter(s)"
TYPE = "This value should be of type {{ type }}."
FLAG = "This value should be true or false."
ODETTE = {"affiliate": {"id": "odettevarga"}}


@pytest.fixture
def shown(pair):
    """Odette in Harbor's program, as the API shows her."""
    return {
        "id": "odettevarga",
        "firstname": "Odette",
        "lastname": "Varga",
        "email": "odette@notes.example.org",
        "company": None,
        "address": None,
        "meta_data": {},
        "parent_id": None,
        "created_at": "2025-11-24T09:15:27+00:00",
        "affiliate_group_id": None,
        "promoted_at": None,
        "promotion_method": None,
        "custom_fields": {},
        "referral_link": {"link": "https://shop.example.net/?ref=qv7kd2p"} | pair,
        "coupon": "ODETTE10",
        "approved": True,
        "applied_at": "2025-11-25T09:15:27+00:00",
    }


@pytest.fixture
def outsider(account):
    """In no program yet."""
    return AffiliateFactory(
        account=account,
        slug="minakessler",
        firstname="Mina",
        lastname="Kessler",
        email="mina@notes.example.org",
        created_at=NOW - timedelta(days=2),
    )


@pytest.fixture
def archived(account, odette):
    return archive(account, slug="harbor-lamp-partners", at=NOW)


def flaw(path, message, raw=None):
    return {"message": message, "message_raw": raw or message, "property_path": path}


def limits_of(response):
    return [response.headers.get(name) for name in LIMITS]


def added(api, body, query=""):
    response = api.post(f"{LIST}{query}", body)
    assert response.status_code == 200, response.content
    return response.json()


# POST


def test_adds_an_affiliate(api, account, odette, outsider, shown):
    body = {"affiliate": {"id": "minakessler"}, "approved": True, "coupon": "MINA10"}

    response = api.post(LIST, body)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    link = response.json()["referral_link"]["link"]
    assert re.fullmatch(r"https://shop\.example\.net/\?ref=[a-z0-9]{7}", link)
    assert response.json() == shown | {
        "id": "minakessler",
        "firstname": "Mina",
        "lastname": "Kessler",
        "email": "mina@notes.example.org",
        "created_at": "2026-03-02T09:15:27+00:00",
        "referral_link": {
            "link": link,
            "asset_id": shown["referral_link"]["asset_id"],
            "source_id": str(account.sources.get(affiliate=outsider)),
        },
        "coupon": "MINA10",
        "applied_at": "2026-03-04T09:15:27+00:00",
    }
    assert list(response.json()) == list(shown)
    assert limits_of(response) == ["1500", "1499", str(int(NOW.timestamp()) + 300)]
    assert api.get(f"{LIST}minakessler/").json() == response.json()


@pytest.mark.parametrize(
    "who",
    [
        {"affiliate": {"id": " minakessler\n"}},
        {"affiliate": {"email": "mina@notes.example.org"}},
        {"affiliate": {"email": " MINA@Notes.example.org "}},
        {"affiliate": {"id": None, "email": "mina@notes.example.org"}},
        {"affiliate_id": "minakessler"},
        {"affiliate_id": "odettevarga", "affiliate": {"id": "minakessler"}},
        {"affiliate_id": "minakessler", "affiliate": None},
        {"affiliate_id": "minakessler", "affiliate": {}},
        {"affiliate": {"id": "minakessler", "firstname": "x"}, "referral_code": None},
    ],
    ids=[
        "id",
        "email",
        "email-any-case",
        "null-id",
        "alias",
        "both",
        "alias-null",
        "alias-empty",
        "unknown-fields",
    ],
)
def test_knows_the_affiliate_by_id_or_address(api, odette, outsider, who):
    assert added(api, who)["id"] == "minakessler"


@pytest.mark.parametrize(
    ("automatic", "sent", "approved"),
    [
        (False, {}, None),
        (True, {}, True),
        (False, {"approved": None}, None),
        (True, {"approved": None}, None),
        (False, {"approved": True}, True),
        (True, {"approved": False}, False),
    ],
    ids=["absent", "absent-auto", "null", "null-auto", "true", "false-auto"],
)
def test_approves_as_was_sent_or_as_the_program_does(
    api, odette, outsider, automatic, sent, approved
):
    odette.program.change(auto_approve_affiliates=automatic)

    shown = added(api, {"affiliate": {"id": "minakessler"}} | sent)

    assert shown["approved"] is approved


def test_sends_no_welcome(api, odette, outsider):
    body = {"affiliate": {"id": "minakessler"}}

    assert added(api, body, "?send_welcome_email=1")["id"] == "minakessler"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (None, None),
        ("x" * 64, "x" * 64),
        ("🛶" * 64, "🛶" * 64),
        ("odette10", "odette10"),
        (" MINA 10\t", "MINA 10"),
        (2026, "2026"),
    ],
    ids=["null", "64", "64-boats", "another-case", "trimmed", "digits"],
)
def test_gives_a_coupon(api, odette, outsider, sent, kept):
    shown = added(api, {"affiliate": {"id": "minakessler"}, "coupon": sent})

    assert shown["coupon"] == kept


ODD = [
    ({}, [flaw("affiliate", MISSING)]),
    ({"affiliate": None}, [flaw("affiliate", MISSING)]),
    ({"affiliate": {}}, [flaw("affiliate", MISSING)]),
    ({"affiliate": {"id": ""}}, [flaw("affiliate.id", MISSING)]),
    ({"affiliate": {"id": None}}, [flaw("affiliate.id", MISSING)]),
    ({"affiliate_id": " "}, [flaw("affiliate.id", MISSING)]),
    (
        {"affiliate": "odettevarga"},
        [flaw("affiliate", "This value should be of type object.", TYPE)],
    ),
    (
        {"affiliate": {"id": []}},
        [flaw("affiliate.id", "This value should be of type string.", TYPE)],
    ),
    (
        {"affiliate": {"email": "x"}},
        [flaw("affiliate.email", "This is not a valid email address.")],
    ),
    (
        {"affiliate": {"id": "minakessler"}, "approved": "true"},
        [flaw("approved", FLAG)],
    ),
    ({"affiliate": {"id": "minakessler"}, "approved": 1}, [flaw("approved", FLAG)]),
    (
        {"affiliate": {"id": "minakessler"}, "coupon": "x" * 65},
        [
            flaw(
                "coupon",
                "This value is too long, 64 characters at most.",
                "This value is too long, {{ limit }} characters at most.",
            )
        ],
    ),
    (
        {"affiliate": {"id": "minakessler"}, "coupon": " "},
        [
            flaw(
                "coupon",
                "This value is too short, 1 characters at least.",
                "This value is too short, {{ limit }} characters at least.",
            )
        ],
    ),
    (
        {"coupon": [], "approved": "x", "affiliate": {"id": ""}},
        [
            flaw("affiliate.id", MISSING),
            flaw("approved", FLAG),
            flaw("coupon", "This value should be of type string.", TYPE),
        ],
    ),
    ({"affiliate": {"id": "unknown"}}, [flaw("affiliate.id", "Unknown affiliate")]),
    ({"affiliate_id": "Minakessler"}, [flaw("affiliate.id", "Unknown affiliate")]),
    ({"affiliate_id": "removed"}, [flaw("affiliate.id", "Unknown affiliate")]),
    (
        {"affiliate_id": "zz-marker-affiliate"},
        [flaw("affiliate.id", "Unknown affiliate")],
    ),
    (
        {"affiliate": {"email": "unknown@notes.example.org"}},
        [flaw("affiliate.id", "Unknown affiliate")],
    ),
    (
        {"affiliate": {"email": "zz-marker@notes.example.org"}},
        [flaw("affiliate.id", "Unknown affiliate")],
    ),
    (ODETTE, [flaw("affiliate.id", "Affiliate is already in this program")]),
    (
        {"affiliate": {"id": "minakessler"}, "coupon": "ODETTE10"},
        [flaw("coupon", "Coupon is already in use")],
    ),
]


@pytest.mark.parametrize("late", [False, True], ids=["open", "archived"])
@pytest.mark.parametrize(
    ("body", "entries"),
    ODD,
    ids=[f"{n}-{it[1][0]['message'][:24]}" for n, it in enumerate(ODD)],
)
def test_refuses_an_odd_request_before_the_state(
    api, account, odette, outsider, foreign, late, body, entries
):
    AffiliateFactory(account=account, slug="removed", removed_at=NOW)
    if late:
        archive(account, slug="harbor-lamp-partners", at=NOW)

    response = api.post(LIST, body)

    assert response.status_code == 400
    assert response.json() == {"errors": entries}
    assert account.enrolments.count() == account.referral_codes.count() == 1


def test_adds_nobody_to_an_archived_program(api, account, outsider, archived):
    response = api.post(LIST, {"affiliate": {"id": "minakessler"}})

    assert response.status_code == 409
    assert response["Content-Type"] == "application/json"
    assert response.json() == ARCHIVED
    assert account.enrolments.count() == 1


@pytest.mark.parametrize("body", ["", "[]", "null"])
def test_wants_a_json_object(api, odette, body):
    response = api.post(LIST, body)

    assert response.status_code == 400
    assert response.json() == {
        "errors": [{"message": "Request body was not valid JSON"}]
    }


# GET one


def test_shows_an_affiliate_in_a_program(api, odette, shown):
    response = api.get(ONE)

    assert response.status_code == 200
    assert response.json() == shown
    assert list(response.json()) == list(shown)
    assert limits_of(response) == ["1500", "1499", str(int(NOW.timestamp()) + 300)]
    assert "Link" not in response


def test_shows_everything_of_the_affiliate(api, account, odette, shown):
    odette.affiliate.change(
        company_name="Varga Notes",
        address="Pristaniška 4",
        postal_code="6000",
        city="Koper",
        country="SI",
        meta_data={"tier": "silver"},
    )
    account.coupons.get().delete()
    odette.change(approved=None)

    assert api.get(ONE).json() == shown | {
        "company": {"name": "Varga Notes", "description": None},
        "address": {
            "address": "Pristaniška 4",
            "address_two": None,
            "postal_code": "6000",
            "city": "Koper",
            "state": None,
            "country": {"code": "SI", "name": "Slovenia"},
        },
        "meta_data": {"tier": "silver"},
        "coupon": None,
        "approved": None,
    }


LINKS = [
    ("https://shop.example.net/", "https://shop.example.net/?ref=qv7kd2p"),
    ("https://shop.example.net", "https://shop.example.net/?ref=qv7kd2p"),
    ("https://shop.example.net/a/b", "https://shop.example.net/a/b?ref=qv7kd2p"),
    (
        "https://shop.example.net/?utm=a&b=%20",
        "https://shop.example.net/?utm=a&b=%20&ref=qv7kd2p",
    ),
    ("", "https://aff.example.net/?ref=qv7kd2p"),
]


@pytest.mark.parametrize(("landing_page", "link"), LINKS, ids=[it[0] for it in LINKS])
def test_puts_the_code_at_the_end_of_the_link(
    api, settings, odette, landing_page, link
):
    settings.PUBLIC_URL = "https://aff.example.net"
    odette.program.change(landing_page=landing_page)

    assert api.get(ONE).json()["referral_link"]["link"] == link


@pytest.mark.parametrize(
    ("method", "tail"),
    [
        ("GET", ""),
        ("PUT", "approved/"),
        ("DELETE", "approved/"),
        ("PUT", "approval/"),
        ("DELETE", "approval/"),
    ],
    ids=["get", "approve", "disapprove", "alias-approve", "alias-disapprove"],
)
@pytest.mark.parametrize(
    "slug", ["unknown", "OdetteVarga", "removed", "minakessler", "zz-marker-affiliate"]
)
def test_does_not_know_who_is_not_in_the_program(
    api, account, program, odette, rival, foreign, method, tail, slug
):
    removed = AffiliateFactory(account=account, slug="removed", removed_at=NOW)
    EnrolmentFactory(account=account, program=program, affiliate=removed)

    response = api.ask(method, f"{LIST}{slug}/{tail}")

    assert response.status_code == 404
    assert response.json() == NO_AFFILIATE


@pytest.mark.parametrize(
    ("method", "tail", "body"),
    [
        ("GET", "", None),
        ("POST", "", {}),
        ("GET", "odettevarga/", None),
        ("PUT", "odettevarga/approved/", None),
        ("DELETE", "odettevarga/approved/", None),
    ],
    ids=["list", "add", "get", "approve", "disapprove"],
)
@pytest.mark.parametrize("slug", ["unknown", "zz-marker-program"])
def test_does_not_know_other_programs(api, odette, foreign, method, tail, body, slug):
    response = api.ask(method, f"/programs/{slug}/affiliates/{tail}", body)

    assert response.status_code == 404
    assert response.json() == NO_PROGRAM


# …/approved/


@pytest.mark.parametrize("body", ["", "[]", "not json", '{"approved": false}'])
@pytest.mark.parametrize("word", ["approved", "approval"])
@pytest.mark.parametrize(("method", "approved"), [("PUT", True), ("DELETE", False)])
@pytest.mark.parametrize("before", [True, False, None])
def test_decides_on_an_affiliate(
    api, odette, shown, body, word, method, approved, before
):
    odette.change(approved=before)

    for _ in range(2):
        response = api.ask(method, f"{ONE}{word}/", body)

        assert response.status_code == 200
        assert response.json() == shown | {"approved": approved}


def test_counts_the_alias_with_what_it_stands_for(api, odette):
    left = [
        api.ask(method, f"{ONE}{word}/")["X-RateLimit-Remaining"]
        for method, word in [
            ("PUT", "approved"),
            ("PUT", "approval"),
            ("DELETE", "approval"),
            ("DELETE", "approved"),
        ]
    ]

    assert left == ["1499", "1498", "1499", "1498"]


@pytest.mark.parametrize("before", [True, False, None])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_decides_on_nobody_in_an_archived_program(
    api, odette, archived, shown, method, before
):
    odette.change(approved=before)

    response = api.ask(method, f"{ONE}approved/")

    assert response.status_code == 409
    assert response.json() == ARCHIVED
    assert api.get(ONE).json() == shown | {"approved": before}


# GET the list


@pytest.fixture
def listed(account, program, odette, rival, foreign):
    """Odette, three more of each approval, one removed, others elsewhere."""
    for n, (slug, approved) in enumerate(
        [("yes", True), ("no", False), ("waiting", None), ("removed", True)]
    ):
        affiliate = AffiliateFactory(
            account=account,
            slug=slug,
            email=f"{slug}@notes.example.org",
            removed_at=NOW if slug == "removed" else None,
        )
        EnrolmentFactory(
            account=account,
            program=program,
            affiliate=affiliate,
            approved=approved,
            applied_at=NOW - timedelta(days=n),
        )


EVERYBODY = ["yes", "no", "waiting", "odettevarga"]


def test_lists_the_affiliates_newest_first(api, listed, shown):
    response = api.get(LIST)

    assert response.status_code == 200
    assert [row["id"] for row in response.json()] == EVERYBODY
    assert response.json()[3] == shown
    assert limits_of(response) == ["1500", "1499", str(int(NOW.timestamp()) + 300)]
    address = f"<http://testserver/1.6{LIST}?page=1>"
    assert response["Link"] == f'{address}; rel="last", {address}; rel="first"'


FILTERS = [
    ("approved=true", ["yes", "odettevarga"]),
    ("approved=false", ["no"]),
    ("approved=pending", ["waiting"]),
    ("approved=null", ["waiting"]),
    ("approved=", EVERYBODY),
    ("email=odette@notes.example.org", ["odettevarga"]),
    ("email=YES@Notes.example.org", ["yes"]),
    ("email=notes.example.org", []),
    ("email=removed@notes.example.org", []),
    ("email=zz-marker@notes.example.org", []),
    ("email=", EVERYBODY),
    ("source_id={source}", ["odettevarga"]),
    ("source_id={rival_source}", []),
    ("source_id={foreign_source}", []),
    ("source_id=unknown", []),
    ("source_id=", EVERYBODY),
    ("parent_id=odettevarga", []),
    ("parent_id=", EVERYBODY),
    ("parentId=odettevarga", []),
    ("parentId=", EVERYBODY),
    ("affiliate_group_id=ag_unknown", []),
    ("affiliate_group_id=", EVERYBODY),
    ("approved=false&email=yes@notes.example.org", []),
    ("referral_code=unknown&limit=1", EVERYBODY),
]


@pytest.mark.parametrize(("query", "found"), FILTERS, ids=[it[0] for it in FILTERS])
def test_narrows_the_list(
    api, account, other_account, rival, pair, listed, query, found
):
    query = query.format(
        source=pair["source_id"],
        rival_source=account.sources.get(affiliate=rival.affiliate),
        foreign_source=other_account.sources.get(),
    )

    response = api.get(f"{LIST}?{query}")

    assert response.status_code == 200
    assert [row["id"] for row in response.json()] == found


def test_refuses_another_word_for_an_approval(api, odette):
    response = api.get(f"{LIST}?approved=maybe")

    assert response.status_code == 400
    (entry,) = response.json()["errors"]
    assert entry["property_path"] == "approved"
    assert entry["message"].startswith(
        "Invalid value 'maybe'. Valid are 'true', 'false'"
    )
    assert entry["message_raw"] == "Invalid value '{{ value }}'. Valid are {{ values }}"


def test_lists_the_affiliates_of_an_archived_program(api, odette, archived, shown):
    assert api.get(LIST).json() == [shown]


def test_shows_each_program_its_own_code(api, account, odette):
    second = ProgramFactory(account=account, slug="second")
    EnrolmentFactory(
        account=account, program=second, affiliate=odette.affiliate, code="second1"
    )

    first, other = (
        api.get(f"/programs/{slug}/affiliates/").json()
        for slug in ("harbor-lamp-partners", "second")
    )

    assert [row["referral_link"]["link"][-7:] for row in first] == ["qv7kd2p"]
    assert [row["referral_link"]["link"][-7:] for row in other] == ["second1"]
    assert first[0]["coupon"] == "ODETTE10"
    assert other[0]["coupon"] is None


def test_names_all_that_is_wrong_in_the_order_of_the_table(api, program):
    answer = api.post(
        f"/programs/{program.slug}/affiliates/",
        {"affiliate": {"id": "nobody"}, "approved": 5, "coupon": "x" * 65},
    )

    assert answer.status_code == 400
    told = [(it["property_path"], it["message"]) for it in answer.json()["errors"]]
    assert told == [
        ("affiliate.id", "Unknown affiliate"),
        ("approved", "This value should be true or false."),
        ("coupon", "This value is too long, 64 characters at most."),
    ]
