"""Contract 2.7.2: PATCH of an affiliate in a program."""

import pytest

from tests.shop import SOLD, Shop
from tracking.services.programs import archive

PATH = "/programs/harbor-lamp-partners/affiliates/minakessler/"


@pytest.fixture
def shop(account):
    shop = Shop(account)
    shop.rival = shop.join("Odette", "Varga")
    return shop


def refused(path, message, raw=None):
    return {
        "errors": [
            {"message": message, "message_raw": raw or message, "property_path": path}
        ]
    }


def sold_by(api, **clue):
    """Who earns by this clue, or the refusal."""
    said = api.post("/conversions/", clue | {"amount": 10}).json()
    return said["affiliate"]["id"] if "affiliate" in said else said["errors"]


def test_changes_the_coupon_and_the_old_one_stops_working(api, shop):
    before = api.get(PATH).json()

    response = api.patch(PATH, {"coupon": " MINA20 "})

    assert response.status_code == 200
    assert response.json() == before | {"coupon": "MINA20"}
    assert sold_by(api, coupon="MINA20") == "minakessler"
    assert sold_by(api, coupon=shop.mina.coupon) == [{"message": "Unknown coupon code"}]


@pytest.mark.parametrize("nothing", [None, "", "  "], ids=["null", "empty", "blank"])
def test_removes_the_coupon(api, shop, nothing):
    response = api.patch(PATH, {"coupon": nothing})

    assert response.json()["coupon"] is None
    assert sold_by(api, coupon=shop.mina.coupon) == [{"message": "Unknown coupon code"}]


def test_gives_a_coupon_to_whom_has_none(api, shop):
    api.patch(PATH, {"coupon": None})

    response = api.patch(PATH, {"coupon": "NEW"})

    assert response.json()["coupon"] == "NEW"


def test_changes_the_code_and_the_old_link_stops_working(api, shop):
    response = api.patch(PATH, {"referral_code": "Mina_K-7"})

    link = response.json()["referral_link"]["link"]
    assert link == "https://shop.example.net/?ref=Mina_K-7"
    assert sold_by(api, referral_code="Mina_K-7") == "minakessler"
    assert sold_by(api, referral_code=shop.mina.code) == [
        {"message": "Unknown referral code"}
    ]


@pytest.mark.parametrize("approved", [True, False, None])
def test_sets_the_approval(api, account, shop, approved):
    account.enrolments.update(approved=approved is None)

    response = api.patch(PATH, {"approved": approved})

    assert response.json()["approved"] is approved
    assert account.enrolments.get(affiliate__slug="minakessler").approved is approved


def test_changes_all_at_once(api, shop):
    said = {"coupon": "ALL", "approved": False, "referral_code": "all-at-once"}

    shown = api.patch(PATH, said).json()

    assert (shown["coupon"], shown["approved"]) == ("ALL", False)
    assert shown["referral_link"]["link"].endswith("?ref=all-at-once")


@pytest.mark.parametrize(
    "said",
    [{}, {"referral_code": None}, {"firstname": "Nobody"}],
    ids=["nothing", "null", "unknown"],
)
def test_changes_nothing_that_was_not_sent(api, account, shop, said):
    before = api.get(PATH).json()
    events = account.events.count()

    response = api.patch(PATH, said)

    assert response.status_code == 200
    assert response.json() == before
    assert account.events.count() == events


def test_takes_its_own_codes_again(api, shop):
    said = {"coupon": shop.mina.coupon, "referral_code": shop.mina.code}

    assert api.patch(PATH, said).status_code == 200


SHORT = "This value is too short, {{ limit }} characters at least."
LONG = "This value is too long, {{ limit }} characters at most."


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (
            {"referral_code": "ab"},
            refused("referral_code", SHORT.replace("{{ limit }}", "3"), SHORT),
        ),
        (
            {"referral_code": "a" * 65},
            refused("referral_code", LONG.replace("{{ limit }}", "64"), LONG),
        ),
        (
            {"referral_code": " "},
            refused("referral_code", "This value should not be blank."),
        ),
        (
            {"referral_code": "mina k"},
            refused("referral_code", "This value is not valid text."),
        ),
        (
            {"coupon": "a" * 65},
            refused("coupon", LONG.replace("{{ limit }}", "64"), LONG),
        ),
        (
            {"approved": "yes"},
            refused("approved", "This value should be true or false."),
        ),
    ],
    ids=["short", "long", "blank", "letters", "long coupon", "no boolean"],
)
def test_refuses_odd_values(api, shop, said, answer):
    response = api.patch(PATH, said)

    assert response.status_code == 400
    assert response.json() == answer


@pytest.mark.parametrize("late", [False, True], ids=["open", "archived"])
@pytest.mark.parametrize("field", ["coupon", "referral_code"])
def test_refuses_what_somebody_else_has(api, account, shop, field, late):
    taken = {"coupon": shop.rival.coupon, "referral_code": shop.rival.code}[field]
    if late:
        archive(account, slug="harbor-lamp-partners", at=SOLD)

    response = api.patch(PATH, {field: taken, "approved": False})

    name = {"coupon": "Coupon", "referral_code": "Referral code"}[field]
    assert response.status_code == 400
    assert response.json() == refused(field, f"{name} is already in use")
    assert api.get(PATH).json()["approved"] is True


def test_takes_what_another_account_has(api, other_account, shop):
    other = Shop(other_account, mark="zz-marker-")

    said = {"coupon": other.mina.coupon, "referral_code": other.mina.code}

    assert api.patch(PATH, said).status_code == 200


def test_changes_nothing_in_an_archived_program(api, account, shop):
    archive(account, slug="harbor-lamp-partners", at=SOLD)

    response = api.patch(PATH, {"coupon": "LATE"})

    assert response.status_code == 409
    assert response.json() == {
        "errors": [{"message": "This program is archived.", "code": "program_archived"}]
    }
    assert api.get(PATH).json()["coupon"] == shop.mina.coupon


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        (PATH.replace("minakessler", "nobody"), "Affiliate"),
        (PATH.replace("harbor", "unknown"), "Program"),
    ],
    ids=["affiliate", "program"],
)
def test_does_not_know_others_before_it_reads_the_fields(api, shop, path, resource):
    response = api.patch(path, {"approved": "yes"})

    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": f"{resource} not found"}]}


def test_tells_the_diary_which_fields_but_no_code(api, account, shop):
    api.patch(PATH, {"coupon": "SECRET", "approved": False})

    lines = account.events.filter(
        kind__in=["enrolment.updated", "affiliate.disapproved"]
    )
    assert [(it.kind, it.facts) for it in lines.order_by("id")] == [
        ("affiliate.disapproved", {"program": "harbor-lamp-partners", "was": True}),
        ("enrolment.updated", {"fields": ["coupon"]}),
    ]
