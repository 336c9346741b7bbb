"""Commission types, levels and bonuses of a program: docs/api-contract.md, 2.7.3."""

import pytest

from payouts.models.commission_types import RateKind
from tests.factories.accounts import PlanFactory
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.services.hierarchy import create_group
from tracking.services.programs import archive_program

pytestmark = pytest.mark.usefixtures("shared_scenario")

TYPES = "/programs/harbor-lamp-partners/commission-types/"
LEVELS = "/programs/harbor-lamp-partners/levels/"
BONUSES = "/programs/harbor-lamp-partners/bonuses/"
LISTS = pytest.mark.parametrize("path", [TYPES, LEVELS, BONUSES])

STANDARD = {
    "title": "Standard",
    "identifier": "standard",
    "commission_value": 10,
    "type": "percentage",
    "is_default": True,
    "mlm": True,
    "affiliate_group_overrides": [],
}
SECOND = {
    "level": 2,
    "title": "Level 2",
    "identifier": "level-2",
    "type": "percentage",
    "commission_value": 3,
    "percentage": 3,
}


def get_json(response):
    assert response.status_code == 200, response.content
    return response.json()


def test_shows_commission_types_with_group_rates(api, account, scenario):
    scenario.create_commission_type("accessories", "7.5").update_row(mlm=False)
    scenario.create_commission_type(
        "flat", "2.5", kind=RateKind.FIXED, title="Flat fee"
    )
    groups = [
        create_group(account, title="Circle", at=CONVERSION_CREATED_AT)
        for _ in range(2)
    ]
    scenario.create_group_rate(groups[1], "12.3456")
    scenario.create_group_rate(groups[0], "0", kind=RateKind.FIXED)
    scenario.create_group_rate(groups[0], "9", commission_type="flat")

    response = api.get(TYPES)

    assert get_json(response) == [
        STANDARD
        | {
            "affiliate_group_overrides": [
                {
                    "affiliate_group_id": groups[1].public_id,
                    "type": "percentage",
                    "commission_value": 12.3456,
                },
                {
                    "affiliate_group_id": groups[0].public_id,
                    "type": "fixed",
                    "commission_value": 0,
                },
            ]
        },
        {
            "title": "Accessories",
            "identifier": "accessories",
            "commission_value": 7.5,
            "type": "percentage",
            "is_default": False,
            "mlm": False,
            "affiliate_group_overrides": [],
        },
        {
            "title": "Flat fee",
            "identifier": "flat",
            "commission_value": 2.5,
            "type": "fixed",
            "is_default": False,
            "mlm": True,
            "affiliate_group_overrides": [
                {
                    "affiliate_group_id": groups[0].public_id,
                    "type": "percentage",
                    "commission_value": 9,
                }
            ],
        },
    ]
    assert list(response.json()[0]) == list(STANDARD)
    assert response["X-RateLimit-Limit"] == "1500"


def test_shows_the_levels_as_defined(api, scenario):
    scenario.create_level(3, "1.5", kind=RateKind.FIXED)
    scenario.create_level(2, "3")

    response = api.get(LEVELS)

    assert get_json(response) == [
        {
            "level": 3,
            "title": "Level 3",
            "identifier": "level-3",
            "type": "fixed",
            "commission_value": 1.5,
            "percentage": None,
        },
        SECOND,
    ]
    assert list(response.json()[0]) == list(SECOND)


def test_shows_the_bonuses_as_defined(api, scenario):
    first = scenario.create_bonus(goal="10", value="50", title="Ten sales")
    second = scenario.create_bonus(
        goal="1000.50",
        value="2.5",
        kind=RateKind.PERCENTAGE,
        goal_type="conversion_amount",
        period="all_time",
    )

    response = api.get(BONUSES)

    shown = {
        "id": first.public_id,
        "title": "Ten sales",
        "name": "Ten sales",
        "goal_type": "conversions",
        "goal": 10,
        "period": "month",
        "type": "fixed",
        "amount": 50,
        "currency": "EUR",
    }
    assert get_json(response) == [
        shown,
        shown
        | {
            "id": second.public_id,
            "title": "Goal",
            "name": "Goal",
            "goal_type": "conversion_amount",
            "goal": 1000.5,
            "period": "all_time",
            "type": "percentage",
            "amount": 2.5,
        },
    ]
    assert list(response.json()[0]) == list(shown)
    assert first.public_id.startswith("bo_")


