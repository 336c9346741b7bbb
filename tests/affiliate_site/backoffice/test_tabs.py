"""Tabs above lists: one per status, with the active one marked."""

import re
from html import unescape

import pytest
from django.urls import reverse

from payouts.services.conversion_updates import delete_conversion
from tests.conftest import NOW
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.engine_independent  # texts

COMMISSIONS = {
    "All": "",
    "Pending": "status__exact=pending&deleted_at__isnull=True",
    "To check": "to_check=yes&status__exact=pending&deleted_at__isnull=True",
    "Approved": "status__exact=approved&deleted_at__isnull=True",
    "Disapproved": "status__exact=disapproved&deleted_at__isnull=True",
}
ENROLLMENTS = {
    "All": "",
    "Pending": "approved=pending",
    "Approved": "approved=approved",
    "Disapproved": "approved=disapproved",
}
LISTS = {"payouts_commission": COMMISSIONS, "tracking_enrollment": ENROLLMENTS}
TABS = [(name, title) for name, queries in LISTS.items() for title in queries]


@pytest.fixture
def rows(account):
    """One row of each status in both lists."""
    shop = ProgramScenario(account)
    shop.create_enrolled_affiliate("Otto", "Lund", approved=None)
    shop.create_enrolled_affiliate("Zoe", "Lund", approved=False)
    for status in ("pending", "approved", "disapproved"):
        commission = shop.get_commission(shop.create_conversion("10"))
        account.commissions.filter(pk=commission.pk).update(status=status)


def get_changelist(client, name, query):
    response = client.get(f"{reverse(f'admin:{name}_changelist')}?{query}")
    assert response.status_code == 200
    return response


def parse_tabs(response):
    """The URL and the CSS class of each tab, by title."""
    page = response.content.decode()
    (navigation,) = re.findall(r'<nav id="tabs-items".*?</nav>', page, re.DOTALL)
    links = re.findall(r'<a href="([^"]*)" class="(\w*)"[^>]*>\s*(\w[\w ]*\w)', navigation)
    return {title: (url, css_class) for url, css_class, title in links}


@pytest.mark.parametrize(("name", "title"), TABS)
def test_filters_by_status(staff_client, rows, name, title):
    client = staff_client()
    tabs = parse_tabs(get_changelist(client, name, ""))
    assert list(tabs) == list(LISTS[name])

    url, _ = tabs[title]
    address = unescape(url)
    assert address == f"{reverse(f'admin:{name}_changelist')}?{LISTS[name][title]}"
    response = client.get(address)

    active_tabs = {
        tab for tab, (_, css_class) in parse_tabs(response).items() if css_class == "active"
    }
    assert active_tabs == {title}
    rows = len(response.context["cl"].result_list)
    assert rows == {"All": 3, "To check": 0}.get(title, 1)


def test_stays_active_with_other_filters(staff_client, rows):
    response = get_changelist(
        staff_client(), "payouts_commission", f"{COMMISSIONS['Pending']}&q=x&o=1"
    )

    assert parse_tabs(response)["Pending"][1] == "active"


def test_keeps_the_other_filters_but_not_the_page(staff_client, rows):
    query = f"{COMMISSIONS['Pending']}&affiliate=mina&q=x&p=2"
    tabs = parse_tabs(get_changelist(staff_client(), "payouts_commission", query))

    url = reverse("admin:payouts_commission_changelist")
    assert {title: unescape(link) for title, (link, _) in tabs.items()} == {
        title: f"{url}?{query}{query and '&'}affiliate=mina&q=x"
        for title, query in COMMISSIONS.items()
    }


def test_leads_to_other_lists_without_the_filters_of_this_one(staff_client):
    response = get_changelist(staff_client(), "tracking_enrollment", "q=x")

    groups = response.context["tab_list"]
    others = [it for it in groups if it["models"] != ["tracking.enrollment"]]
    links = [tab["link"] for group in others for tab in group["items"]]
    assert not any("q=x" in link for link in links)


def test_no_tab_is_active_if_the_list_has_removed_rows_too(staff_client, rows):
    response = get_changelist(staff_client(), "payouts_commission", "status__exact=pending")

    assert {css_class for _, css_class in parse_tabs(response).values()} == {""}
    assert parse_tabs(response)["All"][1] == ""


def test_leaves_out_commissions_of_removed_conversions(staff_client, account):
    shop = ProgramScenario(account)
    conversion = shop.create_conversion("10")
    delete_conversion(account, conversion_id=conversion.pk, at=NOW)
    client = staff_client()

    tabs = parse_tabs(get_changelist(client, "payouts_commission", ""))
    pending = client.get(unescape(tabs["Pending"][0])).context["cl"]

    assert list(pending.result_list) == []


def test_other_lists_have_no_tabs(staff_client):
    page = get_changelist(staff_client(), "tracking_click", "").content.decode()

    assert "tabs-items" not in page
