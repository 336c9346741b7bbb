"""Webhook requests: signatures, timeouts, validated addresses.

Rules: docs/api-contract.md, sections 6.2 and 6.3.
"""

import socket
import ssl
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from time import monotonic

import pytest
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from accounts.models.audit_log import AuditLogEntry
from accounts.models.webhooks import Delivery, WebhookEndpoint
from accounts.services.deliveries import DeliveryResult
from accounts.services.webhooks import generate_secret
from accounts.url_safety import ParsedUrl, parse_url
from affiliate_site import safe_http
from affiliate_site.safe_http import DeadlineBackend
from affiliate_site.webhooks import sending
from affiliate_site.webhooks.sending import send_delivery, send_request
from tests.webhook_receiver import (
    drip_body,
    drip_headers,
    flood,
    hang,
    respond_with,
    respond_without_http,
)

BODY = '{"id":"cu_1","customer_id":"Zoë"}'.encode()
CERTIFICATE = Path(__file__).with_name("receiver.pem")  # of shop.example.net, without expiry
SHORT_TIMEOUT_SECONDS = 0.2  # seconds, for tests that wait for the timeout


def make_delivery(url, **endpoint):
    endpoint = WebhookEndpoint(url=url, **({"secret": generate_secret()} | endpoint))
    return Delivery(
        endpoint=endpoint,
        event=AuditLogEntry(kind="customer.created"),
        message_id="evt_0123456789abcdef",
        body=BODY,
    )


def attempt_delivery(delivery):
    return send_delivery(delivery, at=timezone.now())


