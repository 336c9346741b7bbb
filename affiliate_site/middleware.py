"""Middleware that runs before the URL is resolved, in the order of `MIDDLEWARE`."""

import secrets

from django.conf import settings
from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.core.exceptions import DisallowedHost
from django.middleware import common, csrf, security

from affiliate_site import creative_images, http_errors
from affiliate_site.http_errors import API_PREFIXES, CHARSETS
from affiliate_site.operations import health
from affiliate_site.portal_sessions import PORTAL_PREFIX

MAX_QUERY_PARAMETERS = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
LARGE_FORM = (
    f"The form and its file have more than {settings.FORM_MAX_SIZE // 10**6} MB. Go"
    " back and choose a smaller file: the form says how large it may be."
)

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self'; object-src 'none'; base-uri 'none';"
    " frame-ancestors 'none'; img-src 'self' data:; style-src 'self' 'unsafe-inline'"
)
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": f"{CONTENT_SECURITY_POLICY}; form-action 'self'",
}
ADMIN_PREFIX = "/admin/"
# The theme of the back office needs `eval`; inline scripts stay forbidden. Its forms
# may lead to a portal on a host of its own.
ADMIN_CONTENT_SECURITY_POLICY = CONTENT_SECURITY_POLICY.replace(
    "script-src 'self'", "script-src 'self' 'unsafe-eval'"
)
# Staff who leave a portal on a host of its own are led back to the back office.
PORTAL_CONTENT_SECURITY_POLICY = (
    f"{SECURITY_HEADERS['Content-Security-Policy']} {settings.PUBLIC_URL}"
)
if settings.SECURE_HSTS_SECONDS:
    SECURITY_HEADERS["Strict-Transport-Security"] = f"max-age={settings.SECURE_HSTS_SECONDS}"

CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "Link, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset,"
        " X-Trace-Id, Idempotent-Replayed"
    ),
}
CORS_PREFLIGHT_HEADERS = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": ("X-Api-Key, Api-Key, Content-Type, Accept, Idempotency-Key"),
    "Access-Control-Max-Age": "600",
}

HEALTH_VIEWS = {"/healthz": health.check_liveness, "/readyz": health.check_readiness}


def limit_to_paths(middleware, *prefixes):
    """Restrict a middleware of Django to the paths that start with `prefixes`.

    Other responses get no cookie, no redirect and no `Vary` header from it.
    """

    class PathLimited(middleware):  # type: ignore[misc, valid-type]
        def __call__(self, request):
            if request.path_info.startswith(prefixes):
                return super().__call__(request)
            return self.get_response(request)

    if hasattr(middleware, "process_view"):
        # Django calls this hook outside `__call__`, so it needs the condition too.
        def process_view(self, request, *view):
            if request.path_info.startswith(prefixes):
                return middleware.process_view(self, request, *view)
            return None

        PathLimited.process_view = process_view

    PathLimited.__name__ = PathLimited.__qualname__ = middleware.__name__
    return PathLimited


SecurityMiddleware = limit_to_paths(
    security.SecurityMiddleware, ADMIN_PREFIX, PORTAL_PREFIX, "/docs/", "/openapi.json"
)
SessionMiddleware = limit_to_paths(sessions.SessionMiddleware, ADMIN_PREFIX)
CommonMiddleware = limit_to_paths(common.CommonMiddleware, ADMIN_PREFIX.rstrip("/"), PORTAL_PREFIX)
CsrfViewMiddleware = limit_to_paths(csrf.CsrfViewMiddleware, ADMIN_PREFIX, PORTAL_PREFIX)
AuthenticationMiddleware = limit_to_paths(auth.AuthenticationMiddleware, ADMIN_PREFIX)
MessageMiddleware = limit_to_paths(messages.MessageMiddleware, ADMIN_PREFIX)


