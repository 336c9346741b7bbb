"""What affiliates do about their money and their account in Chromium; each page fits
the width and passes the rules of axe."""

from datetime import date

import pytest
from django.utils import timezone

from payouts.services.payout_settings import update_payout_settings
from tests.e2e.browser import open_context
from tests.e2e.test_back_office import static_files
from tests.e2e.test_portal import PASSWORD, check_page, portal, set_password
from tracking.services.portal_settings import update_portal_settings

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["portal", "static_files"]

IBAN = "SI56191000000123438"
PAGES = (
    *("payments", "payout-methods/bank", "payout-methods/wise", "profile"),
    *("profile/edit", "profile/email", "profile/taxes", "profile/mails"),
    *("profile/postbacks", "profile/data", "profile/delete", "statement"),
)


@pytest.fixture
def account(scenario):
    """The account issues documents, has webhooks and says when it pays."""
    account, at = scenario.account, timezone.now()
    changes = {"documents_from": date(2026, 1, 1)}
    update_payout_settings(account, changes=changes, at=at)
    update_portal_settings(account, changes={"payout_day": 1}, at=at)
    type(account).objects.filter(pk=account.pk).update(uses_webhooks=True)
    return account


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (1440, "light")])
def test_looks_after_payments_and_account(chromium, portal, scenario, account, width, theme):
    size = {"width": width, "height": 900}
    context = open_context(chromium, color_scheme=theme, viewport=size)
    page = context.new_page()
    set_password(page, portal, scenario)
    page.get_by_role("link", name="Payments").click()
    text = check_page(page)
    assert "You cannot be paid yet: add a way to be paid." in text
    assert "The next payments" not in text
    page.get_by_role("link", name="Bank account").click()
    page.get_by_label("IBAN").fill("SI56 1910 0000 0123 439")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Save").click()
    assert "This is not an IBAN" in check_page(page)
    page.get_by_label("IBAN").fill(IBAN)  # the password was right, and is not asked again
    page.get_by_role("button", name="Save").click()
    assert "Bank account SI56…3438 You are paid here" in check_page(page)

    page.get_by_role("link", name="Profile").click()
    page.get_by_role("link", name="Tax data").click()
    page.get_by_label("a private person").check()
    page.get_by_label("Country where you pay taxes").select_option("AT")
    page.get_by_label("I agree to self-billing").check()
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved.").wait_for()
    check_page(page)

    page.get_by_role("link", name="Profile").first.click()  # an address is missing yet
    page.get_by_role("link", name="Postbacks").click()
    address = "https://track.example.net/?s=${click_subid}&sum=${commission_amount}"
    page.get_by_label("Address").fill(address)
    page.get_by_role("button", name="Add").click()
    assert address in check_page(page)
    page.get_by_role("link", name="Remove").click()
    assert address in check_page(page)
    for path in PAGES:
        page.goto(f"{portal}{path}/")
        check_page(page)

    page.get_by_role("link", name="Profile").click()
    page.get_by_role("link", name="Download my data").click()
    page.get_by_label("Your password").fill(PASSWORD)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == f"my-data-{scenario.mina.slug}.json"
    context.close()