def test_sends_signature_that_standard_webhooks_verifies(webhook_receiver):
    delivery = make_delivery(f"{webhook_receiver.url}?a=1")

    assert attempt_delivery(delivery) == DeliveryResult(status=204)

    (request,) = webhook_receiver.requests
    assert (request.method, request.path, request.body) == ("POST", "/hook?a=1", BODY)
    Webhook(delivery.endpoint.secret).verify(request.body, request.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(delivery.endpoint.secret).verify(request.body + b" ", request.headers)
    signature, timestamp = (
        request.headers.pop(f"webhook-{name}") for name in ("signature", "timestamp")
    )
    assert signature.startswith("v1,")
    assert abs(int(timestamp) - timezone.now().timestamp()) < 60
    assert request.headers == {
        "host": webhook_receiver.host_and_port,
        "content-length": str(len(BODY)),
        "content-type": "application/json",
        "user-agent": "Affiliate-Site-Webhooks",
        "webhook-id": "evt_0123456789abcdef",
        "webhook-event": "customer.created",
    }


def test_signs_with_both_secrets_after_rotation(webhook_receiver):
    old, now = generate_secret(), timezone.now()
    delivery = make_delivery(
        webhook_receiver.url, old_secret=old, old_secret_until=now + timedelta(hours=1)
    )

    send_delivery(delivery, at=now)
    send_delivery(delivery, at=now + timedelta(hours=2))

    during, after = webhook_receiver.requests
    assert during.headers["webhook-signature"].count("v1,") == 2
    for secret in (old, delivery.endpoint.secret):
        Webhook(secret).verify(during.body, during.headers)
    assert after.headers["webhook-signature"].count("v1,") == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_sends_postback_without_body_and_signature(webhook_receiver, method):
    delivery = make_delivery("https://x.example/${a}", affiliate="mina", method=method)
    delivery.url = f"{webhook_receiver.url}?s=a%20b"

    assert attempt_delivery(delivery) == DeliveryResult(status=204)

    (request,) = webhook_receiver.requests
    assert (request.method, request.path, request.body) == (
        method,
        "/hook?s=a%20b",
        b"",
    )
    request.headers.pop("content-length", None)  # 0, where the method may have a body
    assert set(request.headers) == {"host", "user-agent"}


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_is_success(webhook_receiver, status):
    webhook_receiver.respond = respond_with(status)

    assert attempt_delivery(make_delivery(webhook_receiver.url)) == DeliveryResult(status=status)


@pytest.mark.parametrize("status", [304, 400, 401, 404, 410, 418, 429, 500, 503])
def test_other_status_is_failure(webhook_receiver, status):
    webhook_receiver.respond = respond_with(status)

    result = attempt_delivery(make_delivery(webhook_receiver.url))

    assert (result.status, result.error[:12]) == (status, f"answered {status}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_does_not_follow_redirects(webhook_receiver, status):
    webhook_receiver.respond = respond_with(status, Location=f"{webhook_receiver.url}/inside")

    result = attempt_delivery(make_delivery(webhook_receiver.url))

    assert result.error == f"answered {status}, a redirect, and none is followed"
    assert [request.path for request in webhook_receiver.requests] == ["/hook"]


def test_stores_first_2_kib_of_response(webhook_receiver):
    webhook_receiver.respond = respond_with(500, b"\x00\xff" + b"x" * 5000)

    result = attempt_delivery(make_delivery(webhook_receiver.url))

    assert result.response_body == "\ufffd\ufffd" + "x" * 2046


def test_stops_reading_long_response(webhook_receiver):
    webhook_receiver.respond = flood

    result = attempt_delivery(make_delivery(webhook_receiver.url))

    assert (result.status, result.error) == (200, "")
    assert result.response_body == "x" * 2048


@pytest.mark.parametrize(
    "respond", [hang, drip_headers, drip_body], ids=lambda respond: respond.__name__
)
def test_times_out(webhook_receiver, respond):
    webhook_receiver.respond = respond
    target = parse_url(webhook_receiver.url, allowed_hosts={webhook_receiver.host_and_port})

    result = send_request(target, connect_to("127.0.0.1", timeout_seconds=SHORT_TIMEOUT_SECONDS))

    assert result.error == "no whole answer within 10 s"
    assert result.status == (200 if respond is drip_body else None)


def test_times_out_during_name_resolution(monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", SHORT_TIMEOUT_SECONDS)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: ended.wait(30))

    result = attempt_delivery(make_delivery("https://shop.example.net/hook"))

    ended.set()
    assert result.error == "the name shop.example.net was not found in 0.2 s"


@pytest.mark.parametrize("status", [200, 410])
def test_keeps_status_of_truncated_response(webhook_receiver, status):
    webhook_receiver.respond = lambda handler: handler.write(
        b"HTTP/1.1 %d X\r\nContent-Length: 9\r\n\r\nshort" % status
    )

    result = attempt_delivery(make_delivery(webhook_receiver.url))

    assert result.status == status
    assert result.error.startswith("not HTTP: ")


def connect_to(*addresses, timeout_seconds=sending.TIMEOUT_SECONDS):
    return DeadlineBackend(addresses, monotonic() + timeout_seconds)


def test_default_timeout_is_ten_seconds():
    assert sending.TIMEOUT_SECONDS == 10


def test_reports_response_that_is_not_http(webhook_receiver):
    webhook_receiver.respond = respond_without_http

    result = attempt_delivery(make_delivery(webhook_receiver.url))

    assert result.status is None
    assert result.error.startswith("not HTTP: ")


def test_reports_refused_connection(settings):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        host_and_port = f"127.0.0.1:{closed.getsockname()[1]}"
    settings.WEBHOOK_ALLOWED_HOSTS = {host_and_port}

    result = attempt_delivery(make_delivery(f"http://{host_and_port}/"))

    assert result == DeliveryResult(error="no connection: [Errno 111] Connection refused")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:{port}/", "https://127.0.0.1:{port}/", "http://[::1]:{port}/"],
)
def test_rejects_host_that_is_no_longer_allowed(webhook_receiver, settings, url):
    settings.WEBHOOK_ALLOWED_HOSTS = set()

    result = attempt_delivery(make_delivery(url.format(port=webhook_receiver.server_port)))

    assert result.error.startswith("Invalid URL: only https on port")
    assert webhook_receiver.connections == 0


def test_ignores_proxy_of_the_environment(webhook_receiver, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")

    assert attempt_delivery(make_delivery(webhook_receiver.url)) == DeliveryResult(status=204)


# The validated address is the one that is called


class RebindingResolver:
    """A resolver that returns another address on each call."""

    def __init__(self, *addresses):
        self.addresses = iter(addresses)
        self.call_count = 0

    def __call__(self, host, port, *_, **__):
        self.call_count += 1
        return [(0, 0, 0, "", (next(self.addresses), port))]


def test_connects_to_the_validated_address(webhook_receiver, monkeypatch):
    """A name that resolves to loopback after its validation is not called."""
    resolver = RebindingResolver("203.0.113.7", "127.0.0.1", "127.0.0.1")
    connections = []

    def create_connection(address, *_, **__):
        connections.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(sending, "resolve_addresses", lambda *_, **__: ["203.0.113.7"])
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    monkeypatch.setattr(socket, "create_connection", create_connection)

    attempt_delivery(make_delivery("https://shop.example.net/hook"))

    assert connections == [("203.0.113.7", 443)]
    assert (resolver.call_count, webhook_receiver.connections) == (0, 0)


def test_resolves_name_once(webhook_receiver, monkeypatch):
    resolver = RebindingResolver("127.0.0.1", "203.0.113.7")
    monkeypatch.setattr(socket, "getaddrinfo", resolver)

    result = attempt_delivery(make_delivery("https://shop.example.net/hook"))

    assert result.error.startswith(
        "the name shop.example.net is not known, or not public; your operator can"
    )
    assert "127.0.0.1" not in result.error
    assert (resolver.call_count, webhook_receiver.connections) == (1, 0)


class TlsHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.hosts.append(self.headers["Host"])
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def tls_receiver(monkeypatch):
    """A TLS server for shop.example.net on loopback; records the names in requests."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    trusted = ssl.create_default_context(cafile=CERTIFICATE)
    monkeypatch.setattr(safe_http, "get_ssl_context", lambda: trusted)
    with HTTPServer(("127.0.0.1", 0), TlsHandler) as server:
        server.hosts, server.server_names = [], []
        server.handle_error = lambda *_: None
        context.sni_callback = lambda _, name, __: server.server_names.append(name)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_uses_name_of_the_url_for_host_and_tls(tls_receiver):
    target = ParsedUrl("https", "shop.example.net", tls_receiver.server_port, "/", is_allowed=True)

    assert send_request(target, connect_to("127.0.0.1")) == DeliveryResult(status=204)

    assert tls_receiver.server_names == ["shop.example.net"]
    assert tls_receiver.hosts == [f"shop.example.net:{tls_receiver.server_port}"]


def test_rejects_certificate_of_another_name(tls_receiver):
    target = ParsedUrl("https", "other.example.net", tls_receiver.server_port, "/", is_allowed=True)

    result = send_request(target, connect_to("127.0.0.1"))

    assert "certificate verify failed" in result.error
    assert tls_receiver.hosts == []


def test_tries_next_address_after_failed_connection(webhook_receiver):
    target = parse_url(webhook_receiver.url, allowed_hosts={webhook_receiver.host_and_port})

    assert send_request(target, connect_to("127.0.0.2", "127.0.0.1")) == DeliveryResult(status=204)
