"""The address of a connection: `POST /in/<id>/`."""

from datetime import datetime

from django.http import HttpResponse
from django.utils import timezone

from accounts.exact_json import serialize_exact_json
from affiliate_site import http_errors
from affiliate_site.shops.base import WrongSignature
from affiliate_site.shops.kinds import SHOPS
from affiliate_site.shops.processing import receive_envelope
from tracking.errors import UnreadableEvent
from tracking.models.shops import Connection, RefusalReason
from tracking.services.connections import (
    count_refusal,
    find_connection,
    forget_refusals,
)
from tracking.services.inbox import Envelope

MAX_EVENT_SIZE = 1_000_000  # bytes
NO_SECRET = "This connection has no signing secret yet."  # noqa: S105 - a message
NOT_PRINTABLE = "The ID or the kind of the event has characters that no text has."
NOT_JSON = "The body is no JSON object."
NO_EVENT = "The body is no event of this kind of shop: it lacks ID, kind or time."


@http_errors.allow_methods("POST")
def receive_event(request, connection_id: str) -> HttpResponse:
    """Verify and store an event of a shop; the answer 200 says that it is stored.

    The worker processes it, on the embedded database this request.
    """
    is_too_large = int(request.META.get("CONTENT_LENGTH") or 0) > MAX_EVENT_SIZE
    connection = find_connection(connection_id)
    if connection is None:
        return http_errors.error_response(request, 413 if is_too_large else 404)
    at = timezone.now()
    if is_too_large:
        count_refusal(connection, RefusalReason.TOO_LARGE, at=at)
        return http_errors.error_response(request, 413)
    if SHOPS[connection.kind].is_ping(request.headers, request.body):
        return answer({"stored": False})
    try:
        envelope = open_envelope(request, connection, at=at)
    except WrongSignature as error:
        count_refusal(connection, error.reason, at=at)
        return refuse(request, str(error))
    except UnreadableEvent as error:
        count_refusal(connection, RefusalReason.UNREADABLE, at=at)
        return refuse(request, error.text)
    forget_refusals(connection)
    event = receive_envelope(connection, envelope, at=at)
    if text := SHOPS[connection.kind].get_answer(connection):
        return HttpResponse(text, content_type="text/plain; charset=utf-8")
    return answer({"stored": True, "is_new": event is not None})


def answer(body: dict[str, bool]) -> HttpResponse:
    """Answer 200."""
    return HttpResponse(serialize_exact_json(body), content_type="application/json")


def open_envelope(request, connection: Connection, *, at: datetime) -> Envelope:
    """Verify the signature of an event, and read its ID, kind and time.

    Raises `WrongSignature` and `UnreadableEvent`.
    """
    shop, raw = SHOPS[connection.kind], request.body
    if not connection.secrets:
        raise WrongSignature(NO_SECRET, RefusalReason.NO_SECRET)
    shop.verify(connection, request.headers, raw, at=at, parameters=request.GET.dict())
    try:
        body = shop.parse(raw, request.content_type)
    except ValueError:
        raise UnreadableEvent(what=NOT_JSON) from None
    try:
        envelope = shop.identify(connection, request.headers, body, raw, at=at)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        raise UnreadableEvent(what=NO_EVENT) from None
    if not (envelope.key + envelope.kind).isprintable():
        raise UnreadableEvent(what=NOT_PRINTABLE)
    return envelope


def refuse(request, message: str) -> HttpResponse:
    """Answer 400 with a sentence."""
    body = http_errors.build_error_body(request, 400) | {"message": message}
    return HttpResponse(serialize_exact_json(body), status=400, content_type="application/json")
