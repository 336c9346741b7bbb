"""Updating an enrollment: docs/api-contract.md, section 2.7.2."""

import pytest

from tests.affiliate_site.responses import build_field_error, has_only_errors
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")

PATH = "/programs/harbor-lamp-partners/affiliates/minakessler/"


@pytest.fixture
def scenario(scenario):
    scenario.second_affiliate = scenario.create_enrolled_affiliate("Odette", "Varga")
    return scenario


SHORT = "This value is too short, {{ limit }} characters at least."
LONG = "This value is too long, {{ limit }} characters at most."


def get_winning_affiliate(api, **parameter):
    """Return the affiliate of a conversion by this parameter, or the error body."""
    body = api.post("/conversions/", parameter | {"amount": 10}).json()
    return body["affiliate"]["id"] if "affiliate" in body else body["errors"]


CHANGES = {
    "coupon": ({"coupon": " MINA20 "}, "MINA20", {"coupon": "MINA20"}),
    "referral_code": (
        {"referral_code": "Mina_K-7"},
        "Mina_K-7",
        {"referral_link": {"link": "https://shop.example.net/?ref=Mina_K-7"}},
    ),
}


@pytest.mark.parametrize("has_coupon", [True, False], ids=["replaces", "adds"])
@pytest.mark.parametrize(("field", "change"), CHANGES.items(), ids=CHANGES)
def test_replaces_a_code(api, scenario, field, change, has_coupon):
    body, code, changed = change
    old = {"coupon": scenario.mina.coupon, "referral_code": scenario.mina.code}[field]
    if not has_coupon:
        api.patch(PATH, {"coupon": None})
    before = api.get(PATH).json()
    changed_link = before["referral_link"] | changed.get("referral_link", {})

    response = api.patch(PATH, body)

    assert response.status_code == 200
    assert response.json() == before | changed | {"referral_link": changed_link}
    assert get_winning_affiliate(api, **{field: code}) == "minakessler"
    unknown = {
        "coupon": "Unknown coupon code",
        "referral_code": "Unknown referral code",
    }
    assert get_winning_affiliate(api, **{field: old}) == [{"message": unknown[field]}]


@pytest.mark.parametrize("coupon", [None, "", "  "], ids=["null", "empty", "blank"])
def test_removes_the_coupon(api, scenario, coupon):
    response = api.patch(PATH, {"coupon": coupon})

    assert response.json()["coupon"] is None
    assert get_winning_affiliate(api, coupon=scenario.mina.coupon) == [
        {"message": "Unknown coupon code"}
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


INVALID = [
    ({"referral_code": "ab"}, SHORT, 3),
    ({"referral_code": "a" * 65}, LONG, 64),
    ({"referral_code": " "}, "This value should not be blank.", None),
    ({"referral_code": "mina k"}, "This value is not valid text.", None),
    ({"coupon": "a" * 65}, LONG, 64),
    ({"approved": "yes"}, "This value should be true or false.", None),
]


@pytest.mark.parametrize(("body", "template", "limit"), INVALID)
def test_rejects_invalid_values(api, scenario, body, template, limit):
    [field] = body

    response = api.patch(PATH, body)

    assert has_only_errors(response, build_field_error(field, template, limit))


@pytest.mark.parametrize("is_archived", [False, True], ids=["open", "archived"])
@pytest.mark.parametrize("field", ["coupon", "referral_code"])
def test_rejects_codes_of_another_affiliate(api, account, scenario, field, is_archived):
    taken = {
        "coupon": scenario.second_affiliate.coupon,
        "referral_code": scenario.second_affiliate.code,
    }[field]
    if is_archived:
        scenario.archive()

    response = api.patch(PATH, {field: taken, "approved": False})

    name = {"coupon": "Coupon", "referral_code": "Referral code"}[field]
    error = build_field_error(field, f"{name} is already in use")
    assert has_only_errors(response, error)
    assert api.get(PATH).json()["approved"] is True


def test_accepts_codes_of_another_account(api, other_account, scenario):
    other = ProgramScenario(other_account, prefix="zz-marker-")

    body = {"coupon": other.mina.coupon, "referral_code": other.mina.code}

    assert api.patch(PATH, body).status_code == 200


def test_changes_nothing_in_an_archived_program(api, account, scenario):
    scenario.archive()

    response = api.patch(PATH, {"coupon": "LATE"})

    assert response.status_code == 409
    assert response.json() == {
        "errors": [{"message": "This program is archived.", "code": "program_archived"}]
    }
    assert api.get(PATH).json()["coupon"] == scenario.mina.coupon


def test_audit_log_records_changed_fields_without_codes(api, account, scenario):
    api.patch(PATH, {"coupon": "SECRET", "approved": False})

    events = account.audit_log.filter(kind__in=["enrollment.updated", "affiliate.disapproved"])
    assert [(entry.kind, entry.details) for entry in events.order_by("id")] == [
        (
            "affiliate.disapproved",
            {"program": "harbor-lamp-partners", "previous_approved": True},
        ),
        ("enrollment.updated", {"fields": ["coupon"]}),
    ]
