"""What staff should check: a filter of two lists, tabs, and a number in the sidebar."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from affiliate_site.backoffice import theme
from payouts.services.commissions import approve_commission
from tests.conftest import NOW
from tests.program_scenario import ProgramScenario
from tracking.claims import CONTESTED_CLAIM
from tracking.services.warnings import CUSTOMER_IS_AFFILIATE, ODD_COMMISSION_TYPE

WARNINGS = {
    "odd": [ODD_COMMISSION_TYPE],
    CUSTOMER_IS_AFFILIATE: [CUSTOMER_IS_AFFILIATE],
    CONTESTED_CLAIM: [CONTESTED_CLAIM, CUSTOMER_IS_AFFILIATE],
    "no": None,
}
ROWS = {
    "yes": {"odd", CUSTOMER_IS_AFFILIATE, CONTESTED_CLAIM},
    "odd": {"odd"},
    CUSTOMER_IS_AFFILIATE: {CUSTOMER_IS_AFFILIATE, CONTESTED_CLAIM},
    CONTESTED_CLAIM: {CONTESTED_CLAIM},
    "page": {"page"},
    "no": {"no"},
}


@pytest.fixture
def sales(account, scenario):
    """A conversion with a pending commission for each kind, by name."""
    sales = {name: scenario.create_conversion("10") for name in (*WARNINGS, "page")}
    for name, warnings in WARNINGS.items():
        sales[name].update_row(warnings=warnings)
    sales["page"].update_row(claim_status="open")
    return sales


def list_rows(client, model, query):
    response = client.get(f"{reverse(f'admin:{model}_changelist')}?{query}")
    assert response.status_code == 200
    return list(response.context["cl"].result_list)


@pytest.mark.parametrize("value", ROWS)
def test_filters_both_lists(staff_client, sales, value):
    client = staff_client()
    expected = {sales[name] for name in ROWS[value]}

    conversions = list_rows(client, "tracking_conversion", f"to_check={value}")
    commissions = list_rows(client, "payouts_commission", f"to_check={value}")

    assert set(conversions) == expected
    assert {row.conversion for row in commissions} == expected


def test_finds_bonuses_whose_goal_is_no_longer_met(staff_client, account, scenario, sales):
    commission = scenario.get_commission(sales["no"])
    account.commissions.filter(pk=commission.pk).update(goal_missed_at=NOW)
    client = staff_client()

    assert commission in list_rows(client, "payouts_commission", "to_check=yes")
    assert commission not in list_rows(client, "payouts_commission", "to_check=no")


def test_sorts_by_what_to_check(staff_client, sales):
    page = staff_client().get(reverse("admin:payouts_commission_changelist"))
    heading = re.search(r'column-review_hints.*?href="([^"]*)"', page.content.decode(), re.DOTALL)

    rows = list_rows(staff_client("manager"), "payouts_commission", heading[1][1:])

    found = [bool(row.conversion.warnings) for row in rows]
    assert found in (sorted(found), sorted(found, reverse=True))


def test_counts_pending_commissions_in_the_sidebar(
    staff_client, account, other_account, scenario, sales, capture_queries
):
    foreign = ProgramScenario(other_account)
    foreign.create_conversion("10").update_row(warnings=[CUSTOMER_IS_AFFILIATE])
    client, url = staff_client(), reverse("admin:tracking_program_changelist")
    with capture_queries() as before:
        page = client.get(url)
    assert read_badge(page) == "3"
    assert len(list_rows(client, "payouts_commission", theme.TO_CHECK)) == 3

    commission = scenario.get_commission(sales["odd"])
    account.conversions.filter(pk=sales["odd"].pk).update(warnings=None)
    approve_commission(account, commission_id=commission.pk, at=timezone.now())
    assert read_badge(client.get(url)) == "2"

    account.conversions.update(warnings=None)
    with capture_queries() as after:
        page = client.get(url)
    assert read_badge(page) == ""
    assert len(after) == len(before)


def read_badge(page) -> str:
    """The number beside the entry of the sidebar; empty without one."""
    html = page.content.decode()
    entry = re.search(r"<span>To check</span>(.*?)</a>", html, re.DOTALL)
    return re.sub(r"<[^>]*>", "", entry[1]).strip()
