"""The proxies that shops copy from `integrations/first-party`, as they are shipped."""

import json
from http.client import HTTPConnection

import pytest

from tests.deploy.test_proxies import run_upstream
from tests.first_party_proxies import run_first_party, run_worker

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

KEY = "aff_live_key"
# What the visitor's browser sends, or somebody who would like to be another visitor.
SENT = {
    "Content-Type": "text/plain",
    "Origin": "https://shop.example",
    "User-Agent": "Mozilla/5.0",
    "Cookie": "session=of-the-shop",
    "Authorization": "Basic of-the-shop",
    "X-Affiliate-Proxy": "guessed",
    "X-Visitor-Address": "198.51.100.1",
}
ADDRESS_HEADERS = {
    "cloudflare-worker.js": "CF-Connecting-IP",
    "vercel-middleware.js": "X-Real-IP",
}


def call_proxy(name, directory, path, method, body):
    """The call as the service receives it through the proxy."""
    with run_upstream() as upstream:
        service = f"http://127.0.0.1:{upstream.server_address[1]}"
        if name in ADDRESS_HEADERS:
            headers = SENT | {ADDRESS_HEADERS[name]: "203.0.113.9"}
            call = {"path": path, "method": method, "body": body, "headers": headers}
            status, text = run_worker(name, directory, service=service, key=KEY, **call)
        else:
            with run_first_party(name, directory, service=service, shop=service, key=KEY) as port:
                connection = HTTPConnection("127.0.0.1", port, timeout=30)
                connection.request(method, path, body, SENT)
                response = connection.getresponse()
                status, text = response.status, response.read()
                connection.close()
    received = json.loads(text)
    assert status == 200
    names = {name.lower(): value for name, value in received["headers"].items()}
    return received["path"], names


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("nginx.conf", "127.0.0.1"),
        ("Caddyfile", "127.0.0.1"),
        ("cloudflare-worker.js", "203.0.113.9"),
        ("vercel-middleware.js", "203.0.113.9"),
    ],
)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "/track/click/", '{"account": "harbor"}'), ("GET", "/tap.js", None)],
)
def test_passes_calls_on_with_proof(name, address, method, path, body, tmp_path):
    received, headers = call_proxy(name, tmp_path, path, method, body)

    assert received == path
    assert headers["x-affiliate-proxy"] == KEY
    assert headers["x-visitor-address"] == address
    assert headers["host"].startswith("127.0.0.1:")
    assert headers["origin"] == "https://shop.example"
    assert headers["user-agent"] == "Mozilla/5.0"
    assert headers.get("content-length") == (str(len(body)) if body else None)
    assert not {"cookie", "authorization", "transfer-encoding"} & set(headers)


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_leaves_other_pages_to_the_shop(name, tmp_path):
    _, headers = call_proxy(name, tmp_path, "/trackers/tap.js", "GET", None)

    assert headers["cookie"] == SENT["Cookie"]
    assert headers["x-affiliate-proxy"] == "guessed"
