"""The back office for everybody: each kind of page, by day and by night, keeps the
rules that make it usable by keyboard, by ear and with weak eyes."""

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.utils import timezone

from payouts.services.commissions import approve
from tests.e2e.test_back_office import office, static_files

__all__ = ["office", "static_files"]

DESK, PHONE = 1280, 390
ANSWERED = 8000  # milliseconds
ASK = """
async () => (await axe.run({resultTypes: ["violations"]})).violations.flatMap(
  rule => rule.nodes.map(node =>
    `${node.impact}: ${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`
  )
)
"""
SETTLED = "document.getAnimations().every(it => it.playState !== 'running')"
IN_MAIN = "document.activeElement.getAttribute('role') === 'main'"


@pytest.fixture
def page(office):
    office.page.set_default_timeout(ANSWERED)
    office.page.set_viewport_size({"width": DESK, "height": 844})
    return office.page


@pytest.fixture
def sale(shop):
    now = timezone.now()
    shop.click(at=now)
    paid = shop.sell("50", at=now, external_id="order-0")
    approve(shop.account, commission_id=shop.commission_of(paid).pk, at=now)
    return shop.sell("200", at=now, external_id="order-1")


class Visits:
    """The kinds of page, and what opens on them; one after the other."""

    def __init__(self, office, shop, sale) -> None:
        self.office, self.page = office, office.page
        membership = shop.mina.enrolment.pk
        self.addresses = {
            "the dashboard": "",
            "a list": "payouts/commission/",
            "a list without rows": "tracking/prospect/",
            "a sale": f"tracking/conversion/{sale.pk}/change/",
            "a program": f"tracking/program/{shop.program.pk}/change/",
            "paying many": "payouts/ledgeraccount/pay/?minimum=0&currency=EUR"
            f"&last_day={timezone.now():%Y-%m-%d}",
            "a membership with links": f"tracking/enrolment/{membership}/change/",
            "adding a key": "accounts/apikey/add/",
            "adding a webhook": "accounts/webhookendpoint/add/",
            "the second factor": "second-factor/",
        }

    def each(self):
        """Opens one thing after the other; the name of what is open now."""
        yield from self.pages("at a desk", self.addresses)
        for open_it in (
            self.chosen_rows,
            self.filters,
            self.palette,
            self.confirming,
            self.a_secret,
        ):
            open_it()
            yield open_it.__name__
        self.page.set_viewport_size({"width": PHONE, "height": 844})
        yield from self.pages("on a phone", ["the dashboard", "a list"])
        self.page.context.clear_cookies()
        self.office.open("")
        yield "signing in"

    def pages(self, where, names):
        for name in names:
            self.office.open(self.addresses[name])
            yield f"{name} {where}"

    def chosen_rows(self):
        self.office.open(self.addresses["a list"])
        self.page.click("#action-toggle")
        self.page.wait_for_selector("select[name=action]")

    def filters(self):
        """As somebody without a mouse opens them."""
        self.office.open(self.addresses["a list"])
        self.page.get_by_role("button", name="Filters", exact=True).press("Enter")
        self.page.get_by_role("button", name="Apply Filters").wait_for()

    def palette(self):
        self.office.open(self.addresses["the dashboard"])
        self.page.keyboard.press("Control+k")
        self.page.get_by_placeholder("A page, or a whole id").press_sequentially(
            "order-1"
        )
        self.page.get_by_role("link", name="order-1").wait_for()

    def confirming(self):
        self.office.choose(self.addresses["a list"], "Approve")

    def a_secret(self):
        self.office.open(self.addresses["adding a key"])
        self.page.fill("#id_name", "shop")
        self.page.click("button[name=_save]")
        self.page.wait_for_selector("#secret")


def faults(page):
    """What breaks a rule, by day and by night. The rules come with the tests; they are
    evaluated from outside the page, whose policy knows nothing of them."""
    page.evaluate(AXE_SCRIPT)
    for light in ("light", "dark"):
        page.evaluate("it => document.documentElement.className = it", light)
        page.wait_for_function(SETTLED)
        yield from (f"{light}: {fault}" for fault in page.evaluate(ASK))


def test_breaks_no_rule_on_any_kind_of_page(office, page, shop, sale):
    found = [
        f"{name}: {fault}"
        for name in Visits(office, shop, sale).each()
        for fault in faults(page)
    ]

    assert found == []


def test_skips_to_the_content(office, page, sale):
    office.open("payouts/commission/")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")

    page.wait_for_function(IN_MAIN)
