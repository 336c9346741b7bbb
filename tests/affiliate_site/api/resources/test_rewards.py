"""Contract 2.7.3: what a program pays: commission types, levels, bonuses."""

import pytest

from payouts.models.commission_types import RateKind
from tests.factories.accounts import PlanFactory
from tests.shop import SOLD, Shop
from tracking.services.placement import make_group
from tracking.services.programs import archive

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


@pytest.fixture
def shop(account):
    return Shop(account)


def said(response):
    assert response.status_code == 200, response.content
    return response.json()


def test_shows_the_types_with_the_rates_of_groups(api, account, shop):
    shop.type("accessories", "7.5").change(mlm=False)
    shop.type("flat", "2.5", kind=RateKind.FIXED, title="Flat fee")
    groups = [make_group(account, title="Circle", at=SOLD) for _ in range(2)]
    shop.group_rate(groups[1], "12.3456")
    shop.group_rate(groups[0], "0", kind=RateKind.FIXED)
    shop.group_rate(groups[0], "9", of="flat")

    response = api.get(TYPES)

    assert said(response) == [
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


def test_shows_the_levels_as_they_were_defined(api, shop):
    shop.level(3, "1.5", kind=RateKind.FIXED)
    shop.level(2, "3")

    response = api.get(LEVELS)

    assert said(response) == [
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


def test_shows_the_bonuses_as_they_were_defined(api, shop):
    first = shop.bonus(goal="10", value="50", title="Ten sales")
    second = shop.bonus(
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
    assert said(response) == [
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
def test_shows_none_as_an_empty_list(api, shop, path):
    assert said(api.get(path)) == []


@LISTS
def test_shows_the_rewards_of_this_program_alone(api, account, shop, path):
    other = Shop(account, "other-lamps", mark="o-", email="o@notes.example.org")
    other.type("accessories", "7.5")
    other.level(2, "3")
    other.bonus(goal="10", value="50")

    assert said(api.get(path)) == ([STANDARD] if path == TYPES else [])


@LISTS
def test_shows_the_rewards_of_an_archived_program(api, account, shop, path):
    archive(account, slug=shop.program.slug, at=SOLD)

    assert api.get(path).status_code == 200


def test_gives_25_a_page(api, shop):
    for number in range(2, 28):
        shop.level(number, "1")

    pages = [api.get(f"{LEVELS}?limit=1&page={number}") for number in (1, 2, 3)]

    assert [[row["level"] for row in said(page)] for page in pages] == [
        list(range(2, 27)),
        [27],
        [],
    ]
    base = f"<http://testserver/1.6{LEVELS}?limit=1&page="
    assert pages[0]["Link"] == (
        f'{base}2>; rel="next", {base}2>; rel="last", {base}1>; rel="first"'
    )


@LISTS
def test_refuses_an_odd_page(api, shop, path):
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
def test_does_not_know_other_programs(api, shop, other_account, slug, name):
    Shop(other_account, mark="zz-marker-")

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
def test_asks_for_the_feature(api, account, shop, plan, statuses):
    account.plan = PlanFactory(name=plan)
    account.save()

    answers = [api.get(path) for path in (TYPES, LEVELS, BONUSES)]

    assert [it.status_code for it in answers] == statuses
    assert all(
        it.json()["message"] == "Forbidden" for it in answers if it.status_code == 403
    )


@pytest.mark.parametrize("name", ["levels", "bonuses"])
def test_asks_for_the_feature_before_it_looks_for_the_program(api, account, name):
    account.plan = PlanFactory(name="pro")
    account.save()

    assert api.get(f"/programs/unknown/{name}/").status_code == 403


@LISTS
def test_is_read_by_viewers_and_written_by_nobody(api, account, key_for, shop, path):
    api.key = key_for(account, "viewer")

    answers = [
        api.ask(method, path) for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    ]

    assert [it.status_code for it in answers] == [200, 405, 405, 405, 405]
