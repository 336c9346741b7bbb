"""Chromium, a shop on another origin, and the site behind gunicorn.

Tests commit: each creates an account and does not delete it.
"""

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from playwright.sync_api import sync_playwright

from accounts.models.api_keys import RateWindow
from tests.concurrency.server import make_key, run_server
from tests.e2e.browser import CHROMIUM_FLAGS, CHROMIUM_PATH, open_context
from tests.factories.accounts import AccountFactory
from tests.ledger_checks import assert_ledger_consistent
from tests.program_scenario import ProgramScenario

# Playwright runs an event loop in this thread, where Django forbids database access.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

TRACKING_SNIPPET = """
(function (w, n) {
  w.TapfiliateObject = n;
  w[n] = w[n] || function () { (w[n].q = w[n].q || []).push(arguments); };
})(window, "tap");
"""


@pytest.fixture(scope="session")
def chromium():
    if not CHROMIUM_PATH.exists():
        pytest.skip(f"there is no {CHROMIUM_PATH}: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM_PATH, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(django_db_setup, django_db_blocker):
    """gunicorn on the test database."""
    with django_db_blocker.unblock(), run_server() as server:
        server.wait_until_ready()
        yield server


class ShopServer(ThreadingHTTPServer):
    """The web server of the shop; `pages` maps paths to HTML and headers."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ShopHandler)
        self.pages: dict[str, tuple[str, dict[str, str]]] = {}


class ShopHandler(BaseHTTPRequestHandler):
    """Serves the pages; everything else is not found."""

    def do_GET(self):
        html, headers = self.server.pages.get(urlsplit(self.path).path, ("", {}))
        self.send_response(200 if html else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(html.encode())

    do_POST = do_GET  # noqa: N815 - the name that the base class calls

    def log_message(self, *args):
        """Log nothing."""


class Visitor:
    """A visitor of the shop."""

    def __init__(self, context, shop_server, scenario, server) -> None:
        self.context, self.shop_server = context, shop_server
        self.scenario = scenario
        self.script = f"http://127.0.0.1:{server.port}/tap.js"
        self.errors: list[str] = []
        self.tracking_calls: list[str] = []  # paths of the requests that were sent
        self.page = context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self.record_request)

    def record_request(self, request) -> None:
        parts = urlsplit(request.url)
        if parts.path.startswith("/track/") and request.method == "POST":
            self.tracking_calls.append(parts.path)

    def build_url(self, path, host="shop.localhost") -> str:
        return f"http://{host}:{self.shop_server.server_address[1]}{path}"

    def open(self, path, script="", *, create="", headers=None, host="shop.localhost"):
        """Open a page that runs this script after the browser script is set up."""
        self.serve(path, script, create=create, headers=headers)
        self.page.goto(self.build_url(path, host))
        assert self.page.inner_text("#lamp") == "A lamp"

    def serve(self, path, script="", *, create="", headers=None):
        """Let the shop have this page, on each of its hosts."""
        create_call = create or f'tap("create", "{self.scenario.account.slug}");'
        html = f"""<!doctype html><html lang="en"><title>Lamps</title>
<script src="{self.script}" async nonce="lamp"></script>
<script nonce="lamp">{TRACKING_SNIPPET}{create_call}{script}</script>
<p id="lamp">A lamp</p>"""
        self.shop_server.pages[urlsplit(path).path] = (html, headers or {})

    def open_and_wait(self, call, path, script="", **options):
        """Open a page and wait for the response to its call."""
        with self.page.expect_response(f"**/track/{call}/") as response_info:
            self.open(path, script, **options)
        return response_info.value

    def visit(self, code=None, **options):
        """Visit through a referral link; returns the tracking ID."""
        code = code or self.scenario.mina.code
        response = self.open_and_wait("click", f"/?ref={code}", 'tap("detect");', **options)
        vid = response.json()["vid"]
        self.page.wait_for_function("vid => tap.vid === vid", arg=vid)
        return vid

    @property
    def cookies(self):
        return {cookie["name"]: cookie for cookie in self.context.cookies()}


@pytest.fixture
def shop_server():
    server = ShopServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def scenario(committed_db):
    """A program of a new account."""
    RateWindow.objects.all().delete()  # the tests of a minute sign in from one address
    scenario = ProgramScenario(
        AccountFactory(slug=f"e2e-{uuid4().hex[:12]}", plan__name="enterprise")
    )
    scenario.odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    yield scenario
    assert_ledger_consistent(scenario.account)


@pytest.fixture
def visitor(chromium, shop_server, scenario, server):
    context = open_context(chromium)
    yield Visitor(context, shop_server, scenario, server)
    context.close()


@pytest.fixture
def api(server, scenario):
    """A function that reads from the API: `api("/clicks/")`."""
    client = server.connect(make_key(scenario.account))

    def get(path):
        status, content = client.request_json("GET", path)
        assert status == 200
        return content

    return get
