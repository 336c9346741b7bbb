"""Contract 2.5: groups of affiliates."""

import re
from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.shop import Shop

pytestmark = pytest.mark.usefixtures("now")

PATH = "/affiliate-groups/"
NOT_FOUND = {"errors": [{"message": "Affiliate group not found"}]}
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."


def flaw(message, raw=None):
    return {
        "errors": [
            {
                "message": message,
                "message_raw": raw or message,
                "property_path": "title",
            }
        ]
    }


@pytest.fixture
def gold(api):
    return api.post(PATH, {"title": "Gold"}).json()


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ({"title": " Gold 🛶"}, " Gold 🛶"),
        ({"name": "Gold"}, "Gold"),
        ({"title": "Gold", "name": "Silver"}, "Gold"),
        ({"title": None, "name": "Gold"}, "Gold"),
        ({"title": 7, "id": "ag_1", "affiliate_count": 3}, "7"),
        ({"title": "x" * 255}, "x" * 255),
    ],
    ids=["title", "alias", "both", "null beside the alias", "read-only", "longest"],
)
def test_makes_a_group(api, said, title):
    response = api.post(PATH, said)

    group = response.json()
    assert response.status_code == 200
    assert re.fullmatch("ag_[A-Za-z0-9]{16}", group["id"])
    assert group == {"id": group["id"], "title": title, "affiliate_count": 0}
    assert list(group) == ["id", "title", "affiliate_count"]
    assert response["X-RateLimit-Limit"] == "300"
    assert api.get(f"{PATH}{group['id']}/").json() == group


def test_lets_two_groups_have_one_title(api, gold):
    again = api.post(PATH, {"title": "Gold"})

    assert again.status_code == 200
    assert again.json()["id"] != gold["id"]


MISSING = flaw("Missing mandatory parameter(s)")
BLANK = flaw("This value should not be blank.")
TOO_LONG = flaw("This value is too long, 255 characters at most.", LONG)
NO_TEXT = flaw("This value should be of type string.", TYPE)


@pytest.mark.parametrize(
    ("said", "on_post", "on_patch"),
    [
        ({}, MISSING, None),
        ({"title": None, "name": None}, MISSING, None),
        ({"title": ""}, MISSING, BLANK),
        ({"name": " "}, MISSING, BLANK),
        ({"title": "x" * 256}, TOO_LONG, TOO_LONG),
        ({"title": {}}, NO_TEXT, NO_TEXT),
        ({"name": False}, NO_TEXT, NO_TEXT),
    ],
    ids=["absent", "nulls", "empty", "blank", "long", "object", "boolean"],
)
def test_refuses_an_odd_title(api, account, gold, said, on_post, on_patch):
    made = api.post(PATH, said)
    changed = api.patch(f"{PATH}{gold['id']}/", said)

    assert (made.status_code, made.json()) == (400, on_post)
    if on_patch is None:
        assert (changed.status_code, changed.json()) == (200, gold)
    else:
        assert (changed.status_code, changed.json()) == (400, on_patch)
    assert api.get(PATH).json() == [gold]
    assert account.events.filter(kind__startswith="affiliate_group").count() == 1


@pytest.mark.parametrize("name", ["title", "name"])
def test_renames_a_group(api, account, gold, name):
    response = api.patch(f"{PATH}{gold['id']}/", {name: "Silver", "id": "ag_1"})

    assert response.status_code == 200
    assert response.json() == gold | {"title": "Silver"}
    assert api.get(PATH).json() == [response.json()]
    line = account.events.get(kind="affiliate_group.updated")
    assert line.facts == {"fields": ["title"]}


def test_counts_its_present_affiliates(api, shop, gold):
    one, path = f"{PATH}{gold['id']}/", "/affiliates/{}/"
    shop.join("Odette", "Varga")
    invited = {"firstname": "A", "lastname": "B", "group_id": gold["id"]}
    api.post("/affiliate-prospects/", invited)
    for slug in ("minakessler", "odettevarga"):
        api.put(f"{path.format(slug)}group/", {"group_id": gold["id"]})

    both = api.get(one).json()["affiliate_count"]
    api.delete(path.format("minakessler"))
    without_mina = api.get(one).json()["affiliate_count"]
    api.delete(f"{path.format('odettevarga')}group/")

    assert (both, without_mina) == (2, 1)
    assert api.get(PATH).json() == [gold]


def test_lists_groups_newest_first(now, api, gold):
    for number in range(25):
        now.move_to(NOW + timedelta(minutes=number // 2), tick=False)
        api.post(PATH, {"title": str(number)})

    first, second = api.get(PATH), api.get(f"{PATH}?page=2")

    assert [it["title"] for it in first.json()] == [
        str(number) for number in reversed(range(25))
    ]
    assert second.json() == [gold]
    assert 'page=2>; rel="next"' in first["Link"]


@pytest.mark.parametrize("whose", ["foreign", "unknown"])
def test_knows_the_groups_of_its_account_alone(
    api, account, other_account, gold, whose
):
    other = Shop(other_account, mark="zz-marker-")
    group = other_account.affiliate_groups.create(public_id="ag_zz", title="zz-marker")
    other.mina.affiliate.change(group=group)
    path = f"{PATH}{'ag_zz' if whose == 'foreign' else 'ag_0000000000000000'}/"

    answers = [api.get(path), api.patch(path, {"title": ""})]

    assert [(it.status_code, it.json()) for it in answers] == [(404, NOT_FOUND)] * 2
    assert api.get(PATH).json() == [gold]
    assert group.again().title == "zz-marker"


@pytest.mark.parametrize("method", ["DELETE", "PUT"])
def test_never_removes_a_group(api, gold, method):
    response = api.ask(method, f"{PATH}{gold['id']}/", {"title": "x"})

    assert response.status_code == 405
    assert set(response["Allow"].split(", ")) >= {"GET", "PATCH"}
    assert "DELETE" not in response["Allow"]
