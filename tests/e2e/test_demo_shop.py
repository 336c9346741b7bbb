"""The buttons of the demo shop, which call the browser script."""

import re

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect

from accounts.services.api_keys import create_signing_secret
from affiliate_site.demo import loading
from affiliate_site.env import BASE_DIR

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

SCRIPT = BASE_DIR / "affiliate_site" / "static" / "demo" / "shop.js"


def test_buttons_report_a_customer_and_two_orders(visitor, api, scenario, settings, monkeypatch):
    settings.DEMO = True
    monkeypatch.setattr(loading, "ACCOUNT_SLUG", scenario.account.slug)
    create_signing_secret(scenario.account, at=timezone.now())
    html = Client().get("/demo/").content.decode()
    html = html.replace('"/tap.js"', f'"{visitor.script}"')
    inline = f"<script>{SCRIPT.read_text()}</script>"
    html = re.sub(r"<script src=\S*shop\S*</script>", lambda _: inline, html)
    visitor.shop_server.pages["/demo/"] = (html, {})
    page = visitor.page

    page.goto(visitor.build_url(f"/demo/?ref={scenario.mina.code}&tm_subid1=spring"))
    page.wait_for_function("() => document.getElementById('vid').value.length === 32")
    for button, status in (
        ("#sign-up", r"Sign-up of customer-\d+ sent\."),
        ("#buy", r"Conversion order-\d+ sent\."),
        ("#buy-signed", r"Signed conversion signed-\w+ sent\."),
    ):
        page.click(button)
        expect(page.locator("#status")).to_have_text(re.compile(status))

    [customer] = api("/customers/")
    signed, claimed = api("/conversions/")
    assert customer["affiliate"]["id"] == scenario.mina.slug
    assert [signed["amount"], claimed["amount"]] == [49.9, 49.9]
    assert signed["external_id"].startswith("signed-")
    statuses = scenario.account.conversions.order_by("id").values_list("claim_status")
    assert list(statuses) == [("open",), (None,)]
    assert visitor.errors == []
