"""Chromium prerenders a page of the shop: without DevTools, which would prevent it."""

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from affiliate_site.browser.views import SCRIPT
from tests.e2e.browser import TIMEOUT_MS

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

CHROMIUM = Path("/usr/bin/chromium")  # the shell prerenders nothing
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run")
RULES = {"prerender": [{"source": "list", "urls": ["/b?ref=b"], "eagerness": "immediate"}]}
# The page of a shop that names another one, which it opens once that is prerendered.
FIRST = f"""<!doctype html><script type="speculationrules">{json.dumps(RULES)}</script>
<script>fetch("/wait").then(() => {{ location.href = "/b?ref=b"; }})</script>"""
SECOND = """<!doctype html><script src="/tap.js"></script><script>
tap("create", "demo"); tap("detect");
fetch("/called?" + document.prerendering);</script>"""


class Handler(BaseHTTPRequestHandler):
    """The shop and the service on one origin."""

    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path == "/called?true":
            self.server.is_prerendered.set()
        if self.path == "/wait":
            self.server.is_prerendered.wait(TIMEOUT_MS / 1000)
        pages = {"/": FIRST, "/b?ref=b": SECOND, "/tap.js": SCRIPT.decode()}
        self.answer(pages.get(self.path, ""))

    def do_POST(self):
        self.server.requests.append(self.path)
        self.answer('{"vid": "1a"}')
        self.server.is_done.set()

    def answer(self, text):
        self.send_response(200)
        kind = "text/javascript" if self.path == "/tap.js" else "text/html"
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args):
        """Log nothing."""


@pytest.mark.skipif(not CHROMIUM.exists(), reason="apt-get install chromium")
def test_a_prerendered_page_reports_its_visit_once_it_is_shown(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests, server.daemon_threads = [], True
        server.is_prerendered, server.is_done = threading.Event(), threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        profile = f"--user-data-dir={tmp_path}"
        browser = subprocess.Popen(  # noqa: S603
            [CHROMIUM, *FLAGS, profile, address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert server.is_done.wait(TIMEOUT_MS / 1000), server.requests
        finally:
            browser.terminate()
            browser.wait()
            server.shutdown()

    requests = [path for path in server.requests if path != "/favicon.ico"]
    assert server.is_prerendered.is_set()
    assert requests.index("/called?true") < requests.index("/track/click/")
    assert requests.count("/track/click/") == 1
