"""Request-level error responses: `message`, `code`, `traceId`.

The body is JSON. The API 1.6 specification names two exceptions, which are HTML pages
unless `Accept` names JSON: a missing key and an unknown path
(docs/api-contract.md, section 1.7).
"""

import re
import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpResponse
from django.shortcuts import render

from accounts.exact_json import serialize_exact_json
from tracking.services.concurrency import ConcurrentUpdate

JSON_TYPE = re.compile(r"(?ia)application/(json|[\w.!#$&^-]+\+json)\s*(;|$)")

MESSAGES = {
    400: "Bad Request",
    401: "Authentication Failed.",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Request Entity Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


def build_error_body(request, status: int) -> dict:
    """Build the second error shape; a 401 has no trace id."""
    body = {"message": MESSAGES[status], "code": status}
    if status != 401:
        body["traceId"] = request.trace_id
    return body


def error_response(request, status: int):
    """Return a request-level error as JSON."""
    return HttpResponse(
        serialize_exact_json(build_error_body(request, status)),
        status=status,
        content_type="application/json",
    )


def wants_json(request) -> bool:
    """Return whether `Accept` names a JSON type; `*/*` does not."""
    accepted = request.headers.get("Accept", "").split(",")
    return any(JSON_TYPE.match(part.strip()) for part in accepted)


def render_error_page(request, status: int):
    """Return the same error as an HTML page."""
    return render(
        request,
        f"errors/{status}.html",
        build_error_body(request, status),
        status=status,
    )


def bad_request(request, exception=None):
    """handler400: Django rejected a suspicious request."""
    return error_response(request, 400)


def not_found(request, exception=None):
    """handler404: unknown path."""
    if wants_json(request):
        return error_response(request, 404)
    return render_error_page(request, 404)


def server_error(request):
    """handler500: an unexpected exception, or the database is unavailable."""
    failure = sys.exception() or getattr(request, "failure", None)
    request.failure = failure
    return error_response(request, get_status_code(failure))


def get_status_code(exception: BaseException | None) -> int:
    """Return 503 for an unavailable database, a lock timeout and repeated concurrent
    updates, else 500."""
    temporary = OperationalError | InterfaceError | ConcurrentUpdate
    return 503 if isinstance(exception, temporary) else 500


def allow_methods(*methods: str):
    """Decorate a plain view: other methods get 405."""

    def wrap(view):
        def wrapped(request, *args, **kwargs):
            if request.method not in methods:
                response = error_response(request, 405)
                response["Allow"] = ", ".join(methods)
                return response
            return view(request, *args, **kwargs)

        return wrapped

    return wrap
