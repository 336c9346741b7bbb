"""Requests as a WSGI server hands them over, and answers as it would send them.

Django's test client drops the body of a HEAD and sends no `Transfer-Encoding`.
"""

import io
from contextlib import contextmanager
from dataclasses import dataclass

from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from affiliate_site import wsgi


@dataclass(frozen=True)
class Answer:
    """Status, headers and body, byte for byte."""

    status: int
    headers: dict[str, str]
    content: bytes


def send(method, path, *, query="", body=b"", application=None, **environ) -> Answer:
    """One request; further words are entries of the WSGI environ."""
    began = {}

    def start_response(status, headers):
        began["status"], began["headers"] = int(status.split()[0]), dict(headers)

    with connections_kept():
        answer = (application or wsgi.application)(
            environ_of(method, path, query=query, body=body) | environ, start_response
        )
        try:
            content = b"".join(answer)
        finally:
            getattr(answer, "close", lambda: None)()
    return Answer(began["status"], began["headers"], content)


def environ_of(method, path, *, query="", body=b""):
    """What a server says of a request with a length."""
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
def connections_kept():
    """A request ends with closing old connections, and a test's would be one."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)