@pytest.mark.parametrize("path", [LEVELS, BONUSES])
def test_returns_an_empty_list_without_rewards(api, scenario, path):
    assert get_json(api.get(path)) == []


@LISTS
def test_shows_only_the_rewards_of_this_program(api, account, scenario, path):
    other = ProgramScenario(
        account, "other-lamps", prefix="o-", email="o@notes.example.org"
    )
    other.create_commission_type("accessories", "7.5")
    other.create_level(2, "3")
    other.create_bonus(goal="10", value="50")

    assert get_json(api.get(path)) == ([STANDARD] if path == TYPES else [])


@LISTS
def test_shows_the_rewards_of_an_archived_program(api, account, scenario, path):
    archive_program(account, slug=scenario.program.slug, at=CONVERSION_CREATED_AT)

    assert api.get(path).status_code == 200


def test_pages_have_25_rows(api, scenario):
    for number in range(2, 28):
        scenario.create_level(number, "1")

    pages = [api.get(f"{LEVELS}?limit=1&page={number}") for number in (1, 2, 3)]

    assert [[row["level"] for row in get_json(page)] for page in pages] == [
        list(range(2, 27)),
        [27],
        [],
    ]
    base = f"<http://testserver/1.6{LEVELS}?limit=1&page="
    assert pages[0]["Link"] == (
        f'{base}2>; rel="next", {base}2>; rel="last", {base}1>; rel="first"'
    )


@LISTS
def test_rejects_an_invalid_page(api, scenario, path):
    response = api.get(f"{path}?page=0")

    assert response.status_code == 400
    assert response.json() == {
        "errors": [
            {
                "message": "Invalid page",
                "message_raw": "Invalid page",
                "property_path": "page",
            }
        ]
    }


@pytest.mark.parametrize("slug", ["unknown", "zz-marker-harbor-lamp-partners"])
@pytest.mark.parametrize("name", ["commission-types", "levels", "bonuses"])
def test_unknown_programs_return_404(api, scenario, other_account, slug, name):
    ProgramScenario(other_account, prefix="zz-marker-")

    response = api.get(f"/programs/{slug}/{name}/?page=0")

    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": "Program not found"}]}


@pytest.mark.parametrize(
    ("plan", "statuses"),
    [
        pytest.param("basic", [403, 403, 403], id="basic"),
        pytest.param("pro", [200, 403, 403], id="pro"),
        pytest.param("enterprise", [200, 200, 200], id="enterprise"),
    ],
)
def test_requires_the_plan_feature(api, account, scenario, plan, statuses):
    account.plan = PlanFactory(name=plan)
    account.save()

    responses = [api.get(path) for path in (TYPES, LEVELS, BONUSES)]

    assert [response.status_code for response in responses] == statuses
    assert all(
        response.json()["message"] == "Forbidden"
        for response in responses
        if response.status_code == 403
    )


@pytest.mark.parametrize("name", ["levels", "bonuses"])
def test_checks_the_plan_feature_before_the_program(api, account, name):
    account.plan = PlanFactory(name="pro")
    account.save()

    assert api.get(f"/programs/unknown/{name}/").status_code == 403


@LISTS
def test_viewers_can_read_and_no_role_can_write(api, account, make_key, scenario, path):
    api.key = make_key(account, "viewer")

    responses = [
        api.request(method, path)
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    ]

    assert [response.status_code for response in responses] == [200, 405, 405, 405, 405]
