"""Updating an enrollment: docs/api-contract.md, section 2.7.2."""

import pytest

from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.services.programs import archive_program

pytestmark = pytest.mark.usefixtures("shared_scenario")

PATH = "/programs/harbor-lamp-partners/affiliates/minakessler/"


@pytest.fixture
def scenario(scenario):
    scenario.second_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    return scenario


def build_error_body(path, message, raw=None):
    return {
        "errors": [
            {"message": message, "message_raw": raw or message, "property_path": path}
        ]
    }


def get_winning_affiliate(api, **parameter):
    """Return the affiliate of a conversion by this parameter, or the error body."""
    body = api.post("/conversions/", parameter | {"amount": 10}).json()
    return body["affiliate"]["id"] if "affiliate" in body else body["errors"]


def test_replaces_the_coupon(api, scenario):
    before = api.get(PATH).json()

    response = api.patch(PATH, {"coupon": " MINA20 "})

    assert response.status_code == 200
    assert response.json() == before | {"coupon": "MINA20"}
    assert get_winning_affiliate(api, coupon="MINA20") == "minakessler"
    assert get_winning_affiliate(api, coupon=scenario.mina.coupon) == [
        {"message": "Unknown coupon code"}
    ]


@pytest.mark.parametrize("coupon", [None, "", "  "], ids=["null", "empty", "blank"])
def test_removes_the_coupon(api, scenario, coupon):
    response = api.patch(PATH, {"coupon": coupon})

    assert response.json()["coupon"] is None
    assert get_winning_affiliate(api, coupon=scenario.mina.coupon) == [
        {"message": "Unknown coupon code"}
    ]


def test_adds_a_coupon(api, scenario):
    api.patch(PATH, {"coupon": None})

    response = api.patch(PATH, {"coupon": "NEW"})

    assert response.json()["coupon"] == "NEW"


def test_replaces_the_referral_code(api, scenario):
    response = api.patch(PATH, {"referral_code": "Mina_K-7"})

    link = response.json()["referral_link"]["link"]
    assert link == "https://shop.example.net/?ref=Mina_K-7"
    assert get_winning_affiliate(api, referral_code="Mina_K-7") == "minakessler"
    assert get_winning_affiliate(api, referral_code=scenario.mina.code) == [
        {"message": "Unknown referral code"}
    ]


@pytest.mark.parametrize("approved", [True, False, None])
def test_sets_the_approval(api, account, scenario, approved):
    account.enrollments.update(approved=approved is None)

    response = api.patch(PATH, {"approved": approved})

    assert response.json()["approved"] is approved
    assert account.enrollments.get(affiliate__slug="minakessler").approved is approved


def test_updates_all_fields_at_once(api, scenario):
    body = {"coupon": "ALL", "approved": False, "referral_code": "all-at-once"}

    shown = api.patch(PATH, body).json()

    assert (shown["coupon"], shown["approved"]) == ("ALL", False)
    assert shown["referral_link"]["link"].endswith("?ref=all-at-once")


@pytest.mark.parametrize(
    "body",
    [{}, {"referral_code": None}, {"firstname": "Nobody"}],
    ids=["nothing", "null", "unknown"],
)
def test_keeps_fields_that_were_not_sent(api, account, scenario, body):
    before = api.get(PATH).json()
    events = account.audit_log.count()

    response = api.patch(PATH, body)

    assert response.status_code == 200
    assert response.json() == before
    assert account.audit_log.count() == events


def test_accepts_its_own_codes_again(api, scenario):
    body = {"coupon": scenario.mina.coupon, "referral_code": scenario.mina.code}

    assert api.patch(PATH, body).status_code == 200


SHORT = "This value is too short, {{ limit }} characters at least."
LONG = "This value is too long, {{ limit }} characters at most."


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (
            {"referral_code": "ab"},
            build_error_body("referral_code", SHORT.replace("{{ limit }}", "3"), SHORT),
        ),
        (
            {"referral_code": "a" * 65},
            build_error_body("referral_code", LONG.replace("{{ limit }}", "64"), LONG),
        ),
        (
            {"referral_code": " "},
            build_error_body("referral_code", "This value should not be blank."),
        ),
        (
            {"referral_code": "mina k"},
            build_error_body("referral_code", "This value is not valid text."),
        ),
        (
            {"coupon": "a" * 65},
            build_error_body("coupon", LONG.replace("{{ limit }}", "64"), LONG),
        ),
        (
            {"approved": "yes"},
            build_error_body("approved", "This value should be true or false."),
        ),
    ],
    ids=["short", "long", "blank", "letters", "long coupon", "no boolean"],
)
def test_rejects_invalid_values(api, scenario, body, answer):
    response = api.patch(PATH, body)

    assert response.status_code == 400
    assert response.json() == answer


@pytest.mark.parametrize("is_archived", [False, True], ids=["open", "archived"])
@pytest.mark.parametrize("field", ["coupon", "referral_code"])
def test_rejects_codes_of_another_affiliate(api, account, scenario, field, is_archived):
    taken = {
        "coupon": scenario.second_affiliate.coupon,
        "referral_code": scenario.second_affiliate.code,
    }[field]
    if is_archived:
        archive_program(account, slug="harbor-lamp-partners", at=CONVERSION_CREATED_AT)

    response = api.patch(PATH, {field: taken, "approved": False})

    name = {"coupon": "Coupon", "referral_code": "Referral code"}[field]
    assert response.status_code == 400
    assert response.json() == build_error_body(field, f"{name} is already in use")
    assert api.get(PATH).json()["approved"] is True


def test_accepts_codes_of_another_account(api, other_account, scenario):
    other = ProgramScenario(other_account, prefix="zz-marker-")

    body = {"coupon": other.mina.coupon, "referral_code": other.mina.code}

    assert api.patch(PATH, body).status_code == 200


def test_changes_nothing_in_an_archived_program(api, account, scenario):
    archive_program(account, slug="harbor-lamp-partners", at=CONVERSION_CREATED_AT)

    response = api.patch(PATH, {"coupon": "LATE"})

    assert response.status_code == 409
    assert response.json() == {
        "errors": [{"message": "This program is archived.", "code": "program_archived"}]
    }
    assert api.get(PATH).json()["coupon"] == scenario.mina.coupon


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        (PATH.replace("minakessler", "nobody"), "Affiliate"),
        (PATH.replace("harbor", "unknown"), "Program"),
    ],
    ids=["affiliate", "program"],
)
def test_unknown_objects_return_404_before_field_errors(api, scenario, path, resource):
    response = api.patch(path, {"approved": "yes"})

    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": f"{resource} not found"}]}


def test_audit_log_records_changed_fields_without_codes(api, account, scenario):
    api.patch(PATH, {"coupon": "SECRET", "approved": False})

    events = account.audit_log.filter(
        kind__in=["enrollment.updated", "affiliate.disapproved"]
    )
    assert [(entry.kind, entry.details) for entry in events.order_by("id")] == [
        (
            "affiliate.disapproved",
            {"program": "harbor-lamp-partners", "previous_approved": True},
        ),
        ("enrollment.updated", {"fields": ["coupon"]}),
    ]