class ResponseHeadersMiddleware:
    """Sets the trace id and the fixed headers of every response; serves the health
    checks, which accept any `Host` (docs/api-contract.md, section 1.12)."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        request.trace_id = secrets.token_hex(16)
        response = self.get_health_or_response(request)
        set_headers(response, SECURITY_HEADERS)
        if request.path_info.startswith((ADMIN_PREFIX, PORTAL_PREFIX)):
            response.headers.setdefault("Cache-Control", "no-store")
        if request.path_info.startswith(ADMIN_PREFIX):
            response["Content-Security-Policy"] = ADMIN_CONTENT_SECURITY_POLICY
        if request.path_info.startswith(PORTAL_PREFIX):
            response["Content-Security-Policy"] = PORTAL_CONTENT_SECURITY_POLICY
        if getattr(response, "is_sandboxed", False) or request.path_info.startswith(
            creative_images.PREFIX
        ):
            policy = creative_images.CONTENT_SECURITY_POLICY
            response["Content-Security-Policy"] = policy
        response["X-Trace-Id"] = request.trace_id
        if not response.streaming and response.status_code not in (204, 304):
            response["Content-Length"] = str(len(response.content))
        if request.method == "HEAD" and not response.streaming:
            response.content = b""
        return response

    def get_health_or_response(self, request):
        if request.path_info == "/healthz" and health.is_probe(request):
            return health.describe_request(request)
        if request.path_info in HEALTH_VIEWS:
            return HEALTH_VIEWS[request.path_info](request)
        return self.get_response(request)


def set_headers(response, headers) -> None:
    for name, value in headers.items():
        response[name] = value


class PathNormalizationMiddleware:
    """Validates `Host` and the number of query parameters, rejects chunked bodies,
    other character sets than UTF-8 and NUL in a path, and appends the missing slash of
    an API path without a redirect."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        if not has_valid_host_and_query(request):
            return http_errors.error_response(request, 400)
        if "HTTP_TRANSFER_ENCODING" in request.META:
            # Its body was not received: wsgi.py.
            return http_errors.error_response(request, 411)
        if "\x00" in request.path_info:
            return http_errors.not_found(request)
        if has_nul_in_admin_query(request) or has_other_charset(request):
            return http_errors.error_response(request, 400)
        if is_large_form(request):
            return http_errors.error_response(request, 413, LARGE_FORM)
        if request.path_info.startswith(API_PREFIXES) and not request.path_info.endswith("/"):
            request.path_info += "/"
            request.path += "/"
        return self.get_response(request)


def has_valid_host_and_query(request) -> bool:
    """Check `Host` and the number of query parameters."""
    try:
        request.get_host()
    except DisallowedHost:
        return False
    return request.META.get("QUERY_STRING", "").count("&") < MAX_QUERY_PARAMETERS


def has_nul_in_admin_query(request) -> bool:
    """Return whether a back office query contains NUL: PostgreSQL cannot store it."""
    query = request.META.get("QUERY_STRING", "")
    return request.path_info.startswith(ADMIN_PREFIX) and "%00" in query


def has_other_charset(request) -> bool:
    """Return whether a form has another character set than UTF-8.

    The API decides when it reads a body; its queries are UTF-8 whatever it says.
    """
    if request.content_params.get("charset", "utf-8").lower() in CHARSETS:
        return False
    request.encoding = None
    return not request.path_info.startswith(API_PREFIXES)


def is_large_form(request) -> bool:
    """Return whether a form of the back office was not received, for its size."""
    length = request.META.get("CONTENT_LENGTH", "")
    return (
        request.path_info.startswith(ADMIN_PREFIX)
        and length.isdecimal()
        and int(length) > settings.FORM_MAX_SIZE
    )


class CorsMiddleware:
    """Allows any origin to read API responses: they depend on a key, not a cookie."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        response = self.get_response(request)
        if request.path_info.startswith(API_PREFIXES):
            set_headers(response, CORS_HEADERS)
            response["Cache-Control"] = "no-store"
            if request.method == "OPTIONS" and response.status_code == 204:
                set_headers(response, CORS_PREFLIGHT_HEADERS)
        return response
