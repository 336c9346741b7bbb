"""Request-level error responses: `message`, `code`, `traceId`.

The body is JSON. The API 1.6 specification names two exceptions, which are HTML pages
unless `Accept` names JSON: a missing key and an unknown path
(docs/api-contract.md, section 1.7). Outside the API, browsers get a page for each
error; in the portal it is in their language.
"""

import re
import sys
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from accounts.encryption import WrongEncryptionKey
from accounts.exact_json import serialize_exact_json
from affiliate_site.portal_sessions import PORTAL_PREFIX, find_affiliate
from payouts.errors import StatisticsNotReady
from tracking.services.concurrency import is_unavailable

JSON_TYPE = re.compile(r"(?ia)application/(json|[\w.!#$&^-]+\+json)\s*(;|$)")

API_PREFIXES = ("/1.6/", "/1.7/pb/", "/track/")
# Of requests. Others are codecs of Python: compressions, slow ones, and some that fail.
CHARSETS = ("utf-8", "utf8", "us-ascii")

MESSAGES = {
    400: gettext_noop("Bad Request"),
    401: "Authentication Failed.",
    403: gettext_noop("Forbidden"),
    404: gettext_noop("Not Found"),
    405: gettext_noop("Method Not Allowed"),
    411: "Length Required",
    413: gettext_noop("Request Entity Too Large"),
    429: gettext_noop("Too Many Requests"),
    500: gettext_noop("Internal Server Error"),
    503: gettext_noop("Service Unavailable"),
}
# Texts of the error pages, by status.
EXPLANATIONS = {
    400: gettext_noop(
        "The address or the form holds a value that cannot be read. Go back, correct"
        " it and try again."
    ),
    403: "You may not do this. If you need to, ask an owner of your account for another role.",
    404: gettext_noop("There is nothing at this address. It may have been removed or mistyped."),
    405: gettext_noop("This address does not accept this kind of request."),
    411: "The request does not say how long it is. Send it with its length.",
    413: gettext_noop("The form is too large. Send less at once."),
    500: gettext_noop(
        "Something went wrong on our side. Try again; if it happens again, give"
        " support the trace ID."
    ),
    503: gettext_noop("The service is busy or its database is away. Try again in a minute."),
}
WRONG_ENCRYPTION_KEY = (
    "The service lacks the key of what is stored encrypted. Nothing is lost: tell your"
    " operator, to whom the command doctor says what to do."
)
STATISTICS_NOT_READY = gettext_noop(
    "The statistics of these days are still being counted. Try again in a few minutes."
)
# What is answered with 503, and the text of its page.
FAILURES: dict[Any, str] = {
    WrongEncryptionKey: WRONG_ENCRYPTION_KEY,
    StatisticsNotReady: STATISTICS_NOT_READY,
}
EXPIRED_FORM = gettext_noop(
    "The form is too old, or cookies are blocked. Open the page again and send the form once more."
)


def build_error_body(request, status: int) -> dict:
    """Build `message`, `code` and `traceId`; a 401 has no `traceId`."""
    body = {"message": MESSAGES[status], "code": status}
    if status != 401:
        body["traceId"] = request.trace_id
    return body


def error_response(request, status: int, explanation: str = ""):
    """Return a request-level error as JSON, or as a page outside the API."""
    if accepts_page(request):
        return render_error_page(request, status, explanation)
    return HttpResponse(
        serialize_exact_json(build_error_body(request, status)),
        status=status,
        content_type="application/json",
    )


def wants_json(request) -> bool:
    """Return whether `Accept` names a JSON type; `*/*` does not."""
    accepted = request.headers.get("Accept", "").split(",")
    return any(JSON_TYPE.match(part.strip()) for part in accepted)


def accepts_page(request) -> bool:
    """Return whether a browser asks for a page: never below the paths of the API."""
    return (
        not request.path_info.startswith(API_PREFIXES)
        and "text/html" in request.headers.get("Accept", "")
        and not wants_json(request)
    )


def render_error_page(request, status: int, explanation: str = ""):
    """Return a request-level error as an HTML page."""
    context = {
        **build_error_body(request, status),
        "explanation": explanation or EXPLANATIONS.get(status, ""),
        "is_back_office": request.path_info.startswith("/admin/"),
    }
    template = "errors/401.html" if status == 401 else "errors/error.html"
    if not request.path_info.startswith(PORTAL_PREFIX):
        return render(request, template, context, status=status)
    affiliate = find_signed_in(request, status)
    language = affiliate and affiliate.language
    language = language or translation.get_language_from_request(request)
    with translation.override(language):
        translated = {name: gettext(context[name]) for name in ("message", "explanation")}
        translated["portal_title"] = gettext("Overview")
    context |= {"is_portal": True, "language": language, **translated}
    known = getattr(request, "portal", None) or affiliate  # a page was found, or a session
    if known:
        kwargs = {"account": known.account.slug}
        context["portal_url"] = reverse("portal:home", kwargs=kwargs)
    return render(request, template, context, status=status)


def find_signed_in(request, status: int):
    """The affiliate who is signed in; after a failure the database is not asked."""
    affiliate = getattr(request, "affiliate", None)
    return find_affiliate(request) if affiliate is None and status < 500 else affiliate


def bad_request(request, exception=None):
    """handler400: a view or Django rejected the request."""
    explanation = f"{exception}." if isinstance(exception, BadRequest) else ""
    return error_response(request, 400, explanation)


def forbidden(request, exception=None):
    """handler403: the user may not do this."""
    return error_response(request, 403)


def csrf_failure(request, reason=""):
    """The view of a form without a valid token."""
    return error_response(request, 403, EXPIRED_FORM)


def not_found(request, exception=None):
    """handler404: unknown path."""
    if wants_json(request):
        return error_response(request, 404)
    return render_error_page(request, 404)


def server_error(request):
    """handler500: an unexpected exception, or the database is unavailable."""
    failure = sys.exception() or getattr(request, "failure", None)
    request.failure = failure
    explanation = FAILURES.get(type(failure), "")
    return error_response(request, get_status_code(failure), explanation)


def get_status_code(exception: BaseException | None) -> int:
    """Return 503 for an unavailable database, a lock timeout, repeated concurrent
    updates, and `FAILURES`, else 500."""
    return 503 if type(exception) in FAILURES or is_unavailable(exception) else 500


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
