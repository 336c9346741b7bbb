"""nginx and Caddy with the shipped configuration, in front of a server that repeats
what it receives."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.command_line import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

DEPLOY = ROOT / "deploy"
API_PATHS = ("/1.6/conversions/", "/1.7/pb/con/c/", "/track/clicks/")
START_SECONDS = 120


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


class Proxy:
    """A running proxy and the server behind it."""

    def __init__(self, name: str, http_port: int, https_port: int) -> None:
        self.name = name
        self.http_port = http_port
        self.https_port = https_port

    def request(self, method, path, body=None, *, secure=True, **headers):
        """Return status, headers and body."""
        context = trust_any_certificate()
        connection = (
            HTTPSConnection("localhost", self.https_port, timeout=30, context=context)
            if secure
            else HTTPConnection("localhost", self.http_port, timeout=30)
        )
        try:
            connection.request(method, path, body, {"Host": "localhost"} | headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()


def trust_any_certificate() -> ssl.SSLContext:
    """Return a context for the certificates that are made for the test."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def build_nginx(directory, proxy, upstream: str) -> list[str]:
    """Write the shipped configuration with the ports and paths of the test."""
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost"
    command += " -keyout privkey.pem -out fullchain.pem"
    subprocess.run(  # noqa: S603 - our own command
        command.split(), cwd=directory, check=True, capture_output=True
    )
    text = (DEPLOY / "nginx.conf").read_text()
    for pattern, replacement in (
        (r"\n *listen \[::\].*", ""),
        (r"listen 80;", f"listen 127.0.0.1:{proxy.http_port};"),
        (r"listen 443 ", f"listen 127.0.0.1:{proxy.https_port} "),
        (r"server_name aff\.example\.net", "server_name localhost"),
        (r"/etc/letsencrypt/live/aff\.example\.net", str(directory)),
        (r"unix:/run/affiliate-site/web\.sock", upstream),
        (r"/var/log/nginx", str(directory)),
        (r"/opt/affiliate-site", str(directory)),
    ):
        text, count = re.subn(pattern, replacement, text)
        assert count, pattern
    temporary = "".join(
        f"{name}_temp_path {directory}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = directory / "nginx.conf"
    # Its workers would change to another user, who may not read the directory.
    user = "user root;" if os.geteuid() == 0 else ""
    main.write_text(
        f"{user} worker_processes 1; daemon off; pid {directory}/pid;\n"
        f"error_log {directory}/error.log;\nevents {{}}\n"
        f"http {{ types {{ text/css css; }}\n{temporary}\n{text} }}\n"
    )
    return ["nginx", "-c", str(main), "-e", f"{directory}/error.log"]


def build_caddy(directory, proxy, upstream: str) -> list[str]:
    """Write the shipped configuration with the ports of the test."""
    text = (DEPLOY / "Caddyfile").read_text()
    options = (
        "{\n\tadmin off\n\tskip_install_trust\n\tlocal_certs\n"
        f"\tstorage file_system {directory}/data\n"
        f"\thttp_port {proxy.http_port}\n\thttps_port {proxy.https_port}\n\tservers {{"
    )
    text, count = re.subn(r"(?m)^\{\n\tservers \{", options, text, count=1)
    assert count
    text = text.replace("{$UPSTREAM:unix//run/affiliate-site/web.sock}", upstream)
    path = directory / "Caddyfile"
    path.write_text(text)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)]


BUILDERS = {"nginx": build_nginx, "caddy": build_caddy}


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


def wait_until_ready(proxy, process) -> None:
    """Ask until the proxy answers: Caddy makes its certificate after it listens."""
    for _ in range(START_SECONDS * 20):
        assert process.poll() is None, "the proxy has ended"
        with suppress(OSError):
            proxy.request("GET", "/")
            return
        threading.Event().wait(0.05)
    raise AssertionError("the proxy does not answer")


@pytest.fixture(scope="module", params=BUILDERS)
def proxy(request, tmp_path_factory):
    """nginx or Caddy; the attribute `upstream` is the server behind it."""
    name = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    directory = tmp_path_factory.mktemp(name)
    (directory / "staticfiles").mkdir()
    (directory / "staticfiles" / "a.css").write_text("a {}")
    proxy = Proxy(name, find_free_port(), find_free_port())
    with run_upstream() as upstream:
        proxy.upstream = upstream
        address = f"127.0.0.1:{upstream.server_address[1]}"
        command = BUILDERS[name](directory, proxy, address)
        with subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=directory,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(directory)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                wait_until_ready(proxy, process)
                yield proxy
            finally:
                process.terminate()


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


def test_refuses_large_bodies_in_the_shape_of_the_api(proxy):
    status, headers, body = proxy.request("POST", API_PATHS[0], b"x" * (3 << 20))

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
