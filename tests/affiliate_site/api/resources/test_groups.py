"""Affiliate groups: docs/api-contract.md, section 2.5."""

import re
from datetime import timedelta

import pytest

from tests.affiliate_site.responses import build_field_error
from tests.conftest import NOW

pytestmark = pytest.mark.usefixtures("frozen_time")

PATH = "/affiliate-groups/"
TYPE = "This value should be of type {{ type }}."
LONG = "This value is too long, {{ limit }} characters at most."


@pytest.fixture
def gold(api):
    return api.post(PATH, {"title": "Gold"}).json()


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ({"title": " Gold 🛶"}, " Gold 🛶"),
        ({"name": "Gold"}, "Gold"),
        ({"title": "Gold", "name": "Silver"}, "Gold"),
        ({"title": None, "name": "Gold"}, "Gold"),
        ({"title": 7, "id": "ag_1", "affiliate_count": 3}, "7"),
        ({"title": "x" * 255}, "x" * 255),
    ],
    ids=["title", "alias", "both", "null with the alias", "read-only", "longest"],
)
def test_creates_a_group(api, body, title):
    response = api.post(PATH, body)

    group = response.json()
    assert response.status_code == 200
    assert re.fullmatch("ag_[A-Za-z0-9]{16}", group["id"])
    assert group == {"id": group["id"], "title": title, "affiliate_count": 0}
    assert list(group) == ["id", "title", "affiliate_count"]
    assert api.get(f"{PATH}{group['id']}/").json() == group


def test_allows_two_groups_with_one_title(api, gold):
    again = api.post(PATH, {"title": "Gold"})

    assert again.status_code == 200
    assert again.json()["id"] != gold["id"]


def build_error(*template):
    return {"errors": [build_field_error("title", *template)]}


MISSING = build_error("Missing mandatory parameter(s)")
BLANK = build_error("This value should not be blank.")
TOO_LONG = build_error(LONG, 255)
NO_TEXT = build_error(TYPE, "string")


@pytest.mark.parametrize(
    ("body", "on_post", "on_patch"),
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
def test_rejects_an_invalid_title(api, account, gold, body, on_post, on_patch):
    created = api.post(PATH, body)
    changed = api.patch(f"{PATH}{gold['id']}/", body)

    assert (created.status_code, created.json()) == (400, on_post)
    if on_patch is None:
        assert (changed.status_code, changed.json()) == (200, gold)
    else:
        assert (changed.status_code, changed.json()) == (400, on_patch)
    assert api.get(PATH).json() == [gold]
    assert account.audit_log.filter(kind__startswith="affiliate_group").count() == 1


@pytest.mark.parametrize("name", ["title", "name"])
def test_renames_a_group(api, account, gold, name):
    response = api.patch(f"{PATH}{gold['id']}/", {name: "Silver", "id": "ag_1"})

    assert response.status_code == 200
    assert response.json() == gold | {"title": "Silver"}
    assert api.get(PATH).json() == [response.json()]
    line = account.audit_log.get(kind="affiliate_group.updated")
    assert line.details == {"fields": ["title"]}


def test_counts_only_affiliates_that_are_not_deleted(api, scenario, gold):
    one, path = f"{PATH}{gold['id']}/", "/affiliates/{}/"
    scenario.create_enrolled_affiliate("Odette", "Varga")
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


def test_lists_groups_newest_first(frozen_time, api, gold):
    for number in range(25):
        frozen_time.move_to(NOW + timedelta(minutes=number // 2), tick=False)
        api.post(PATH, {"title": str(number)})

    first, second = api.get(PATH), api.get(f"{PATH}?page=2")

    assert [row["title"] for row in first.json()] == [str(number) for number in reversed(range(25))]
    assert second.json() == [gold]
    assert 'page=2>; rel="next"' in first["Link"]
