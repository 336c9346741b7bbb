"""Logging: one JSON line per request, with its trace id, without personal data.

Keys, bodies, queries, IP addresses and user agents are never logged. Paths contain
ids, so the line has the URL pattern instead.
"""

import logging
import re
import sys
import time
import traceback

import structlog
from django.db import DatabaseError, connection

from accounts.actor import ActorKind, build_actor, use_actor

request_log = structlog.get_logger("affiliate_site.request")

TRACE_PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
SHARED_PROCESSORS: list = [
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def create_formatter(*, console: bool) -> logging.Formatter:
    """Return the formatter of all records: JSON lines, or text for a terminal."""
    renderer = structlog.dev.ConsoleRenderer() if console else structlog.processors.JSONRenderer()
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED_PROCESSORS,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            format_exception,
            renderer,
        ],
    )


def format_exception(logger, method, record):
    """Add the traceback as text, without personal values.

    Values of variables, which a console renderer would show, are left out, and so are
    the values of a refused row, which PostgreSQL adds to its message as DETAIL.
    """
    error = record.get("exc_info")
    if error is True:
        error = sys.exception()
    elif isinstance(error, tuple):
        error = error[1]
    record = structlog.processors.format_exc_info(logger, method, record)
    while isinstance(error, BaseException):
        if isinstance(error, DatabaseError):
            message = str(error)
            record["exception"] = record["exception"].replace(
                message, message.partition("\nDETAIL:")[0]
            )
        error = error.__cause__ or error.__context__
    return record


def configure_logging(*, level: str, console: bool) -> None:
    """Render records of structlog and of libraries the same way, on standard error."""
    structlog.configure(
        processors=[
            *SHARED_PROCESSORS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(create_formatter(console=console))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    # These loggers would log a request again, with its path and the ids in it.
    for name in ("django.request", "django.security", "django.server"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    # Clients log each address, with the ids in it, and the PDF library each step.
    for name in ("httpx", "httpcore", "weasyprint", "fontTools"):
        logging.getLogger(name).setLevel(logging.WARNING)


class QueryCounter:
    """Counts the SQL statements of one request."""

    def __init__(self):
        self.count = 0

    def __call__(self, execute, sql, params, many, context):
        self.count += 1
        return execute(sql, params, many, context)


class RequestLogMiddleware:
    """Logs one line per request; of a server error with the traceback.

    The exception of a refused request can quote its input.
    """

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        started = time.perf_counter()
        query_counter = QueryCounter()
        with (
            use_actor(build_actor(ActorKind.UNKNOWN), request.trace_id),
            connection.execute_wrapper(query_counter),
        ):
            response = self.get_response(request)
        request.query_count = query_counter.count
        is_server_error = response.status_code >= 500
        log = request_log.error if is_server_error else request_log.info
        log(
            "request",
            traceId=request.trace_id,
            method=request.method if request.method.isascii() else "?",
            route=get_route(request),
            status=response.status_code,
            ms=round((time.perf_counter() - started) * 1000, 1),
            queries=request.query_count,
            bytes=0 if response.streaming else len(response.content),
            exc_info=getattr(request, "failure", None) if is_server_error else None,
            **get_caller(request),
            **getattr(request, "failed_page_call", {}),
            **get_trace_parent(request),
        )
        return response

    def process_exception(self, request, exception):
        request.failure = exception


def log_refused_filter(request, error: Exception) -> None:
    """Log type and place of an error in a filter of a list, without its message, which
    can quote the value."""
    request_log.warning(
        "filter_refused",
        traceId=request.trace_id,
        error=type(error).__name__,
        traceback="".join(traceback.format_tb(error.__traceback__)),
    )


def get_trace_parent(request) -> dict[str, str]:
    """Return the caller's `traceparent`, which is logged and not trusted."""
    parent = request.META.get("HTTP_TRACEPARENT", "")
    return {"traceparent": parent} if TRACE_PARENT.fullmatch(parent) else {}


def get_route(request) -> str | None:
    """Return the URL pattern, never the path."""
    match = request.resolver_match
    return match.route if match else None


def get_caller(request) -> dict[str, str]:
    key = getattr(request, "api_key", None)
    if key is None:
        return {}
    return {"account": key.account.slug, "key": key.prefix}
