"""The code that the page of a connection shows, loaded in a browser."""

import pytest
from django.conf import settings
from django.utils import timezone

from affiliate_site.backoffice.connections.snippets import render_connection_snippet
from tracking.models.shops import ConnectionKind
from tracking.services.connections import create_connection

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

# What a page of the shop has besides, and where the tracking ID arrives.
PAGES = {
    ConnectionKind.STRIPE: (
        '<a id="buy" href="https://buy.stripe.com/a">Buy</a>',
        "new URL(document.querySelector('#buy').href).searchParams.get('client_reference_id')",
    ),
    ConnectionKind.WOOCOMMERCE: ("", "document.cookie.replace('tap_vid=', '')"),
    ConnectionKind.SHOPIFY: (
        """<script>window.Shopify = {}; const send = window.fetch;
        window.fetch = function (url, options) {
          if (url !== "/cart/update.js") return send(url, options);
          window.vid = JSON.parse(options.body).attributes.tap_vid;
          return Promise.resolve();
        };</script>""",
        "window.vid",
    ),
    ConnectionKind.PADDLE: (
        """<script>window.Paddle = { Checkout: {
          open(options) { window.vid = options.customData.tap_vid; } } };</script>
        <button id="buy" onclick="openCheckout({ items: [] })">Buy</button>""",
        "(document.querySelector('#buy').click(), window.vid)",
    ),
    ConnectionKind.OTHER: (
        '<form><input type="hidden" name="tap_vid"></form>',
        "document.querySelector('input').value",
    ),
}


@pytest.mark.parametrize("kind", ConnectionKind.values)
def test_hands_the_visit_to_the_shop(visitor, scenario, server, kind):
    content, read = PAGES[kind]
    connection = create_connection(scenario.account, kind=kind, at=timezone.now())
    code = render_connection_snippet(connection).replace(
        settings.PUBLIC_URL, f"http://127.0.0.1:{server.port}"
    )
    html = f"<!doctype html><head>{code}</head>{content}"
    visitor.shop_server.pages["/"] = (html, {})

    with visitor.page.expect_response("**/track/click/") as response:
        visitor.page.goto(visitor.build_url(f"/?ref={scenario.mina.code}"))
    vid = response.value.json()["vid"]

    visitor.page.wait_for_function(f"vid => ({read}) === vid", arg=vid)
    assert visitor.errors == []
    assert scenario.account.clicks.count() == 1
