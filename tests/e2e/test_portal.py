"""The jobs of an affiliate in Chromium, at a phone and a desk, with and without
JavaScript; each page passes the rules of axe."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.services.staff import create_staff_user
from payouts.services.payout_limits import set_minimum
from tests.e2e.browser import open_context
from tests.e2e.test_accessibility import list_violations
from tests.e2e.test_back_office import static_files
from tests.e2e.test_staff_jobs import device
from tracking.services.portal_links import create_view_link, invite_affiliate
from tracking.services.portal_settings import update_portal_settings

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["device", "static_files"]

EMAIL = "mina@notes.example.org"
PASSWORD = "harbor-lamps-12"


@pytest.fixture
def portal(server, scenario, static_files):
    """The address of the portal of an account with a sale that is on hold."""
    server.wait_until_ready()
    account, at = scenario.account, timezone.now()
    update_portal_settings(account, changes={"is_on": True, "is_open": True}, at=at)
    set_minimum(account, currency="EUR", amount=Decimal(50), at=at)
    scenario.approve(scenario.get_commission(earn(scenario, "100")), at=at)
    scenario.program.update_row(hold_days=30)
    scenario.approve(scenario.get_commission(earn(scenario, "199.99")), at=at)
    return f"http://127.0.0.1:{server.port}/partners/{account.slug}/"


def earn(scenario, amount):
    return scenario.create_conversion(amount, at=timezone.now())


def set_theme(page, theme):
    page.emulate_media(color_scheme=theme)


def check_page(page):
    """No part of the page is wider than it, and axe finds nothing."""
    page.wait_for_load_state()  # of the page that a click has led to
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"], page.url
    assert list(list_violations(page, set_theme)) == [], page.url
    return " ".join(page.locator("main").inner_text().split())


def set_password(page, portal, scenario):
    """Use the link that staff have given to the affiliate."""
    invitation = invite_affiliate(
        scenario.account, affiliate_id=scenario.mina.slug, at=timezone.now()
    )
    page.goto(f"{portal}password/{invitation.token}/")
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Set password and sign in").click()
    page.wait_for_url(portal)


def follow(page, name):
    page.get_by_role("link", name=name).first.click()
    return check_page(page)


def test_does_the_jobs_of_an_affiliate(device, chromium, portal, scenario):
    theme, width = device
    size = {"width": width, "height": 900}
    context = open_context(chromium, color_scheme=theme, viewport=size)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(portal)
    assert "You earn 10 % of each sale." in check_page(page)
    set_password(page, portal, scenario)
    text = check_page(page)
    assert "Due 10.00 EUR On hold 20.00 EUR" in text
    assert "You are paid once 50.00 EUR are due." in text

    assert scenario.mina.coupon in follow(page, "Links")
    page.clock.install()
    page.clock.pause_at(timezone.now() + timedelta(hours=1))
    page.get_by_role("button", name="Copy").first.click()
    page.get_by_role("button", name="Copied").wait_for()
    page.clock.run_for(2000)
    assert page.get_by_role("button", name="Copied").count() == 0
    page.clock.resume()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.endswith(f"?ref={scenario.mina.code}")

    assert "On hold until" in follow(page, "Sales")
    text = follow(page, "Why?")
    assert "10 % of 199.99 EUR are 19.999 EUR, rounded to 20.00 EUR." in text
    assert "No payment yet." in follow(page, "Payments")
    assert "Commission" in follow(page, "Statement")
    assert EMAIL in follow(page, "Profile")
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.get_by_label("E-mail address").fill(EMAIL)
    page.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    assert "E-mail address or password is wrong." in check_page(page)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(portal)
    context.close()


def test_works_without_javascript(chromium, portal, scenario):
    context = open_context(chromium, java_script_enabled=False)
    page = context.new_page()
    set_password(page, portal, scenario)
    page.get_by_role("link", name="Links").click()
    assert page.get_by_role("button", name="Copy").count() == 0
    page.get_by_label("Page of the shop").fill("https://shop.example.net/desk")
    page.get_by_role("button", name="Make link").click()
    link = page.locator("#page-1").input_value()
    assert link == f"https://shop.example.net/desk?ref={scenario.mina.code}"
    page.get_by_role("link", name="Payments").click()
    page.get_by_role("link", name="Statement").click()
    start = scenario.account.get_day(timezone.now()) - timedelta(days=5)
    page.get_by_label("From").fill(start.isoformat())
    page.get_by_role("button", name="Show").click()
    assert "Balance before" in page.locator("main").inner_text()
    context.close()


def test_staff_leave_a_portal_on_a_host_of_its_own(chromium, portal, scenario):
    """`form-action` holds for redirects, too: the back office is at another origin."""
    account, at = scenario.account, timezone.now()
    staff, _ = create_staff_user(account, email="o@e.example", role="owner", password=None, at=at)
    token = create_view_link(account, affiliate_id=scenario.mina.slug, viewed_by=staff, at=at)
    own_host = portal.replace("127.0.0.1", "localhost")
    context = open_context(chromium)
    page = context.new_page()
    page.goto(f"{own_host}view/{token}/")
    with page.expect_request(f"{settings.PUBLIC_URL}/admin/**"):  # nobody answers there
        page.get_by_role("button", name="Stop").click()
    context.close()
