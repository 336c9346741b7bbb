"""WSGI requests without Django's test client.

The test client drops the body of a HEAD response and sends no `Transfer-Encoding`.
"""

import io
from contextlib import contextmanager
from dataclasses import dataclass

from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from affiliate_site import wsgi


@dataclass(frozen=True)
class RawResponse:
    """Status, headers and body of a response, unchanged."""

    status: int
    headers: dict[str, str]
    content: bytes


def send_request(method, path, *, query="", body=b"", application=None, **environ) -> RawResponse:
    """Send a request; other keyword arguments are entries of the WSGI environ."""
    started = {}

    def start_response(status, headers):
        started["status"], started["headers"] = int(status.split()[0]), dict(headers)

    with keep_connections_open():
        chunks = (application or wsgi.application)(
            build_environ(method, path, query=query, body=body) | environ,
            start_response,
        )
        try:
            content = b"".join(chunks)
        finally:
            getattr(chunks, "close", lambda: None)()
    return RawResponse(started["status"], started["headers"], content)


def build_environ(method, path, *, query="", body=b""):
    """Build the WSGI environ of a request with `Content-Length`."""
    return {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": "application/json",
        "REMOTE_ADDR": "192.0.2.1",
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }


@contextmanager
def keep_connections_open():
    """Keep the database connection of the test open at the end of a request."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)
