"""Renders every exception of the API as an error response.

Errors of the domain and of validation have the body `{"errors": […]}`; errors of the
request itself (key, method, size) have `{"message", "code", "traceId"}`. Server errors
are rendered in affiliate_site/http_errors.py. Rules: docs/api-contract.md, section 1.7.
"""

import re
from collections.abc import Iterator

from django.http import HttpResponse
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    ErrorDetail,
    MethodNotAllowed,
    NotAuthenticated,
    PermissionDenied,
    Throttled,
    ValidationError,
)
from rest_framework.response import Response

from accounts.errors import Conflict, DomainError, ErrorList, InvalidInput, NotFound
from affiliate_site import http_errors

STATUS_BY_ERROR_CLASS = {InvalidInput: 400, NotFound: 404, Conflict: 409}
MAX_ECHO_LENGTH = 255
MISSING_PARAMETER = "Missing mandatory parameter(s)"
MESSAGE_PARAMETER_PATTERN = re.compile(r"\{\{ (\w+) \}\}")


class MessageTemplate(str):
    """A message template, stored as the `code` of DRF's `ErrorDetail`."""

    __slots__ = ()


class FieldError(ValidationError):
    """An invalid field: `FieldError("… {{ limit }} …", limit=255)`."""

    def __init__(self, template, **values):
        # In a single pass, since a value may itself look like a placeholder.
        text = MESSAGE_PARAMETER_PATTERN.sub(
            lambda match: str(values.get(match[1], match[0])), template
        )
        super().__init__(ErrorDetail(text, MessageTemplate(template)))


class PrefetchNotAllowed(APIException):
    """A postback that a browser prefetches; it records nothing."""

    status_code = 400


class PayloadTooLarge(APIException):
    """The body exceeds the size limit."""

    status_code = 413


def exception_handler(exc, context):
    """Return the error response for DRF, or None for a server error (500)."""
    request = context["request"]
    if isinstance(exc, DomainError):
        errors = exc.errors if isinstance(exc, ErrorList) else [exc]
        return Response(
            {"errors": [serialize_error(error) for error in errors]},
            status=get_error_status(exc),
        )
    if isinstance(exc, ValidationError):
        return Response({"errors": serialize_validation_error(exc, context["view"])}, status=400)
    if isinstance(exc, NotAuthenticated | AuthenticationFailed):
        return render_unauthenticated(request, exc)
    if isinstance(exc, MethodNotAllowed):
        return render_method_not_allowed(request, context["view"])
    if isinstance(exc, Throttled):  # DRF's own handler would add `Retry-After`
        return HttpResponse("Too many requests", status=429, content_type="text/plain")
    if isinstance(exc, PermissionDenied | PayloadTooLarge | PrefetchNotAllowed):
        return http_errors.error_response(request, exc.status_code)
    return None


def get_error_status(error: DomainError) -> int:
    """Return 400, 404 or 409, by the class of the error."""
    return next(
        status
        for error_class, status in STATUS_BY_ERROR_CLASS.items()
        if isinstance(error, error_class)
    )


def serialize_error(error: DomainError) -> dict[str, str]:
    """Return a domain error as one entry of `errors`."""
    entry = {"message": error.text}
    if error.path is not None:
        entry |= {"message_raw": error.raw, "property_path": error.path}
    if isinstance(error, Conflict):
        entry["code"] = error.code
    return entry


def flatten_errors(detail, path: str = "") -> Iterator[dict[str, str]]:
    """Yield the entries of DRF's error tree, each with the path of its field."""
    if isinstance(detail, ErrorDetail):
        raw = detail.code if isinstance(detail.code, MessageTemplate) else detail
        yield {
            "message": str(detail),
            "message_raw": str(raw),
            "property_path": path,
        }
    elif isinstance(detail, dict):
        for name, inner in detail.items():
            yield from flatten_errors(inner, join_path(path, name))
    elif all(isinstance(inner, ErrorDetail) for inner in detail):
        for inner in detail:
            yield from flatten_errors(inner, path)
    else:
        for index, inner in enumerate(detail):
            yield from flatten_errors(inner, join_path(path, index))


def serialize_validation_error(error: ValidationError, view) -> list[dict[str, str]]:
    """Return the entries of `errors`; tracking actions report missing fields once."""
    entries = list(flatten_errors(error.detail))
    others = [entry for entry in entries if entry["message"] != MISSING_PARAMETER]
    if view.action not in view.tracking_actions or len(others) == len(entries):
        return entries
    return [*others, {"message": MISSING_PARAMETER}]


def join_path(path: str, step: str | int) -> str:
    """`address` + `city` → `address.city`; indexes and map keys are in brackets."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if step.startswith("["):
        return path + step
    return f"{path}.{step}" if path else step


def format_map_key(key: str) -> str:
    """Return a map key as a step of a path, truncated to `MAX_ECHO_LENGTH`."""
    return f"[{key[:MAX_ECHO_LENGTH]}]"


def render_unauthenticated(request, error):
    """Render the 401: JSON for a wrong key, JSON or HTML for a missing one."""
    if isinstance(error, NotAuthenticated) and not http_errors.wants_json(request):
        response = http_errors.render_error_page(request, 401)
    else:
        response = http_errors.error_response(request, 401)
    response["WWW-Authenticate"] = "ApiKey"
    return response


def render_method_not_allowed(request, view):
    """Render the 405 with the allowed methods."""
    response = http_errors.error_response(request, 405)
    response["Allow"] = ", ".join(view.allowed_methods)
    return response
