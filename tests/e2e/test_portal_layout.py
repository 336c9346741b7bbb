"""What the pages of affiliates look like on a phone, in a language with long words."""

import pytest

from tests.e2e.browser import open_context
from tests.e2e.test_back_office import static_files
from tests.e2e.test_portal import portal, set_password

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["portal", "static_files"]


@pytest.fixture
def page(chromium):
    size = {"width": 390, "height": 844}
    context = open_context(chromium, viewport=size)
    yield context.new_page()
    context.close()


def sign_in_in_german(page, portal, scenario):
    set_password(page, portal, scenario)
    page.get_by_role("button", name="Deutsch").click()
    page.get_by_role("link", name="Übersicht").wait_for()


def test_a_long_label_stands_beside_its_box(page, portal, scenario):
    sign_in_in_german(page, portal, scenario)
    page.goto(f"{portal}profile/mails/")
    field = page.locator(".check").first
    field.locator("label").evaluate(
        "each => each.textContent = 'Ich stimme der Abrechnung durch Gutschriften zu'"
    )
    box = field.locator("input").bounding_box()
    label = field.locator("label").bounding_box()
    assert label["x"] >= box["x"] + box["width"]
    assert label["y"] < box["y"] + box["height"]


def test_the_end_of_an_order_id_stays_in_one_line(page, portal, scenario):
    sign_in_in_german(page, portal, scenario)
    page.goto(f"{portal}sales/")
    page.locator(".earnings small").first.evaluate("each => each.textContent = 'Bestellung …n-de'")
    height = page.locator(".earnings small").first.bounding_box()["height"]
    assert height < 30


def test_the_text_of_a_button_fits_into_it(page, portal):
    page.goto(f"{portal}sign-in/")
    heights = page.locator("main button").evaluate(
        """each => {
          each.parentElement.className = "row";
          each.textContent = "Link zum Festlegen eines Passworts per E-Mail senden";
          each.style.width = "200px";
          return [each.scrollHeight, each.clientHeight];
        }"""
    )
    assert heights[0] <= heights[1]
