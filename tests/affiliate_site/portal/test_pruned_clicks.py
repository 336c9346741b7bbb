"""Pages say the same before and after the removal of old clicks."""

import pytest
from django.urls import reverse

from tests.affiliate_site.backoffice.conftest import staff_client
from tests.affiliate_site.backoffice.table_import_pages import read, url_of
from tests.affiliate_site.portal.test_question_pages import read_main
from tests.conftest import NOW
from tests.tracking.services.test_click_retention import (
    DAY,
    OLD,
    SHOP,
    list_counts,
    prune,
    visit,
)

__all__ = ["staff_client"]

pytestmark = pytest.mark.usefixtures("shared_scenario")

DAYS = "from=2023-01-01&to=2023-01-31"
OWN_DAYS = "period=own&start=2023-01-01&end=2023-01-31"
CLICKS = reverse("admin:tracking_click_changelist")


@pytest.fixture
def clicks(scenario, time_machine):
    time_machine.move_to(NOW, tick=False)
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    pages = (f"{SHOP}/a?sub_id=news", f"{SHOP}/a?sub_id=blog", f"{SHOP}/b")
    for number in range(9):
        visit(
            scenario,
            OLD + number * DAY,
            ip=f"192.0.2.{number}",
            code=(scenario.mina, scenario.mina, nils)[number // 2 % 3].code,
            page=pages[number % 3],
            referrer=f"https://blog{number % 2}.example.net/post",
        )


def test_figures_stay_the_same(scenario, account, clicks, mina, portal, staff_client):
    office = staff_client()
    own = [f"{portal}figures/?{OWN_DAYS}&by={by}" for by in ("", "program", "page", "sub_id")]
    rows = (scenario.mina.affiliate, scenario.program)
    urls = [f"/admin/?{DAYS}", *map(url_of, rows)]

    def read_pages():
        account.refresh_from_db()
        shown = [read_main(mina.get(url)) for url in own]
        return shown + [read(office.get(url)) for url in urls]

    before = read_pages()
    assert f"{SHOP}/a 5" in before[2]
    assert "news 3" in before[3]
    assert "were removed" not in read(office.get(CLICKS))

    assert prune(account) == 9

    assert read_pages() == before
    hosts = {}
    for _, _, host, _, number in list_counts(account):
        hosts[host] = hosts.get(host, 0) + number
    assert hosts == {"blog0.example.net": 5, "blog1.example.net": 4}
    assert (
        "Clicks of pages before 2023-01-13 10:07 UTC were removed, unless a customer,"
        " conversion or claim names them." in read(office.get(CLICKS))
    )
