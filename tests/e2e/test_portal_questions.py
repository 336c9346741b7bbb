"""A missing sale in Chromium: the answer, a question to the company, its reply, and
the figures; each page passes the rules of axe."""

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from tests.e2e.browser import open_context
from tests.e2e.test_back_office import PASSWORD, static_files
from tests.e2e.test_portal import check_page, follow, portal, set_password
from tests.e2e.test_staff_jobs import device

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["device", "portal", "static_files"]


def continue_staff_session(context, portal, account):
    """Be signed in as an owner of the account in the same browser."""
    user, _ = create_staff_user(
        account,
        email=f"anna@{account.slug}.example.org",
        role=Role.OWNER,
        password=PASSWORD,
        at=timezone.now(),
    )
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    value, home = client.cookies[name].value, portal.split("/partners/")[0]
    context.add_cookies([{"name": name, "value": value, "url": home}])
    return f"{home}/admin/"


def test_asks_for_a_missing_sale_and_reads_the_answer(device, chromium, portal, scenario):
    theme, width = device
    size = {"width": width, "height": 900}
    context = open_context(chromium, color_scheme=theme, viewport=size)
    page = context.new_page()
    set_password(page, portal, scenario)
    follow(page, "Sales")
    assert "you see no sale?" in follow(page, "A sale is missing")
    page.get_by_label("Order ID").fill("order-7")
    day = scenario.account.get_day(timezone.now())
    page.get_by_label("Day of the order").fill(f"{day}")
    page.get_by_role("button", name="Look it up").click()
    page.get_by_role("status").wait_for()
    assert "The shop has reported no sale with this order ID" in check_page(page)
    page.get_by_label("Your question").fill("It was on Monday.")
    page.get_by_role("button", name="Ask the company").click()
    page.wait_for_url(f"{portal}questions/?sent=1")
    assert "Waits for an answer" in check_page(page)

    staff = context.new_page()
    staff.goto(continue_staff_session(context, portal, scenario.account))
    staff.goto(f"{staff.url}tracking/question/?state__exact=open")
    staff.locator("#result_list tbody a").first.click()
    staff.get_by_text("It was on Monday.").first.wait_for()
    staff.get_by_role("link", name="Answer").first.click()
    staff.locator("#id_answer").fill("It is stored now.")
    staff.get_by_role("button", name="Answer").click()
    staff.get_by_text("The answer was saved; the portal shows it.").wait_for()

    page.reload()
    assert "It is stored now." in check_page(page)
    assert "In this period" in follow(page, "Figures")
    assert "By program" in follow(page, "By program")
    follow(page, "Sales")
    follow(page, "Why?")
    assert "Ask about a sale" in follow(page, "Ask about this sale")

    for order_id in ("order-7", "order-8"):
        scenario.create_conversion("80", external_id=order_id, at=timezone.now())
    page.goto(f"{portal}missing/?order_id=order-8&day={day}")
    answer = check_page(page)
    assert "Order order-8" in answer
    assert "Sale of" in follow(page, "See this sale")
    page.go_back()
    assert check_page(page) == answer
    follow(page, "See this sale")
    assert "Why?" in follow(page, "Sales")

    staff.reload()
    question = staff.url
    staff.get_by_role("link", name="order-7", exact=True).click()
    staff.wait_for_url("**/tracking/conversion/*/change/")
    staff.go_back()
    staff.wait_for_url(question)
    staff.get_by_text("recorded since").wait_for()
    context.close()
