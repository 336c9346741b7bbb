"""Enrolling affiliates and listing them by program: docs/api-contract.md, 2.7.2."""

import re
from datetime import timedelta

import pytest

from tests.affiliate_site.api.resources.expected import HOME, expected_affiliate
from tests.affiliate_site.responses import build_field_error
from tests.conftest import NOW
from tests.factories.tracking import AffiliateFactory, EnrollmentFactory, ProgramFactory
from tracking.services.portal_settings import update_portal_settings
from tracking.services.programs import archive_program

pytestmark = pytest.mark.usefixtures("frozen_time")

LIST = "/programs/harbor-lamp-partners/affiliates/"
ONE = f"{LIST}odettevarga/"
ARCHIVED = {"errors": [{"message": "This program is archived.", "code": "program_archived"}]}
MISSING = "Missing mandatory parameter(s)"
TYPE = "This value should be of type {{ type }}."
FLAG = "This value should be true or false."
ODETTE = {"affiliate": {"id": "odettevarga"}}


@pytest.fixture
def expected_enrollment(asset_pair):
    """The representation of Odette in Harbor's program."""
    return expected_affiliate(
        id="odettevarga",
        firstname="Odette",
        lastname="Varga",
        email="odette@notes.example.org",
        created_at="2025-11-24T09:15:27+00:00",
        referral_link={"link": "https://shop.example.net/?ref=qv7kd2p"} | asset_pair,
        coupon="ODETTE10",
        approved=True,
        applied_at="2025-11-25T09:15:27+00:00",
    )


@pytest.fixture
def affiliate_without_program(account):
    """An affiliate without an enrollment."""
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
    return archive_program(account, slug="harbor-lamp-partners", at=NOW)


def make_enrollment(api, body, query=""):
    response = api.post(f"{LIST}{query}", body)
    assert response.status_code == 200, response.content
    return response.json()


# POST


def test_adds_an_affiliate(
    api, account, odette, affiliate_without_program, asset_pair, expected_enrollment
):
    body = MINA | {"approved": True, "coupon": " MINA 10\t"}

    response = api.post(LIST, body)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    link = response.json()["referral_link"]["link"]
    assert re.fullmatch(r"https://shop\.example\.net/\?ref=[a-z0-9]{7}", link)
    source = account.sources.get(affiliate=affiliate_without_program)
    pair = {"asset_id": asset_pair["asset_id"], "source_id": str(source)}
    assert response.json() == expected_affiliate(
        created_at="2026-03-02T09:15:27+00:00",
        referral_link={"link": link} | pair,
        coupon="MINA 10",
        approved=True,
        applied_at="2026-03-04T09:15:27+00:00",
    )
    assert list(response.json()) == list(expected_enrollment)
    assert api.get(f"{LIST}minakessler/").json() == response.json()


@pytest.mark.parametrize(
    "affiliate_fields",
    [
        {"affiliate": {"id": " minakessler\n"}},
        {"affiliate": {"id": None, "email": " MINA@Notes.example.org "}},
        {"affiliate_id": "minakessler"},
        {"affiliate_id": "odettevarga", "affiliate": {"id": "minakessler"}},
        {"affiliate_id": "minakessler", "affiliate": None},
        {"affiliate_id": "minakessler", "affiliate": {}},
        {"affiliate_id": "minakessler", "affiliate": {"id": None}},
        {"affiliate": {"id": "minakessler", "firstname": "x"}, "referral_code": None},
    ],
    ids=str,
)
def test_finds_the_affiliate_by_id_or_email(
    api, odette, affiliate_without_program, affiliate_fields
):
    assert make_enrollment(api, affiliate_fields)["id"] == "minakessler"


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
def test_approves_by_the_body_or_by_the_programs_default(
    api, odette, affiliate_without_program, automatic, sent, approved
):
    odette.program.update_row(auto_approve_affiliates=automatic)

    shown = make_enrollment(api, MINA | sent)

    assert shown["approved"] is approved


def test_mails_a_welcome(api, account, odette, affiliate_without_program):
    update_portal_settings(account, changes={"is_on": True}, at=NOW)

    assert make_enrollment(api, MINA, "?send_welcome_email=1")["id"] == "minakessler"
    assert account.mails.get().recipient == "mina@notes.example.org"


