"""Links, short links and banners in Chromium, at a phone and a desk."""

from io import BytesIO

import pytest
from django.conf import settings
from django.utils import timezone
from PIL import Image

from affiliate_site.creative_images import encode_image, store_image
from tests.e2e.browser import open_context
from tests.e2e.test_back_office import static_files
from tests.e2e.test_portal import check_page, follow, portal, set_password
from tests.e2e.test_staff_jobs import device
from tracking.services.creatives import StoredImage, create_creative

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["device", "portal", "static_files"]


@pytest.fixture
def creatives(scenario, portal):
    """A banner and a text of the program."""
    file = BytesIO()
    Image.new("RGB", (728, 90), "#14532d").save(file, format="PNG")
    name = store_image(scenario.account, encode_image(file.getvalue()))
    values = {"program_id": scenario.program.slug, "at": timezone.now()}
    image = StoredImage(name, "image/png", 728, 90)
    create_creative(scenario.account, title="Spring lamps", image=image, **values)
    create_creative(scenario.account, title="Short text", text="Warm lamps", **values)


def test_makes_and_shares_links(device, chromium, portal, scenario, creatives):
    theme, width = device
    size = {"width": width, "height": 900}
    context = open_context(chromium, color_scheme=theme, viewport=size)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.add_init_script("navigator.share = async (data) => { window.shared = data; };")
    page = context.new_page()
    set_password(page, portal, scenario)
    follow(page, "Links")
    link = f"https://shop.example.net/?ref={scenario.mina.code}"
    page.get_by_role("button", name="Share").first.click()
    shared = page.evaluate("window.shared")
    assert shared == {"title": "Harbor Lamp Partners", "url": link}
    for summary in page.locator("summary").all():
        summary.click()
    assert page.locator("img.qr").evaluate("async (it) => (await it.decode(), it.width)")
    check_page(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download", exact=True).click()
    assert download.value.suggested_filename == f"{scenario.program.slug}.svg"

    page.get_by_label("Page of the shop").fill("shop.example.net/desk")
    page.get_by_label("Your own name for the link").fill("mail-1")
    page.get_by_role("button", name="Make link").click()
    made = page.locator("#page-1").input_value()
    assert made == (f"https://shop.example.net/desk?sub_id=mail-1&ref={scenario.mina.code}")
    check_page(page)

    follow(page, "Banners")
    banner = page.locator("img.banner")
    assert banner.evaluate("async (it) => (await it.decode(), it.naturalWidth)") == 728
    assert f'<img src="{settings.PUBLIC_URL}/creatives/' in (page.locator("#code-2").input_value())
    page.get_by_role("button", name="Copy").first.click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "Warm lamps"
    context.close()


def test_a_short_link_and_the_script_are_one_click(visitor, scenario, server):
    """The page has the script: it reports the visit that the link has counted."""
    account = scenario.account
    landing = visitor.build_url("/desk")
    scenario.program.update_row(landing_page=landing)
    visitor.open("/desk", 'tap("detect");')
    short = f"http://127.0.0.1:{server.port}/r/{account.slug}/{scenario.mina.code}/"
    with visitor.page.expect_response("**/track/click/") as response:
        visitor.page.goto(f"{short}?sub_id=mail-1")
    vid = response.value.json()["vid"]

    click = account.clicks.get()
    assert click.sub_id == "mail-1"
    assert account.visitors.get(tracking_id=vid).click == click
    assert visitor.page.url == (
        f"{landing}?click_id={click.public_id}&sub_id=mail-1&ref={scenario.mina.code}"
    )
    assert visitor.errors == []
