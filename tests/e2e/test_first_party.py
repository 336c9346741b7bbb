"""The script and its calls on the shop's own host, behind its nginx, in Chromium."""

import pytest
from django.utils import timezone

from accounts.services.api_keys import create_api_key
from tests.first_party_proxies import run_first_party

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

VISITOR_IP = "203.0.113.9"
DAY = 24 * 3600
# What the script writes is noted, and not written if it is a visitor.
WATCH_COOKIES = """
const { get, set } = Object.getOwnPropertyDescriptor(Document.prototype, "cookie");
window.written = [];
Object.defineProperty(Document.prototype, "cookie", { get, set(text) {
  if (/=[0-9a-f]{32};/.test(text)) window.written.push(text);
  else set.call(this, text);
} });
"""


class FirstPartyVisitor:
    """A visitor of a shop that serves the script from its own host."""

    def __init__(self, visitor, port) -> None:
        self.visitor, self.page = visitor, visitor.page
        self.slug = visitor.scenario.account.slug
        visitor.script = "/tap.js"
        visitor.build_url = lambda path, host: f"http://{host}:{port}{path}"
        visitor.context.set_extra_http_headers({"X-Test-Address": VISITOR_IP})
        visitor.context.add_init_script(WATCH_COOKIES)

    def open(self, path, options="", script='tap("detect");', **more):
        """Open a page, and wait for its click."""
        create = f'tap("create", "{self.slug}"{options});'
        response = self.visitor.open_and_wait("click", path, script, create=create, **more)
        self.page.wait_for_function("() => tap.loaded")
        return response.json()["vid"]

    def visit(self, options="", **more):
        """Visit through Mina's link; return the tracking ID."""
        return self.open(f"/?ref={self.visitor.scenario.mina.code}", options, **more)

    @property
    def cookie(self):
        return self.visitor.cookies.get("tap_vid")

    @property
    def written(self):
        """The visitors that the script has written as a cookie on this page."""
        return self.page.evaluate("() => window.written")


@pytest.fixture
def shopper(visitor, scenario, server, tmp_path):
    _, key = create_api_key(scenario.account, name="shop", role="proxy", at=timezone.now())
    shop = f"http://127.0.0.1:{visitor.shop_server.server_address[1]}"
    service = f"http://127.0.0.1:{server.port}"
    with run_first_party("nginx.conf", tmp_path, service=service, shop=shop, key=key) as port:
        yield FirstPartyVisitor(visitor, port)
    assert visitor.errors == []
    assert scenario.account.failed_page_calls.count() == 0


def test_the_server_sets_the_cookie_and_the_visitor_counts(shopper, scenario, api):
    vid = shopper.visit()
    shopper.page.wait_for_function("() => tap.vid")

    assert (shopper.cookie["value"], shopper.written) == (vid, [])
    assert (shopper.cookie["domain"], shopper.cookie["httpOnly"]) == (
        "shop.localhost",
        False,
    )
    assert shopper.cookie["sameSite"] == "Lax"
    lifetime = shopper.cookie["expires"] - timezone.now().timestamp()
    assert 364 * DAY < lifetime < 366 * DAY
    assert scenario.account.clicks.get().ip == VISITOR_IP

    shopper.visitor.open_and_wait("conversion", "/thanks", 'tap("conversion", "order-1", 49.90);')
    (sale,) = api("/conversions/")
    assert sale["affiliate"]["id"] == scenario.mina.affiliate.slug


def test_subdomains_share_the_cookie(shopper):
    options = ', { cookie_domain: "shop.localhost" }'
    vid = shopper.visit(options, host="www.shop.localhost")
    assert (shopper.cookie["domain"], shopper.cookie["value"]) == (
        ".shop.localhost",
        vid,
    )


def test_without_consent_or_cookies_there_is_none(shopper):
    shopper.visit(", { cookie: false }")
    assert shopper.cookie is None

    # Refused while the visit is under way, whose answer sets the cookie.
    refuse = 'tap("detect"); tap("consent", false);'
    shopper.visit(", { consent: true }", script=refuse)
    shopper.page.wait_for_load_state("networkidle")
    assert shopper.cookie is None


def test_consent_on_later_pages_leaves_the_cookie_to_the_server(shopper):
    vid = shopper.visit(", { consent: true }")
    shopper.page.wait_for_function("() => tap.vid")
    shopper.visitor.open("/lamps", create=f'tap("create", "{shopper.slug}", {{ consent: true }});')
    shopper.page.wait_for_function("vid => tap.vid === vid", arg=vid)
    assert (shopper.cookie["value"], shopper.written) == (vid, [])
