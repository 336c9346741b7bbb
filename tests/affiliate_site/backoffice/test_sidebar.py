"""The sidebar: what staff need every day, and the rest folded below it."""

import re

import pytest
from django.urls import reverse

from accounts.models.api_keys import Role

pytestmark = pytest.mark.engine_independent  # the same entries


def open_page(client, name="index"):
    response = client.get(reverse(f"admin:{name}"))
    groups = response.context["sidebar_navigation"]
    return response.content.decode(), {it.get("title", ""): it for it in groups}


def test_shows_twelve_entries_in_three_groups_and_folds_the_rest(staff_client):
    _, groups = open_page(staff_client(role=Role.OWNER))

    daily = {title: len(it["daily"]) for title, it in groups.items() if it["daily"]}
    assert len(daily) == 3
    assert sum(daily.values()) == 12
    folded = {title for title, it in groups.items() if title and not it["is_open"]}
    assert folded == {"Integration", "Account"}
    assert {title for title, it in groups.items() if it["is_rest_open"]} == {""}


@pytest.mark.parametrize(
    ("name", "group", "is_daily"),
    [
        ("payouts_payment_changelist", "Payouts", True),
        ("payouts_scenario_changelist", "Affiliates", False),
        ("accounts_apikey_changelist", "Integration", False),
    ],
)
def test_unfolds_what_leads_to_the_present_page(staff_client, name, group, is_daily):
    _, groups = open_page(staff_client(role=Role.OWNER), name)

    assert groups[group]["is_open"]
    assert groups[group]["is_rest_open"] is not is_daily


@pytest.mark.parametrize("role", [Role.VIEWER, Role.FINANCE])
def test_has_no_part_without_an_entry_that_the_user_may_open(staff_client, role):
    page, groups = open_page(staff_client(role=role))

    assert "Account settings" not in {it["title"] for it in groups["Account"]["rest"]}
    sidebar = page[page.index('id="nav-sidebar-apps"') : page.index("</details>\n</div>")]
    assert re.findall(r"<details[^>]*><summary>[^<]*</summary>\s*</details>", sidebar) == []
    assert re.findall(r"<ol>\s*</ol>", sidebar) == []
