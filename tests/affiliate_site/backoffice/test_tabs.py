"""Tabs: one for each status above a list, and the one that is open is marked."""

import re

import pytest
from django.urls import reverse

from tests.shop import Shop

COMMISSIONS = {
    "All": "",
    "Pending": "status__exact=pending",
    "Approved": "status__exact=approved",
    "Disapproved": "status__exact=disapproved",
}
ENROLMENTS = {
    "All": "",
    "Waiting": "approved__isnull=True",
    "Approved": "approved__exact=1",
    "Disapproved": "approved__exact=0",
}
LISTS = {"payouts_commission": COMMISSIONS, "tracking_enrolment": ENROLMENTS}
EACH = [(name, title) for name, queries in LISTS.items() for title in queries]


@pytest.fixture
def rows(account):
    """One row of each status in both lists."""
    shop = Shop(account)
    shop.join("Otto", "Lund", approved=None)
    shop.join("Zoe", "Lund", approved=False)
    for status in ("pending", "approved", "disapproved"):
        commission = shop.commission_of(shop.sell("10"))
        account.commissions.filter(pk=commission.pk).update(status=status)


def shown(client, name, query):
    answer = client.get(f"{reverse(f'admin:{name}_changelist')}?{query}")
    assert answer.status_code == 200
    return answer


def tabs_of(answer):
    """Address, mark and title of each tab."""
    page = answer.content.decode()
    (inner,) = re.findall(r'<nav id="tabs-items".*?</nav>', page, re.DOTALL)
    found = re.findall(r'<a href="([^"]*)" class="(\w*)"[^>]*>\s*(\w+)', inner)
    return {title: (address, mark) for address, mark, title in found}


@pytest.mark.parametrize(("name", "title"), EACH)
def test_leads_to_the_rows_of_a_status(staff, rows, name, title):
    client = staff()
    tabs = tabs_of(shown(client, name, ""))
    assert list(tabs) == list(LISTS[name])

    address, _ = tabs[title]
    assert address == f"{reverse(f'admin:{name}_changelist')}?{LISTS[name][title]}"
    answer = client.get(address)

    marks = {tab for tab, (_, mark) in tabs_of(answer).items() if mark == "active"}
    assert marks == {title}
    rows = len(answer.context["cl"].result_list)
    assert rows == (3 if title == "All" else 1)


def test_keeps_its_mark_beside_other_questions(staff, rows):
    answer = shown(staff(), "payouts_commission", "status__exact=pending&q=x&o=1")

    assert tabs_of(answer)["Pending"][1] == "active"
    assert tabs_of(answer)["All"][1] == ""


def test_stands_above_no_other_list(staff):
    page = shown(staff(), "tracking_click", "").content.decode()

    assert "tabs-items" not in page
