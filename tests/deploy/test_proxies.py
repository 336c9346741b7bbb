"""nginx and Caddy with the shipped configuration, in front of a server that repeats
what it receives."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.deploy.proxies import BUILDERS, run_proxy

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

API_PATHS = ("/1.6/conversions/", "/1.7/pb/con/c/", "/track/clicks/", "/in/cn_1/")


class RepeatingHandler(BaseHTTPRequestHandler):
    """Answers with the path and the headers of the request, as JSON."""

    def do_GET(self):
        body = json.dumps({"path": self.path, "headers": dict(self.headers)}).encode()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the name that the base class calls

    def log_message(self, *args):
        pass


@contextmanager
def run_upstream():
    """Run the server behind the proxy."""
    with ThreadingHTTPServer(("127.0.0.1", 0), RepeatingHandler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module", params=BUILDERS)
def proxy(request, tmp_path_factory):
    """nginx or Caddy, in front of the repeating server."""
    directory = tmp_path_factory.mktemp(request.param)
    with run_upstream() as upstream:
        address = f"127.0.0.1:{upstream.server_address[1]}"
        with run_proxy(request.param, directory, address) as proxy:
            yield proxy


def test_says_who_calls_and_how(proxy):
    status, _, body = proxy.request(
        "GET",
        "/1.6/programs/?page=2",
        **{"X-Forwarded-For": "198.51.100.9", "X-Forwarded-Proto": "http"},
        **{"X-Api-Key": "k"},
    )

    received = json.loads(body)
    headers = {name.lower(): value for name, value in received["headers"].items()}
    assert (status, received["path"]) == (200, "/1.6/programs/?page=2")
    assert headers["x-forwarded-for"] == "127.0.0.1"
    assert headers["x-forwarded-proto"] == "https"
    assert headers["host"] == "localhost"
    assert headers["x-api-key"] == "k"


def test_api_is_not_served_in_clear(proxy):
    for path in API_PATHS:
        status, headers, body = proxy.request("GET", path, secure=False)
        answer = json.loads(body)
        assert (status, answer["message"], answer["code"]) == (403, "Forbidden", 403)
        assert headers["Content-Type"] == "application/json"

    status, headers, _ = proxy.request("GET", "/admin/?a=b", secure=False)

    assert (status, headers["Location"].endswith("/admin/?a=b")) == (308, True)
    assert headers["Location"].startswith("https://")


@pytest.mark.parametrize("path", API_PATHS)
def test_refuses_large_bodies_in_the_shape_of_the_api(proxy, path):
    status, headers, body = proxy.request("POST", path, b"x" * (3 << 20))

    answer = json.loads(body)
    assert (status, headers["Content-Type"]) == (413, "application/json")
    assert set(answer) == {"message", "code", "traceId"}
    assert (answer["message"], answer["code"]) == ("Request Entity Too Large", 413)
    assert answer["traceId"]


def test_passes_bodies_that_the_service_judges_itself(proxy):
    assert proxy.request("POST", API_PATHS[0], b"x" * (3 << 19))[0] == 200


def test_metrics_stay_inside(proxy):
    assert proxy.request("GET", "/metrics")[0] == 404


def test_serves_static_files_of_nginx(proxy):
    if proxy.name != "nginx":
        pytest.skip("Caddy leaves them to the service")

    status, headers, body = proxy.request("GET", "/static/a.css")

    assert (status, headers["Content-Type"], body) == (200, "text/css", b"a {}")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "max-age=315360000" in headers["Cache-Control"]


def test_logs_neither_queries_nor_links_of_the_portal(proxy):
    if proxy.name != "nginx":
        pytest.skip("Caddy logs no requests")

    for path in ("password/secret/", "sign-in/secret/", "sales/?q=secret", "password/"):
        proxy.request("GET", f"/partners/harbor/{path}")
    proxy.request("GET", "/")  # the requests before it are logged now

    log = (proxy.directory / "affiliate-site.log").read_text()
    assert "secret" not in log
    paths = [line.split()[2] for line in log.splitlines() if "/partners/" in line]
    assert paths == [
        f"/partners/harbor/{page}/" for page in ("password", "sign-in", "sales", "password")
    ]


def test_absent_service_is_an_error_of_the_api(proxy, monkeypatch):
    """Behind the proxy, everything that arrives is cut off."""

    def cut_off(handler):
        handler.close_connection = True

    monkeypatch.setattr(RepeatingHandler, "handle_one_request", cut_off)
    for path in API_PATHS:
        status, headers, body = proxy.request("GET", path)
        answer = json.loads(body)
        assert (status, headers["Content-Type"]) == (503, "application/json")
        assert (answer["message"], answer["code"]) == ("Service Unavailable", 503)
        assert headers["Access-Control-Allow-Origin"] == "*"

    status, headers, body = proxy.request("GET", "/admin/")

    assert (status, headers["Content-Type"].partition(";")[0]) == (503, "text/html")
    assert b"Try again in a minute" in body
