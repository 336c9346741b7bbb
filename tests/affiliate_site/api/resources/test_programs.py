"""Showing and listing programs: docs/api-contract.md, section 2.7.1."""

from datetime import timedelta

import pytest

from tests.affiliate_site.responses import get_error_message
from tests.conftest import NOW
from tests.factories.tracking import ProgramFactory
from tracking.services.programs import archive_program

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


def test_lists_programs_newest_first_including_archived(api, account, program):
    later = ProgramFactory(account=account, created_at=program.created_at + timedelta(days=1))
    archive_program(account, slug=later.slug, at=NOW)

    response = api.get("/programs/")

    assert [row["id"] for row in response.json()] == [later.slug, program.slug]
    assert response.json()[1] == HARBOR


@pytest.mark.parametrize("slug", ["unknown", "Harbor-Lamp-Partners", "1"])
def test_unknown_programs_return_404(api, program, slug):
    response = api.get(f"/programs/{slug}/")

    assert get_error_message(response, 404) == "Program not found"


def test_shows_null_without_a_landing_page(api, account):
    bare = ProgramFactory(account=account, landing_page="")

    shown = api.get(f"/programs/{bare.slug}/").json()

    assert shown["default_landing_page_url"] is None
