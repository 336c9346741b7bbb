"""The list of sales: by state and period, and as a file."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from affiliate_site.portal import sale_pages, tables
from tests.affiliate_site.portal.test_figures import read_file
from tests.affiliate_site.portal.test_pages import get_page
from tests.payout_scenario import Paid, create_run
from tracking.services.portal_settings import update_portal_settings

pytestmark = pytest.mark.usefixtures("shared_scenario")

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
ORDERS = ("pending", "on_hold", "due", "disapproved", "removed", "paid", "february")


@pytest.fixture(autouse=True)
def at_noon(time_machine):
    time_machine.move_to(NOW, tick=False)


@pytest.fixture
def sales(account, scenario):
    """A sale in each state, named after it."""
    update_portal_settings(account, changes={"order_ids": "whole"}, at=NOW)

    def sell(order_id, at=NOW):
        return scenario.create_conversion("100", at=at, external_id=order_id)

    scenario.approve(scenario.get_commission(sell("paid")), at=NOW)
    scenario.pay(Decimal(10), at=NOW)
    sell("february", NOW - timedelta(days=30))
    sell("pending")
    scenario.disapprove(scenario.get_commission(sell("disapproved")), at=NOW)
    scenario.delete(sell("removed"), at=NOW)
    scenario.approve(scenario.get_commission(sell("due")), at=NOW)
    scenario.program.update_row(hold_days=30)
    scenario.approve(scenario.get_commission(sell("on_hold")), at=NOW)
    nils = scenario.create_enrolled_affiliate("Nils", "Berg")
    scenario.create_conversion("100", at=NOW, affiliate=nils, external_id="zz-order")


def list_orders(page):
    return {name for name in ORDERS if f">{name}</span>" in page}


@pytest.mark.parametrize(
    ("query", "orders"),
    [
        ("", set(ORDERS)),
        ("state=pending", {"pending", "february"}),
        *((f"state={name}", {name}) for name in ORDERS[1:6]),
        ("state=on_its_way", set()),
        ("period=last_month", {"february"}),
        ("period=own&start=2026-02-18&end=2026-02-18", {"february"}),
        ("state=due&period=last_month", set()),
        ("state=x&period=y", set(ORDERS)),
    ],
)
def test_filters_by_state_and_period(mina, portal, sales, query, orders):
    page = get_page(mina, f"{portal}sales/?{query}")
    assert list_orders(page) == orders
    assert ("No sale in this state and period." in page) == (not orders)
    assert "zz-order" not in page


def test_paid_sales_wait_for_the_bank(mina, account, portal, sales):
    account.conversions.filter(external_id="due").update(external_id="was-due")
    create_run(account, Paid("10"))
    page = get_page(mina, f"{portal}sales/?state=on_its_way")
    assert page.count(">On its way</span>") == 1
    assert list_orders(get_page(mina, f"{portal}sales/?state=paid")) == {"paid"}


def test_downloads_what_is_filtered(mina, portal, sales, monkeypatch):
    monkeypatch.setattr(tables, "FILE_PART", 2)
    response = mina.get(f"{portal}sales/?period=this_month&file=sales")
    name = 'attachment; filename="sales-2026-03-20.csv"'
    assert response["Content-Disposition"] == name
    assert read_file(response) == [
        '"Day","What","Program","Order","State","Amount of the sale","You earn","Currency",'
        '"On hold until"',
        '"2026-03-20","Sale","Harbor Lamp Partners","on_hold","On hold",100,10,"EUR","2026-04-19"',
        '"2026-03-20","Sale","Harbor Lamp Partners","due","Due",100,10,"EUR",',
        '"2026-03-20","Sale","Harbor Lamp Partners","removed","Removed",100,10,"EUR",',
        '"2026-03-20","Sale","Harbor Lamp Partners","disapproved","Disapproved",100,10,"EUR",',
        '"2026-03-20","Sale","Harbor Lamp Partners","pending","Waits for approval",100,10,"EUR",',
        '"2026-03-20","Sale","Harbor Lamp Partners","paid","Paid",100,10,"EUR",',
    ]


def test_older_pages_keep_the_filter(mina, portal, scenario, monkeypatch):
    monkeypatch.setattr(sale_pages, "PAGE_SIZE", 1)
    for _ in range(2):
        scenario.create_conversion("100", at=NOW)
    page = get_page(mina, f"{portal}sales/?state=pending")
    last = scenario.account.commissions.order_by("-id").first()
    assert f'href="?state=pending&amp;before={last.pk}"' in page
    assert 'href="?state=pending&amp;file=sales"' in page