MINA = {"affiliate": {"id": "minakessler"}}
UNKNOWN = [("affiliate.id", "Unknown affiliate")]
LONG = "This value is too long, {{ limit }} characters at most."
SHORT = "This value is too short, {{ limit }} characters at least."
INVALID_BODIES = [
    *((body, [("affiliate", MISSING)]) for body in ({}, {"affiliate": {}})),
    ({"affiliate": {"id": ""}}, [("affiliate.id", MISSING)]),
    ({"affiliate": {"id": None}}, [("affiliate.id", MISSING)]),
    ({"affiliate_id": " "}, [("affiliate.id", MISSING)]),
    ({"affiliate": "odettevarga"}, [("affiliate", TYPE, "object")]),
    ({"affiliate": {"id": []}}, [("affiliate.id", TYPE, "string")]),
    (
        {"affiliate": {"email": "x"}},
        [("affiliate.email", "This is not a valid email address.")],
    ),
    (MINA | {"approved": "true"}, [("approved", FLAG)]),
    (MINA | {"coupon": " "}, [("coupon", SHORT, 1)]),
    (
        {"coupon": "x" * 65, "approved": 5, "affiliate": {"id": "nobody"}},
        [*UNKNOWN, ("approved", FLAG), ("coupon", LONG, 64)],
    ),
    *(
        ({"affiliate_id": name}, UNKNOWN)
        for name in ("Minakessler", "removed", "zz-marker-affiliate")
    ),
    *(
        ({"affiliate": {"email": f"{name}@notes.example.org"}}, UNKNOWN)
        for name in ("unknown", "zz-marker")
    ),
    (ODETTE, [("affiliate.id", "Affiliate is already in this program")]),
    (MINA | {"coupon": "ODETTE10"}, [("coupon", "Coupon is already in use")]),
]


@pytest.mark.engine_independent
@pytest.mark.parametrize("is_archived", [False, True], ids=["open", "archived"])
@pytest.mark.parametrize(("body", "entries"), INVALID_BODIES, ids=range(len(INVALID_BODIES)))
def test_rejects_invalid_fields_before_the_program_state(
    api,
    account,
    odette,
    affiliate_without_program,
    foreign_enrollment,
    is_archived,
    body,
    entries,
):
    AffiliateFactory(account=account, slug="removed", deleted_at=NOW)
    if is_archived:
        archive_program(account, slug="harbor-lamp-partners", at=NOW)

    response = api.post(LIST, body)

    assert response.status_code == 400
    errors = [build_field_error(*entry) for entry in entries]
    assert response.json() == {"errors": errors}
    assert account.enrollments.count() == account.referral_codes.count() == 1


def test_rejects_enrollment_in_an_archived_program(
    api, account, affiliate_without_program, archived
):
    response = api.post(LIST, MINA)

    assert response.status_code == 409
    assert response["Content-Type"] == "application/json"
    assert response.json() == ARCHIVED
    assert account.enrollments.count() == 1


# GET one


def test_shows_an_affiliate_in_a_program(api, odette, expected_enrollment):
    response = api.get(ONE)

    assert response.status_code == 200
    assert response.json() == expected_enrollment
    assert list(response.json()) == list(expected_enrollment)
    assert "Link" not in response


def test_shows_all_fields_of_the_affiliate(api, account, odette, expected_enrollment):
    odette.affiliate.update_row(
        company_name="Varga Notes",
        address="Pristaniška 4",
        postal_code="6000",
        city="Koper",
        country="SI",
        meta_data={"tier": "silver"},
    )
    account.coupons.get().delete()
    odette.update_row(approved=None)

    assert api.get(ONE).json() == expected_enrollment | {
        "company": {"name": "Varga Notes", "description": None},
        "address": HOME,
        "meta_data": {"tier": "silver"},
        "coupon": None,
        "approved": None,
    }


# …/approved/


@pytest.mark.parametrize("body", ["not json", '{"approved": false}'])
@pytest.mark.parametrize("word", ["approved", "approval"])
@pytest.mark.parametrize(("method", "approved"), [("PUT", True), ("DELETE", False)])
@pytest.mark.parametrize("before", [True, False, None])
def test_approves_and_disapproves_an_affiliate(
    api, odette, expected_enrollment, body, word, method, approved, before
):
    odette.update_row(approved=before)

    for _ in range(2):
        response = api.request(method, f"{ONE}{word}/", body)

        assert response.status_code == 200
        assert response.json() == expected_enrollment | {"approved": approved}


