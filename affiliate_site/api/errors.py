"""The only place where a failure of the API becomes a body.

If the domain or the input refused: `{"errors": […]}`. If the door refused:
`{"message", "code", "traceId"}`. What is our own fault is answered in door.py.
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
    ValidationError,
)
from rest_framework.response import Response

from accounts.errors import Conflict, DomainError, Missing, Rejected, Several
from affiliate_site import door

STATUS_OF_KIND = {Rejected: 400, Missing: 404, Conflict: 409}
LONGEST_ECHO = 255
MISSING = "Missing mandatory parameter(s)"
PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")


class Raw(str):
    """A message's template, riding in the `code` of DRF's errors."""

    __slots__ = ()


class Flaw(ValidationError):
    """One field is wrong: `Flaw("… {{ limit }} …", limit=255)`."""

    def __init__(self, template, **values):
        # One pass: a value may itself look like a placeholder.
        text = PLACEHOLDER.sub(lambda it: str(values.get(it[1], it[0])), template)
        super().__init__(ErrorDetail(text, Raw(template)))


class Prefetched(APIException):
    """A postback that a browser only fetched ahead of time."""

    status_code = 400


class TooLarge(APIException):
    """The body is over the limit."""

    status_code = 413


class TooManyRequests(APIException):
    """Over a rate limit; DRF's own would add `Retry-After`, which the spec forbids."""

    status_code = 429


def answer_failure(failure, context):
    """DRF's exception handler: a response, or None for what is our own fault."""
    request = context["view"].plain_request
    if isinstance(failure, DomainError):
        refusals = failure.refusals if isinstance(failure, Several) else [failure]
        return Response(
            {"errors": [told(it) for it in refusals]}, status=status_of(failure)
        )
    if isinstance(failure, ValidationError):
        return Response({"errors": entries_of(failure, context["view"])}, status=400)
    if isinstance(failure, NotAuthenticated | AuthenticationFailed):
        return unauthenticated(request, failure)
    if isinstance(failure, PermissionDenied):
        return door.refuse(request, 403)
    if isinstance(failure, MethodNotAllowed):
        return not_allowed(request, context["view"])
    if isinstance(failure, TooLarge | Prefetched):
        return door.refuse(request, failure.status_code)
    if isinstance(failure, TooManyRequests):
        return HttpResponse("Too many requests", status=429, content_type="text/plain")
    return None


def status_of(refusal: DomainError) -> int:
    """400, 404 or 409, by the refusal's kind."""
    return next(
        status for kind, status in STATUS_OF_KIND.items() if isinstance(refusal, kind)
    )


def told(refusal: DomainError) -> dict[str, str]:
    """A refusal of the domain, as one entry of `errors`."""
    entry = {"message": refusal.text}
    if refusal.path is not None:
        entry |= {"message_raw": refusal.raw, "property_path": refusal.path}
    if isinstance(refusal, Conflict):
        entry["code"] = refusal.code
    return entry


def flat(detail, path: str = "") -> Iterator[dict[str, str]]:
    """DRF's tree of errors as a list, each with the path of its field."""
    if isinstance(detail, ErrorDetail):
        raw = detail.code if isinstance(detail.code, Raw) else detail
        yield {
            "message": str(detail),
            "message_raw": str(raw),
            "property_path": path,
        }
    elif isinstance(detail, dict):
        for name, inner in detail.items():
            yield from flat(inner, joined(path, name))
    elif all(isinstance(inner, ErrorDetail) for inner in detail):
        for inner in detail:
            yield from flat(inner, path)
    else:
        for number, inner in enumerate(detail):
            yield from flat(inner, joined(path, number))


def entries_of(failure: ValidationError, view) -> list[dict[str, str]]:
    """The flaws of fields; on tracking, what is missing is told once, alone."""
    entries = list(flat(failure.detail))
    others = [it for it in entries if it["message"] != MISSING]
    if view.action not in view.tracks or len(others) == len(entries):
        return entries
    return [*others, {"message": MISSING}]


def joined(path: str, step: str | int) -> str:
    """`address` + `city` → `address.city`; numbers and map keys come in brackets."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if step.startswith("["):
        return path + step
    return f"{path}.{step}" if path else step


def bracketed(key: str) -> str:
    """A map's key as a step of a path; an overlong one is cut."""
    return f"[{key[:LONGEST_ECHO]}]"


def unauthenticated(request, failure):
    """401: a wrong key always gets JSON; without a key it may be a page."""
    if isinstance(failure, NotAuthenticated) and not door.wants_json(request):
        response = door.page(request, 401)
    else:
        response = door.refuse(request, 401)
    response["WWW-Authenticate"] = "ApiKey"
    return response


def not_allowed(request, view):
    """405, with the methods that are."""
    response = door.refuse(request, 405)
    response["Allow"] = ", ".join(view.allowed_methods)
    return response
