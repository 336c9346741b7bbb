"""Staff create an affiliate, put it into a program and copy its link, in Chromium."""

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from tests.e2e.test_accessibility import RUN_AXE_SCRIPT
from tests.e2e.test_back_office import back_office, static_files

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["back_office", "static_files"]

LIGHT_DESKTOP = ("light", 1440)
DARK_PHONE = pytest.param(("dark", 390), marks=pytest.mark.slow)


@pytest.fixture(params=[LIGHT_DESKTOP, DARK_PHONE], ids=["light", "dark-phone"])
def page(request, back_office):
    theme, width = request.param
    back_office.page.set_viewport_size({"width": width, "height": 900})
    back_office.page.emulate_media(color_scheme=theme)
    return back_office.page


def assert_accessible(page):
    overflow = "document.documentElement.scrollWidth - window.innerWidth"
    assert page.evaluate(overflow) <= 0
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate(RUN_AXE_SCRIPT) == []


def test_creates_an_affiliate_and_copies_its_link(back_office, page, scenario):
    account = scenario.account
    back_office.open("tracking/affiliate/add/")
    assert_accessible(page)
    page.fill("#id_firstname", "Hana")
    page.fill("#id_lastname", "Kim")
    page.fill("#id_email", "not an address")
    assert "not a valid email" in back_office.click("button[name=_save]")
    assert page.input_value("#id_firstname") == "Hana"
    page.fill("#id_email", "hana@notes.example.org")
    page.fill("#id_meta_data", "tier: gold")

    back_office.click("button[name=_save]")
    assert len(page.inner_text("#secret")) == 16
    back_office.click("text=Continue to the affiliate")
    hana = account.affiliates.get(slug="hanakim")
    assert hana.meta_data == {"tier": "gold"}
    assert_accessible(page)

    back_office.click("a:text-is('Add to a program') >> nth=0")
    page.select_option("#id_program", label=scenario.program.title)
    page.select_option("#id_approval", value="pending")
    page.fill("#id_coupon", "HANA10")
    assert "pending" in back_office.click("button[name=_save]")
    text = back_office.click("button:has-text('Approve')")
    assert "hanakim is approved in Harbor Lamp Partners." in text
    enrollment = account.enrollments.get(affiliate=hana)
    assert enrollment.approved
    assert_accessible(page)

    code = account.referral_codes.get(enrollment=enrollment).code
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("text=Copy >> nth=0")
    page.wait_for_function("navigator.clipboard.readText()")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"https://shop.example.net/?ref={code}"


def test_sets_the_parent_by_search_and_writes_a_note(back_office, page, scenario):
    mina, odette = scenario.mina.affiliate, scenario.odette.affiliate
    back_office.open(f"tracking/affiliate/{mina.pk}/parent/")
    page.click(".select2-selection")
    page.fill(".select2-search__field", odette.slug)
    page.click(f".select2-results__option:has-text('{odette.slug}')")
    text = back_office.click("button[name=_save]")
    assert f"The parent of {mina} is {odette} now." in text

    back_office.click("a:text-is('Add note')")
    page.fill("#id_note", "Prefers calls in the morning.")
    assert "Prefers calls" in back_office.click("button[name=_save]")
    assert_accessible(page)
    for tab in ("Conversions", "Commissions", "Payments", "Activity"):
        back_office.click(f".backoffice-tabs a:has-text('{tab}')")
        assert_accessible(page)
