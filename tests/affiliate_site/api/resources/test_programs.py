"""Contract 2.7.1: the programs of an account, as the API shows them."""

from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory
from tracking.services.programs import archive

HARBOR = {
    "id": "harbor-lamp-partners",
    "title": "Harbor Lamp Partners",
    "currency": "EUR",
    "currency_symbol": "€",
    "cookie_time": 45,
    "default_landing_page_url": "https://shop.example.net/",
    "recurring": True,
    "recurring_cap": None,
    "recurring_period_days": None,
    "program_category": None,
}


def test_shows_a_program(api, program):
    response = api.get("/programs/harbor-lamp-partners/")

    assert response.status_code == 200
    assert response.json() == HARBOR
    assert list(response.json()) == list(HARBOR)


def test_lists_programs_newest_first_archived_ones_included(api, account, program):
    later = ProgramFactory(
        account=account, created_at=program.created_at + timedelta(days=1)
    )
    archive(account, slug=later.slug, at=NOW)

    response = api.get("/programs/")

    assert [row["id"] for row in response.json()] == [later.slug, program.slug]
    assert response.json()[1] == HARBOR


def test_shows_nothing_as_null_when_there_is_no_landing_page(api, account):
    bare = ProgramFactory(account=account, landing_page="")

    shown = api.get(f"/programs/{bare.slug}/").json()

    assert shown["default_landing_page_url"] is None


@pytest.mark.parametrize("slug", ["unknown", "Harbor-Lamp-Partners", "1"])
def test_does_not_know_other_programs(api, program, slug):
    response = api.get(f"/programs/{slug}/")

    assert response.status_code == 404
    assert response.json() == {"errors": [{"message": "Program not found"}]}


def test_answers_for_a_foreign_program_as_for_an_invented_one(
    api, account, other_account
):
    foreign = ProgramFactory(account=other_account, slug="zz-marker-program")

    answers = [api.get(f"/programs/{slug}/") for slug in (foreign.slug, "invented")]

    assert answers[0].status_code == answers[1].status_code == 404
    assert answers[0].content == answers[1].content
    assert api.get("/programs/").json() == []
