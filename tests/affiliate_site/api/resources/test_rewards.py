"""Commission types, levels and bonuses of a program: docs/api-contract.md, 2.7.3."""

import pytest

from payouts.models.commission_types import RateKind
from payouts.services.program_rates import set_rates
from tests.affiliate_site.responses import get_json
from tests.program_scenario import CONVERSION_CREATED_AT, ProgramScenario
from tracking.services.hierarchy import create_group

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


def test_shows_commission_types_with_group_rates(api, account, scenario):
    scenario.create_commission_type("accessories", "7.5").update_row(mlm=False)
    scenario.create_commission_type("flat", "2.5", kind=RateKind.FIXED, title="Flat fee")
    groups = [create_group(account, title="Circle", at=CONVERSION_CREATED_AT) for _ in range(2)]
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
    other = ProgramScenario(account, "other-lamps", prefix="o-", email="o@notes.example.org")
    other.create_commission_type("accessories", "7.5")
    other.create_level(2, "3")
    other.create_bonus(goal="10", value="50")

    assert get_json(api.get(path)) == ([STANDARD] if path == TYPES else [])


@LISTS
def test_shows_the_rewards_of_an_archived_program(api, account, scenario, path):
    scenario.archive()

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


def test_shows_the_rates_of_first_orders(api, account, scenario):
    group = create_group(account, title="Circle", at=CONVERSION_CREATED_AT)
    rates = [
        {"percentage": "15", "fixed": "3", "type": "standard", "orders": {"from": 1, "to": 1}},
        {"percentage": "5", "type": "standard", "orders": {"from": 2}},
        {"percentage": "90", "affiliate": scenario.mina.slug},
        {"percentage": "80", "when": [{"field": "amount", "above": 10}]},
        {"fixed": "7", "group": group.public_id, "orders": {"from": 1}},
        {"percentage": "5", "type": "lamps", "orders": {"from": 2}},
    ]
    data = {"rates": rates}
    set_rates(account, scenario.program.slug, data, at=CONVERSION_CREATED_AT)

    of_group = {"affiliate_group_id": group.public_id, "type": "fixed", "commission_value": 7}
    response = api.get(TYPES)
    assert get_json(response) == [
        STANDARD
        | {"commission_value": 15, "fixed_value": 3, "affiliate_group_overrides": [of_group]},
        {
            "title": "lamps",
            "identifier": "lamps",
            "commission_value": 0,
            "type": "percentage",
            "is_default": False,
            "mlm": True,
            "affiliate_group_overrides": [of_group],
        },
    ]


def test_a_rate_that_has_ended_is_none(api, account, scenario):
    set_rates(account, scenario.program.slug, {"rates": []}, at=CONVERSION_CREATED_AT)

    assert get_json(api.get(TYPES)) == [STANDARD | {"commission_value": 0}]
