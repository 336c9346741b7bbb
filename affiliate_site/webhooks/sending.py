"""One webhook request: signed, to a validated IP address, ten seconds in total.

Rules: docs/api-contract.md, sections 6.2 and 6.3.
"""

from datetime import datetime
from time import monotonic

import httpcore
from django.conf import settings
from standardwebhooks import Webhook

from accounts.errors import InvalidUrl
from accounts.models.webhooks import Delivery
from accounts.services.deliveries import DeliveryResult
from accounts.services.outbox import build_url
from accounts.url_safety import ParsedUrl, parse_url
from affiliate_site.safe_http import (
    DeadlineBackend,
    Headers,
    HostUnreachable,
    open_response,
    read_response,
    resolve_addresses,
)

TIMEOUT_SECONDS = 10  # of the whole request: name resolution, connection, response
MAX_RESPONSE_BYTES = 64 * 1024
MAX_STORED_RESPONSE_BYTES = 2 * 1024
TIMEOUT_ERROR = f"no whole answer within {TIMEOUT_SECONDS} s"
USER_AGENT = "Affiliate-Site-Webhooks"
SUCCESS = range(200, 300)
REDIRECT = range(300, 400)


def send_delivery(delivery: Delivery, *, at: datetime) -> DeliveryResult:
    """Send a delivery to its endpoint, without any database query."""
    endpoint, deadline = delivery.endpoint, monotonic() + TIMEOUT_SECONDS
    try:
        url = build_url(delivery)
        target = parse_url(url, allowed_hosts=settings.WEBHOOK_ALLOWED_HOSTS)
        addresses = resolve_addresses(target, timeout_seconds=TIMEOUT_SECONDS)
    except (InvalidUrl, HostUnreachable) as error:
        return DeliveryResult(error=str(error))
    backend = DeadlineBackend(addresses, deadline)
    if endpoint.affiliate:
        return send_request(target, backend, method=endpoint.method)
    headers = build_headers(delivery, at=at)
    return send_request(target, backend, headers=headers, body=bytes(delivery.body))


def build_headers(delivery: Delivery, *, at: datetime) -> list[tuple[str, str]]:
    """Return the headers; until a day after a rotation, with two signatures."""
    body, message_id = bytes(delivery.body).decode(), delivery.message_id
    signatures = [
        Webhook(secret).sign(message_id, at, body)
        for secret in delivery.endpoint.get_signing_secrets(at=at)
    ]
    return [
        ("Content-Type", "application/json"),
        ("webhook-id", message_id),
        ("webhook-timestamp", str(int(at.timestamp()))),
        ("webhook-signature", " ".join(signatures)),
        ("webhook-event", delivery.event.kind),
    ]


def send_request(
    target: ParsedUrl,
    backend: DeadlineBackend,
    *,
    method: str = "POST",
    headers: Headers = (),
    body: bytes = b"",
) -> DeliveryResult:
    """Send a request through the backend; `Host` and TLS use the name in the URL."""
    all_headers = [("User-Agent", USER_AGENT), *headers]
    status, content, error = None, b"", ""
    try:
        with (
            backend.run_timer(),
            open_response(target, backend, method, all_headers, body) as response,
        ):
            status = response.status  # kept even if reading the body fails
            content = read_response(response, max_bytes=MAX_RESPONSE_BYTES)
    except (httpcore.ReadTimeout, httpcore.WriteTimeout):
        error = TIMEOUT_ERROR  # the timeout of one read ended before the timer
    except (httpcore.NetworkError, httpcore.TimeoutException) as exception:
        error = f"no connection: {exception or type(exception).__name__}"
    except httpcore.ProtocolError as exception:
        error = f"not HTTP: {exception}"
    timeout_error = TIMEOUT_ERROR if backend.has_timed_out else ""
    text = content[:MAX_STORED_RESPONSE_BYTES].decode(errors="replace").replace("\x00", "\ufffd")
    return DeliveryResult(status, text, timeout_error or error or _get_status_error(status))


def _get_status_error(status: int | None) -> str:
    if status in SUCCESS:
        return ""
    if status in REDIRECT:
        return f"answered {status}, a redirect, and none is followed"
    return f"answered {status}"
