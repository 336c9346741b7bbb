"""Request-level answers, given before or beside an endpoint: `message, code, traceId`.

JSON, or a page in the two cases that the spec names: no key, and an unknown path,
when the caller did not ask for JSON.
"""

import re
import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpResponse
from django.shortcuts import render

from accounts.exact_json import exact_json
from tracking.services.looking import LookAgain

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


def body_of(request, status: int) -> dict:
    """Shape 2; a 401 has no trace id."""
    body = {"message": MESSAGES[status], "code": status}
    if status != 401:
        body["traceId"] = request.trace_id
    return body


def refuse(request, status: int):
    """A request-level answer in JSON."""
    return HttpResponse(
        exact_json(body_of(request, status)),
        status=status,
        content_type="application/json",
    )


def wants_json(request) -> bool:
    """Does `Accept` name a JSON type? `*/*` does not name one."""
    accepted = request.headers.get("Accept", "").split(",")
    return any(JSON_TYPE.match(part.strip()) for part in accepted)


def page(request, status: int):
    """The same answer for a person's browser."""
    return render(
        request, f"errors/{status}.html", body_of(request, status), status=status
    )


def bad_request(request, exception=None):
    """handler400: Django refused the request as suspicious."""
    return refuse(request, 400)


def not_found(request, exception=None):
    """handler404: no such path."""
    if wants_json(request):
        return refuse(request, 404)
    return page(request, 404)


def failed(request):
    """handler500: our fault, or the database is away."""
    failure = sys.exception() or getattr(request, "failure", None)
    request.failure = failure
    return refuse(request, status_of(failure))


def status_of(failure: BaseException | None) -> int:
    """503 while the database is away, a lock was not got, or what a story looked at
    would not stand still; else 500."""
    busy = OperationalError | InterfaceError | LookAgain
    return 503 if isinstance(failure, busy) else 500


def only(*methods: str):
    """Let a plain view answer these methods alone."""

    def wrap(view):
        def answer(request, *args, **kwargs):
            if request.method not in methods:
                response = refuse(request, 405)
                response["Allow"] = ", ".join(methods)
                return response
            return view(request, *args, **kwargs)

        return answer

    return wrap
