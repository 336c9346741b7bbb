"""Each page of the portal in other languages, at a phone; axe finds nothing."""

import pytest

from affiliate_site.portal.urls import urlpatterns
from tests.e2e.browser import open_context
from tests.e2e.test_back_office import static_files
from tests.e2e.test_portal import check_page, portal, set_password

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["portal", "static_files"]

PHONE = {"width": 390, "height": 844}
# Files, and pages for a form only.
NO_PAGES = {"qr_code", "set_language", "sign_out", "theme", "logo", "terms"}
PAGES = [
    str(each.pattern)
    for each in urlpatterns
    if "<" not in str(each.pattern) and each.name not in NO_PAGES
]


@pytest.mark.parametrize(("language", "word"), [("Deutsch", "Übersicht"), ("Français", "Aperçu")])
def test_each_page_fits_in_another_language(chromium, portal, scenario, language, word):
    scenario.account.plan.mlm = True
    scenario.account.plan.save()
    context = open_context(chromium, color_scheme="dark", viewport=PHONE)
    page = context.new_page()
    set_password(page, portal, scenario)
    page.get_by_role("button", name=language).click()
    page.get_by_role("link", name=word).wait_for()
    for path in PAGES:
        response = page.goto(f"{portal}{path}")
        if response.status == 404:  # what this account does not have
            continue
        assert response.ok, path
        check_page(page)
    context.close()
