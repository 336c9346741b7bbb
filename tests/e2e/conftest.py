"""A real browser, a shop of another origin, and the service behind gunicorn.

Real commits: each test makes an account of its own and leaves it behind.
"""

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from playwright.sync_api import sync_playwright

from tests.concurrency.server import key_of, serving
from tests.e2e.browser import CHROMIUM, FLAGS
from tests.factories.accounts import AccountFactory
from tests.proof import books_agree
from tests.shop import Shop

# The driver runs a loop in this thread, where Django would refuse to ask its database.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

STUB = """
(function (w, n) {
  w.TapfiliateObject = n;
  w[n] = w[n] || function () { (w[n].q = w[n].q || []).push(arguments); };
})(window, "tap");
"""


@pytest.fixture(scope="session")
def chromium():
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(django_db_setup, django_db_blocker):
    """gunicorn on the test database."""
    with django_db_blocker.unblock(), serving() as started:
        yield started


class Pages(ThreadingHTTPServer):
    """The shop's web server: pages by path, each a script and perhaps a header."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, tuple[str, dict[str, str]]] = {}


class Handler(BaseHTTPRequestHandler):
    """Answers with a page; a favicon is none."""

    def do_GET(self):
        html, headers = self.server.pages.get(urlsplit(self.path).path, ("", {}))
        self.send_response(200 if html else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(html.encode())

    def log_message(self, *told):
        """In silence."""


class Visitor:
    """Somebody who browses the shop."""

    def __init__(self, context, pages, shop, server) -> None:
        self.context, self.pages, self.shop = context, pages, shop
        self.script = f"http://127.0.0.1:{server.port}/tap.js"
        self.faults: list[str] = []
        self.asked: list[str] = []  # the calls that were sent
        self.page = context.new_page()
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", self.note)

    def note(self, request) -> None:
        parts = urlsplit(request.url)
        if parts.path.startswith("/track/") and request.method == "POST":
            self.asked.append(parts.path)

    def address(self, path, host="shop.localhost") -> str:
        return f"http://{host}:{self.pages.server_address[1]}{path}"

    def open(self, path, script="", *, create="", headers=None, host="shop.localhost"):
        """Open a page that runs this script; `tap` is set up and looks for a link."""
        created = create or f'tap("create", "{self.shop.account.slug}");'
        html = f"""<!doctype html><html lang="en"><title>Lamps</title>
<script src="{self.script}" async nonce="lamp"></script>
<script nonce="lamp">{STUB}{created}{script}</script><p id="lamp">A lamp</p>"""
        self.pages.pages[urlsplit(path).path] = (html, headers or {})
        self.page.goto(self.address(path, host))
        assert self.page.inner_text("#lamp") == "A lamp"

    def until(self, call, path, script="", **how):
        """Open a page and wait until its call is answered; the answer."""
        with self.page.expect_response(f"**/track/{call}/") as answered:
            self.open(path, script, **how)
        return answered.value

    def visit(self, code=None, **how):
        """Come by a referral link."""
        code = code or self.shop.mina.code
        answer = self.until("click", f"/?ref={code}", 'tap("detect");', **how)
        vid = answer.json()["vid"]
        self.page.wait_for_function("vid => tap.vid === vid", arg=vid)
        return vid

    @property
    def cookies(self):
        return {it["name"]: it for it in self.context.cookies()}


@pytest.fixture
def pages():
    served = Pages()
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()
    thread.join()


@pytest.fixture
def shop(committed):
    """A program of an account that nobody has seen before."""
    shop = Shop(AccountFactory(slug=f"e2e-{uuid4().hex[:12]}", plan__name="enterprise"))
    shop.odette = shop.join("Odette", "Varga")
    yield shop
    books_agree(shop.account)


@pytest.fixture
def visitor(chromium, pages, shop, server):
    context = chromium.new_context()
    yield Visitor(context, pages, shop, server)
    context.close()


@pytest.fixture
def api(server, shop):
    """Reads what the API tells: `api("/clicks/")`."""
    client = server.client(key_of(shop.account))

    def ask(path):
        status, content = client.ask("GET", path)
        assert status == 200
        return content

    return ask