@pytest.mark.parametrize("before", [True, False, None])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_rejects_approval_in_an_archived_program(
    api, odette, archived, expected_enrollment, method, before
):
    odette.update_row(approved=before)

    response = api.request(method, f"{ONE}approved/")

    assert response.status_code == 409
    assert response.json() == ARCHIVED
    assert api.get(ONE).json() == expected_enrollment | {"approved": before}


# GET the list


@pytest.fixture
def enrollments(account, program, odette, second_affiliate, foreign_enrollment):
    """Odette, one per approval state, one deleted, others in other programs."""
    for n, (slug, approved) in enumerate(
        [("yes", True), ("no", False), ("waiting", None), ("removed", True)]
    ):
        affiliate = AffiliateFactory(
            account=account,
            slug=slug,
            email=f"{slug}@notes.example.org",
            deleted_at=NOW if slug == "removed" else None,
        )
        EnrollmentFactory(
            account=account,
            program=program,
            affiliate=affiliate,
            approved=approved,
            applied_at=NOW - timedelta(days=n),
        )


EVERYBODY = ["yes", "no", "waiting", "odettevarga"]


def test_lists_the_affiliates_newest_first(api, enrollments, expected_enrollment):
    response = api.get(LIST)

    assert response.status_code == 200
    assert [row["id"] for row in response.json()] == EVERYBODY
    assert response.json()[3] == expected_enrollment
    address = f"<http://testserver/1.6{LIST}?page=1>"
    assert response["Link"] == f'{address}; rel="last", {address}; rel="first"'


FILTERS = [
    *((f"approved={word}", ["yes", "odettevarga"]) for word in ("true", "TRUE", "1")),
    *((f"approved={word}", ["no"]) for word in ("false", "False", "0")),
    *((f"approved={word}", ["waiting"]) for word in ("pending", "null", "NULL")),
    ("email=%20odette@notes.example.org%09", ["odettevarga"]),
    ("email=odette@notes.example.org", ["odettevarga"]),
    ("email=YES@Notes.example.org", ["yes"]),
    ("email=zz-marker@notes.example.org", []),
    ("source_id={source}", ["odettevarga"]),
    ("source_id={rival_source}", []),
    ("source_id={foreign_source}", []),
    ("parent_id=odettevarga", []),
    ("parentId=odettevarga", []),
    ("affiliate_group_id=ag_unknown", []),
    ("approved=false&email=yes@notes.example.org", []),
    ("referral_code=unknown&limit=1", EVERYBODY),
]


@pytest.mark.parametrize(("query", "found"), FILTERS, ids=[case[0] for case in FILTERS])
def test_filters_the_list(
    api, account, other_account, second_affiliate, asset_pair, enrollments, query, found
):
    query = query.format(
        source=asset_pair["source_id"],
        rival_source=account.sources.get(affiliate=second_affiliate.affiliate),
        foreign_source=other_account.sources.get(),
    )

    response = api.get(f"{LIST}?{query}")

    assert response.status_code == 200
    assert [row["id"] for row in response.json()] == found


def test_rejects_an_unknown_approval_filter(api, odette):
    response = api.get(f"{LIST}?approved=maybe")

    assert response.status_code == 400
    (entry,) = response.json()["errors"]
    assert entry["property_path"] == "approved"
    assert entry["message"].startswith("Invalid value 'maybe'. Valid are 'true', 'false'")
    assert entry["message_raw"] == "Invalid value '{{ value }}'. Valid are {{ values }}"


def test_lists_the_affiliates_of_an_archived_program(api, odette, archived, expected_enrollment):
    assert api.get(LIST).json() == [expected_enrollment]


def test_shows_the_code_of_each_program(api, account, odette):
    second = ProgramFactory(account=account, slug="second")
    EnrollmentFactory(account=account, program=second, affiliate=odette.affiliate, code="second1")

    first, other = (
        api.get(f"/programs/{slug}/affiliates/").json()
        for slug in ("harbor-lamp-partners", "second")
    )

    assert [row["referral_link"]["link"][-7:] for row in first] == ["qv7kd2p"]
    assert [row["referral_link"]["link"][-7:] for row in other] == ["second1"]
    assert first[0]["coupon"] == "ODETTE10"
    assert other[0]["coupon"] is None
