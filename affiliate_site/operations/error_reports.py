"""Reports of errors to Sentry: of requests, commands and the webhook worker.

Off without `SENTRY_DSN`. A report has the types of the exceptions, the lines of the
code, and the route, method and trace id of the request, or the command. Messages of
exceptions can quote the input: they are in the log record with the same trace id, or
on the standard error of the command.
"""

import os
from functools import cache
from typing import Any

import sentry_sdk
from django.conf import settings

from affiliate_site.operations.logs import get_route
from payouts.errors import StatisticsNotReady
from tracking.services.concurrency import is_worth_a_retry

FLUSH_SECONDS = 2
EVENT_FIELDS = (
    *("event_id", "timestamp", "level", "platform", "release", "environment"),
    *("tags", "sdk"),
)
EXCEPTION_FIELDS = ("type", "module")
FRAME_FIELDS = (
    *("filename", "function", "module", "lineno", "in_app"),
    *("pre_context", "context_line", "post_context"),
)


class ErrorReportMiddleware:
    """Reports the exception of an answer with status 500, or with 503 if a later
    attempt would fail as well."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        response = self.get_response(request)
        failure = getattr(request, "failure", None)
        if response.status_code >= 500 and failure and not is_passing(failure):
            report(failure, request)
        return response


def is_passing(failure: BaseException) -> bool:
    """Whether the same request can succeed later although nobody repairs anything."""
    return isinstance(failure, StatisticsNotReady) or is_worth_a_retry(failure)


def report(failure: BaseException, request) -> None:
    """Send a report in the background."""
    start(os.getpid())
    with sentry_sdk.new_scope() as scope:
        scope.set_tag("route", get_route(request) or "unknown")
        scope.set_tag("method", request.method if request.method.isascii() else "?")
        scope.set_tag("traceId", request.trace_id)
        sentry_sdk.capture_exception(failure)


def report_command_failure(failure: BaseException, command: str) -> None:
    """Send a report of a command, which ends; wait at most `FLUSH_SECONDS`."""
    start(os.getpid())
    with sentry_sdk.new_scope() as scope:
        scope.set_tag("command", command)
        sentry_sdk.capture_exception(failure)
    sentry_sdk.flush(FLUSH_SECONDS)


@cache
def start(process_id: int) -> None:
    """Start Sentry's client in this process, once: gunicorn forks after loading."""
    sentry_sdk.init(
        dsn=settings.SENTRY_DSN,
        default_integrations=False,  # they add data of requests, logs and the process
        auto_enabling_integrations=False,
        auto_session_tracking=False,
        send_client_reports=False,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        before_send=select_fields,
    )


def select_fields(event: Any, _hint: Any) -> Any:
    """Return the event with the allowed fields only."""
    exceptions = event.get("exception", {}).get("values", [])
    return select(event, EVENT_FIELDS) | {
        "exception": {"values": [select_of_exception(each) for each in exceptions]}
    }


def select_of_exception(exception: dict[str, Any]) -> dict[str, Any]:
    """Return type and stack without the message and without variables."""
    frames = (exception.get("stacktrace") or {}).get("frames", [])
    return select(exception, EXCEPTION_FIELDS) | {
        "stacktrace": {"frames": [select(frame, FRAME_FIELDS) for frame in frames]}
    }


def select(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the items with these names."""
    return {name: values[name] for name in names if name in values}
