"""Bodies that are chunked, large or late, to gunicorn alone and through the proxies."""

import json
import os
import ssl
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection
from pathlib import Path

import pytest
from django.db import connection

from tests.concurrency.conftest import is_test_database
from tests.concurrency.server import Server, run_server
from tests.deploy.proxies import BUILDERS, run_proxy

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

TINY_CHUNK, LAST_CHUNK = b"1\r\n \r\n", b"0\r\n\r\n"
TINY_CHUNKS = [TINY_CHUNK] * 80_000
HALF_SENT = 8  # gunicorn has 4 threads here
MAX_CPU_SECONDS = 0.1  # an answer takes 0.02, the chunks one by one 0.15 and more


@dataclass
class Service:
    """A running server, and how a client connects to it."""

    server: Server
    connect: Callable[[], HTTPConnection]
    is_behind_proxy: bool

    def get_cpu_seconds(self) -> float:
        return get_cpu_seconds(self.server.process.pid)


@pytest.fixture(scope="module")
def start(django_db_setup, django_db_blocker):
    """Start gunicorn with a number of trusted proxies; each is started once."""
    assert is_test_database(connection)
    with ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())

        @cache
        def start(proxies: int):
            running = run_server(workers=1, TRUSTED_PROXY_COUNT=str(proxies))
            server = stack.enter_context(running)
            server.wait_until_ready()
            return server

        yield start


@pytest.fixture(scope="module", params=["gunicorn", *BUILDERS])
def service(request, tmp_path_factory, start):
    """gunicorn alone, or behind the proxy of this name."""
    if request.param not in BUILDERS:
        server = start(proxies=0)
        address = ("127.0.0.1", server.port)
        yield Service(server, lambda: HTTPConnection(*address), is_behind_proxy=False)
        return
    server = start(proxies=1)
    directory = tmp_path_factory.mktemp(request.param)
    with run_proxy(request.param, directory, f"127.0.0.1:{server.port}") as proxy:
        yield Service(server, proxy.connect, is_behind_proxy=True)


def post_chunked(service, path, chunks) -> tuple[int, bytes]:
    """Send a chunked body; return status and body of the answer."""
    http = service.connect()
    try:
        http.putrequest("POST", path, skip_host=True)
        http.putheader("Host", "localhost")
        http.putheader("Content-Type", "application/json")
        http.putheader("Transfer-Encoding", "chunked")
        http.endheaders()
        with suppress(OSError):  # the answer came before
            for chunk in [*chunks, LAST_CHUNK]:
                http.send(chunk)
        response = http.getresponse()
        return response.status, response.read()
    finally:
        http.close()


def post_bytes(http, size: int, announced: int) -> None:
    """Send a request with the first bytes of its body."""
    http.putrequest("POST", "/track/click/", skip_host=True)
    http.putheader("Host", "localhost")
    http.putheader("Content-Length", str(announced))
    http.endheaders(b" " * size)


def is_without_answer(http) -> bool:
    """Return whether a connection is open and nothing was received on it."""
    http.sock.settimeout(0)
    try:
        http.sock.recv(1)
    except ssl.SSLWantReadError:
        return True
    return False


def get_cpu_seconds(process_id: int) -> float:
    """Return the CPU time of a process and its children."""
    text = Path(f"/proc/{process_id}/stat").read_text()
    fields = text.rpartition(")")[2].split()
    children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text()
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(get_cpu_seconds, map(int, children.split())))


def test_tiny_chunks_cost_little(service):
    """A body is read before any key or limit; nobody may hold a worker with one."""
    before = service.get_cpu_seconds()

    status, _ = post_chunked(service, "/track/click/", TINY_CHUNKS)

    assert status == (400 if service.is_behind_proxy else 411)
    assert service.get_cpu_seconds() - before < MAX_CPU_SECONDS


def test_chunked_body_needs_a_proxy(service):
    body = b'{"account": "nobody", "referral_code": "x"}'
    chunk = b"%x\r\n%s\r\n" % (len(body), body)

    status, answer = post_chunked(service, "/track/click/", [chunk])

    if service.is_behind_proxy:
        assert (status, list(json.loads(answer))) == (200, ["vid"])
    else:
        assert (status, json.loads(answer)["message"]) == (411, "Length Required")


def test_body_over_the_limit_gets_its_answer(service):
    """The proxies pass it on: the service must read it, or the answer is lost."""
    with closing(service.connect()) as http:
        post_bytes(http, 1_900_000, 1_900_000)
        response = http.getresponse()
        answer = json.loads(response.read())

    assert (response.status, answer["message"]) == (413, "Request Entity Too Large")


def test_half_sent_bodies_hold_no_thread_behind_a_proxy(service):
    if not service.is_behind_proxy:
        pytest.skip("slow clients are the matter of the proxy")
    with ExitStack() as stack:
        half_sent = [service.connect() for _ in range(HALF_SENT)]
        for http in half_sent:
            stack.callback(http.close)
            post_bytes(http, 50, 100)
        with closing(service.connect()) as http:
            post_bytes(http, 50, 50)
            status = http.getresponse().status
        # The proxy ends none of them before: that would free a thread.
        are_open = [is_without_answer(http) for http in half_sent]

    assert status == 400
    assert all(are_open)
