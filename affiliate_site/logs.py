"""Logs: one JSON line a request, with its trace id, and nothing personal.

No key, body, query, address or user agent is ever written: a path holds ids, so the
line names the route's pattern.
"""

import logging
import re
import time

import structlog
from django.db import connection

from accounts.actor import acting

request_log = structlog.get_logger("affiliate_site.request")

TRACE_PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
STAMPS: list = [
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def configure(*, level: str, console: bool) -> None:
    """Send structlog's and the libraries' records the same way, to standard error."""
    last = (
        structlog.dev.ConsoleRenderer()
        if console
        else structlog.processors.JSONRenderer()
    )
    dress = [] if console else [structlog.processors.format_exc_info]
    structlog.configure(
        processors=[*STAMPS, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=STAMPS,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *dress,
                last,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    # Their records repeat what the request's own line says, with the path and its ids.
    for name in ("django.request", "django.security", "django.server"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class StatementCount:
    """Counts the SQL statements of one request."""

    def __init__(self):
        self.n = 0

    def __call__(self, execute, sql, params, many, context):
        self.n += 1
        return execute(sql, params, many, context)


class RequestLog:
    """Writes the line of a request, its failure included."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        began = time.perf_counter()
        count = StatementCount()
        with (
            acting("unknown", request.trace_id),
            connection.execute_wrapper(count),
        ):
            response = self.get_response(request)
        failure = getattr(request, "failure", None)
        write = request_log.error if response.status_code >= 500 else request_log.info
        write(
            "request",
            traceId=request.trace_id,
            method=request.method if request.method.isascii() else "?",
            route=route_of(request),
            status=response.status_code,
            ms=round((time.perf_counter() - began) * 1000, 1),
            queries=count.n,
            bytes=0 if response.streaming else len(response.content),
            exc_info=failure,
            **who_asked(request),
            **called_by(request),
        )
        return response

    def process_exception(self, request, exception):
        request.failure = exception


def called_by(request) -> dict[str, str]:
    """The caller's own trace, kept beside ours and never trusted."""
    parent = request.headers.get("traceparent", "")
    return {"traceparent": parent} if TRACE_PARENT.fullmatch(parent) else {}


def route_of(request) -> str | None:
    """The pattern of the route, never the path itself."""
    match = request.resolver_match
    return match.route if match else None


def who_asked(request) -> dict[str, str]:
    """Account and key prefix, once a key was recognised."""
    key = getattr(request, "api_key", None)
    if key is None:
        return {}
    return {"account": key.account.slug, "key": key.prefix}
