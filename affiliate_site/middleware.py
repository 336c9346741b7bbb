"""What happens to every request before its path is looked up, in this order."""

import secrets

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.security import SecurityMiddleware
from whitenoise.middleware import WhiteNoiseMiddleware

from affiliate_site import door, health

API = ("/1.6/", "/1.7/pb/", "/track/")
MOST_PARAMETERS = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS

FIXED_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self'; object-src 'none'; base-uri 'none';"
        " frame-ancestors 'none'; img-src 'self' data:;"
        " style-src 'self' 'unsafe-inline'"
    ),
}
STAFF = "/admin/"
# What the back office's theme cannot do without, and nothing inline.
STAFF_POLICY = FIXED_HEADERS["Content-Security-Policy"].replace(
    "script-src 'self'", "script-src 'self' 'unsafe-eval'"
)
if settings.SECURE_HSTS_SECONDS:
    FIXED_HEADERS["Strict-Transport-Security"] = (
        f"max-age={settings.SECURE_HSTS_SECONDS}"
    )

CORS_ANSWER = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "Link, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset,"
        " X-Trace-Id, Idempotent-Replayed"
    ),
}
CORS_OPTIONS = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": (
        "X-Api-Key, Api-Key, Content-Type, Accept, Idempotency-Key"
    ),
    "Access-Control-Max-Age": "600",
}

HEALTH = {"/healthz": health.alive, "/readyz": health.ready}


def only_below(*prefixes):
    """Make a middleware step aside for every path outside these."""

    def wrap(middleware):
        class Below(middleware):
            """The middleware, for its own part of the site."""

            def __call__(self, request):
                if request.path_info.startswith(prefixes):
                    return super().__call__(request)
                return self.get_response(request)

        hook = getattr(middleware, "process_view", None)
        if hook is not None:
            # Django asks for this one by itself, whatever the call above says.
            def process_view(self, request, *view):
                if request.path_info.startswith(prefixes):
                    return hook(self, request, *view)
                return None

            Below.process_view = process_view

        Below.__name__ = Below.__qualname__ = f"{middleware.__name__}Below"
        return Below

    return wrap


TransportSecurity = only_below(STAFF, "/docs/", "/openapi.json")(SecurityMiddleware)
StaticFiles = only_below(settings.STATIC_URL)(WhiteNoiseMiddleware)
Sessions = only_below(STAFF)(SessionMiddleware)
Slashes = only_below(STAFF.rstrip("/"))(CommonMiddleware)
Forgeries = only_below(STAFF)(CsrfViewMiddleware)
SignIns = only_below(STAFF)(AuthenticationMiddleware)
Messages = only_below(STAFF)(MessageMiddleware)


class FirstAnswer:
    """Trace id and fixed headers on every answer; health for any `Host`; then `Host`
    and the number of parameters, before the path is asked for."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        request.trace_id = secrets.token_hex(16)
        response = self.answer(request)
        add_headers(response, FIXED_HEADERS)
        if request.path_info.startswith(STAFF):
            response["Content-Security-Policy"] = STAFF_POLICY
        response["X-Trace-Id"] = request.trace_id
        if not response.streaming and response.status_code not in (204, 304):
            response["Content-Length"] = str(len(response.content))
        if request.method == "HEAD" and not response.streaming:
            response.content = b""
        return response

    def answer(self, request):
        if request.path_info in HEALTH:
            return HEALTH[request.path_info](request)
        return self.get_response(request)


def add_headers(response, headers) -> None:
    """Set each of these headers."""
    for name, value in headers.items():
        response[name] = value


class AddressRepair:
    """Asks `Host` and the number of parameters, refuses NUL in a path, and puts the
    missing slash of an API path back, without a redirect."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        if not is_answerable(request):
            return door.refuse(request, 400)
        if "\x00" in request.path_info:
            return door.not_found(request)
        if is_odd_for_staff(request):
            return door.refuse(request, 400)
        if request.path_info.startswith(API) and not request.path_info.endswith("/"):
            request.path_info += "/"
            request.path += "/"
        return self.get_response(request)


def is_answerable(request) -> bool:
    """Is the host one of ours, and the query of a bearable length?"""
    try:
        request.get_host()
    except DisallowedHost:
        return False
    return request.META.get("QUERY_STRING", "").count("&") < MOST_PARAMETERS


def is_odd_for_staff(request) -> bool:
    """A NUL in the query: no column holds one, and PostgreSQL fails over it."""
    query = request.META.get("QUERY_STRING", "")
    return request.path_info.startswith(STAFF) and "%00" in query


class CrossOrigin:
    """Lets scripts of any origin read API answers: a key is asked for, no cookie."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        response = self.get_response(request)
        if request.path_info.startswith(API):
            add_headers(response, CORS_ANSWER)
            response["Cache-Control"] = "no-store"
            if request.method == "OPTIONS" and response.status_code == 204:
                add_headers(response, CORS_OPTIONS)
        return response
