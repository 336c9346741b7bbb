"""Somebody applies at the portal in Chromium, up to the first link."""

import os
import re
from pathlib import Path

import pytest
from django.utils import timezone

from tests.concurrency.server import run_server
from tests.e2e.browser import open_context
from tests.e2e.test_back_office import static_files
from tests.e2e.test_portal import PASSWORD, check_page, portal
from tests.e2e.test_staff_jobs import device
from tests.factories.tracking import ProgramFactory
from tracking.services.custom_fields import create_custom_field
from tracking.services.enrollments import set_approval
from tracking.services.portal_settings import update_portal_settings

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["device", "portal", "static_files"]

EMAIL = "nora@weld.example.org"


@pytest.fixture(scope="module")
def server(django_db_setup, django_db_blocker):
    """A server that queues mail; no worker sends it."""
    mail_url = "smtp://127.0.0.1:9"
    with django_db_blocker.unblock(), run_server(EMAIL_URL=mail_url) as server:
        server.wait_until_ready()
        yield server


def check(page):
    """Check a page, and take a picture if `PICTURES` names a folder."""
    text = check_page(page)
    if folder := os.environ.get("PICTURES"):
        title = re.sub(r"\W+", "-", page.title().partition("|")[0]).strip("-")
        name = f"{title}-{page.viewport_size['width']}.png"
        page.screenshot(path=Path(folder) / name, full_page=True)
    return text


def ask_questions(account):
    at = timezone.now()
    terms = "Do not send spam.\n\nDo not bid on our name."
    update_portal_settings(account, changes={"terms": terms}, at=at)
    options = ["Blog", "Video"]
    for slug, title, field_type, further in (
        ("site", "Your website", "url", {"required": True}),
        ("kinds", "How do you advertise?", "multiselect", {"options": options}),
        ("size", "Readers a month", "select", {"options": ["below 1,000", "more"]}),
        ("about", "About you", "textarea", {}),
        ("adult", "I am at least 18 years old", "checkbox", {"required": True}),
    ):
        create_custom_field(account, slug=slug, title=title, type=field_type, at=at, **further)
    type(account).objects.filter(pk=account.pk).update(link_color="#b3202c")


def fill_in(page):
    """Fill in the form by the keyboard alone."""
    page.get_by_label("First name").focus()
    for text in ("Nora", "Weld", EMAIL, "Weld Media", "Ger", "weld.example.org"):
        page.keyboard.type(text)
        page.keyboard.press("Tab")
    page.keyboard.press("Space")  # the first way to advertise
    for key in ("Tab", "Tab", "Tab", "Tab", "Space", "Tab", "Space", "Tab", "Tab"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.innerText") == "Apply"
    page.keyboard.press("Enter")


def test_applies_and_gets_a_link(device, chromium, portal, scenario):
    theme, width = device
    account = scenario.account
    ask_questions(account)
    size = {"width": width, "height": 900}
    context = open_context(chromium, color_scheme=theme, viewport=size)
    page = context.new_page()
    page.goto(portal)
    check(page)
    page.get_by_role("link", name=scenario.program.title, exact=True).click()
    page.wait_for_url(f"{portal}{scenario.program.slug}/")
    assert "decides about each application." in check(page)
    page.get_by_role("link", name="Apply").click()
    page.get_by_label("First name").wait_for()
    assert page.get_by_label("Website", exact=True).is_hidden()
    check(page)
    fill_in(page)
    page.get_by_role("status").wait_for()
    assert f"We have sent a mail to {EMAIL}." in check(page)

    text = account.mails.get().text
    path = re.search(r"/apply/(\S+)", text)[1]
    page.goto(f"{portal}apply/{path}")
    assert f"You apply with the address {EMAIL}" in check(page)
    page.get_by_role("button", name="Confirm application").click()
    page.get_by_label("New password").wait_for()
    check(page)
    page.get_by_label("New password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(portal)
    assert "waits for a decision" in check(page)

    affiliate = account.affiliates.get(email=EMAIL)
    assert affiliate.custom_fields == {
        "site": "https://weld.example.org",
        "kinds": ["Blog"],
        "adult": "true",
    }
    assert (affiliate.country, affiliate.company_name) == ("DE", "Weld Media")
    set_approval(
        account,
        program=scenario.program,
        affiliate_id=affiliate.slug,
        approved=True,
        at=timezone.now(),
    )
    code = account.referral_codes.get(enrollment__affiliate=affiliate).code
    ProgramFactory(account=account, slug="boats", title="Boats")
    page.goto(f"{portal}links/")
    assert "More programs Boats" in check(page)
    link = page.get_by_label("Your link", exact=True).input_value()
    assert link.endswith(f"?ref={code}")
    page.get_by_role("link", name="Apply for Boats").click()
    page.get_by_role("heading", name="Apply for Boats").wait_for()
    check(page)
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url(f"{portal}links/")
    terms = {"terms": "Do not send spam."}
    update_portal_settings(account, changes=terms, at=timezone.now())
    page.goto(portal)
    page.get_by_role("link", name="Read and accept them").click()
    page.wait_for_url(f"{portal}terms/")
    assert "Version 2" in check(page)
    page.get_by_role("button", name="I accept these terms").click()
    page.wait_for_url(portal)
    assert account.terms_acceptances.filter(affiliate=affiliate).count() == 2
    context.close()
