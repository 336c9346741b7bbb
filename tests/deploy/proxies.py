"""nginx and Caddy with the shipped configuration."""

import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPSConnection

import pytest

from tests.command_line import ROOT

DEPLOY = ROOT / "deploy"
START_SECONDS = 120


class Proxy:
    """A running proxy and the server behind it."""

    def __init__(self, name: str, directory, http_port: int, https_port: int) -> None:
        self.name = name
        self.directory = directory  # of its configuration and logs
        self.http_port = http_port
        self.https_port = https_port

    def connect(self, *, secure=True):
        """Return a connection that opens with its first request."""
        if not secure:
            return HTTPConnection("localhost", self.http_port, timeout=30)
        context = trust_any_certificate()
        return HTTPSConnection("localhost", self.https_port, timeout=30, context=context)

    def request(self, method, path, body=None, *, secure=True, **headers):
        """Return status, headers and body."""
        connection = self.connect(secure=secure)
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


def get_caddy_version() -> tuple[int, ...]:
    """Return major and minor version of the installed Caddy."""
    done = subprocess.run(  # noqa: S603 - our own command
        [shutil.which("caddy"), "version"], capture_output=True, text=True, check=True
    )
    return tuple(map(int, re.findall(r"\d+", done.stdout)[:2]))


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
    if get_caddy_version() < (2, 7):
        guide = (ROOT / "docs/operations.md").read_text()
        for_debian = re.search(r"`(sed -i '\S+ .+?') /etc/caddy/Caddyfile`", guide)[1]
        subprocess.run([*shlex.split(for_debian), path], check=True)  # noqa: S603
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)]


BUILDERS = {"nginx": build_nginx, "caddy": build_caddy}


def wait_until_ready(proxy, process) -> None:
    """Ask until the proxy answers: Caddy makes its certificate after it listens."""
    for _ in range(START_SECONDS * 20):
        assert process.poll() is None, "the proxy has ended"
        with suppress(OSError):
            proxy.request("GET", "/")
            return
        threading.Event().wait(0.05)
    raise AssertionError("the proxy does not answer")


@contextmanager
def run_proxy(name: str, directory, upstream: str):
    """Run nginx or Caddy in front of the server at this address."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    (directory / "staticfiles").mkdir()
    (directory / "staticfiles" / "a.css").write_text("a {}")
    proxy = Proxy(name, directory, find_free_port(), find_free_port())
    program, *arguments = BUILDERS[name](directory, proxy, upstream)
    with subprocess.Popen(  # noqa: S603 - our own command
        [shutil.which(program), *arguments],
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
