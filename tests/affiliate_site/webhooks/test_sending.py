"""Contract 6.2 and 6.3: one signed call, ten seconds in all, to a checked address."""

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

from accounts.models.events import Event
from accounts.models.webhooks import Delivery, WebhookEndpoint
from accounts.services.deliveries import Outcome
from accounts.services.webhooks import new_secret
from accounts.targets import Target, target_of
from affiliate_site.webhooks import sending
from affiliate_site.webhooks.sending import Line, call, send
from tests.receiver import (
    drips_body,
    drips_headers,
    floods,
    is_silent,
    says,
    speaks_no_http,
)

BODY = '{"id":"cu_1","customer_id":"Zoë"}'.encode()
CERTIFICATE = Path(__file__).with_name("receiver.pem")  # of shop.example.net, for ever
SHORT = 0.2  # seconds, where a test waits for the end of them


def delivery_to(url, **endpoint):
    endpoint = WebhookEndpoint(url=url, **({"secret": new_secret()} | endpoint))
    return Delivery(
        endpoint=endpoint,
        event=Event(kind="customer.created"),
        webhook_id="evt_0123456789abcdef",
        body=BODY,
    )


def sent(delivery):
    return send(delivery, at=timezone.now())


def test_sends_what_a_ready_verifier_accepts(receiver):
    delivery = delivery_to(f"{receiver.url}?a=1")

    assert sent(delivery) == Outcome(status=204)

    (told,) = receiver.calls
    assert (told.method, told.path, told.body) == ("POST", "/hook?a=1", BODY)
    Webhook(delivery.endpoint.secret).verify(told.body, told.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(delivery.endpoint.secret).verify(told.body + b" ", told.headers)
    signature, timestamp = (
        told.headers.pop(f"webhook-{name}") for name in ("signature", "timestamp")
    )
    assert signature.startswith("v1,")
    assert abs(int(timestamp) - timezone.now().timestamp()) < 60
    assert told.headers == {
        "host": receiver.place,
        "content-length": str(len(BODY)),
        "content-type": "application/json",
        "user-agent": "Affiliate-Site-Webhooks",
        "webhook-id": "evt_0123456789abcdef",
        "webhook-event": "customer.created",
    }


def test_signs_with_both_secrets_after_a_rotation(receiver):
    old, now = new_secret(), timezone.now()
    delivery = delivery_to(
        receiver.url, old_secret=old, old_secret_until=now + timedelta(hours=1)
    )

    send(delivery, at=now)
    send(delivery, at=now + timedelta(hours=2))

    during, after = receiver.calls
    assert during.headers["webhook-signature"].count("v1,") == 2
    for secret in (old, delivery.endpoint.secret):
        Webhook(secret).verify(during.body, during.headers)
    assert after.headers["webhook-signature"].count("v1,") == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_calls_a_postback_without_body_and_signature(receiver, method):
    delivery = delivery_to("https://x.example/${a}", affiliate="mina", method=method)
    delivery.url = f"{receiver.url}?s=a%20b"

    assert sent(delivery) == Outcome(status=204)

    (told,) = receiver.calls
    assert (told.method, told.path, told.body) == (method, "/hook?s=a%20b", b"")
    told.headers.pop("content-length", None)  # 0, where the method may have a body
    assert set(told.headers) == {"host", "user-agent"}


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_takes_every_2xx_for_a_success(receiver, status):
    receiver.answer = says(status)

    assert sent(delivery_to(receiver.url)) == Outcome(status=status)


@pytest.mark.parametrize("status", [304, 400, 401, 404, 410, 418, 429, 500, 503])
def test_takes_everything_else_for_a_failure(receiver, status):
    receiver.answer = says(status)

    outcome = sent(delivery_to(receiver.url))

    assert (outcome.status, outcome.trouble[:12]) == (status, f"answered {status}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_follows_no_redirect(receiver, status):
    receiver.answer = says(status, Location=f"{receiver.url}/inside")

    outcome = sent(delivery_to(receiver.url))

    assert outcome.trouble == f"answered {status}, a redirect, and none is followed"
    assert [told.path for told in receiver.calls] == ["/hook"]


def test_remembers_the_first_2_kib_of_an_answer(receiver):
    receiver.answer = says(500, b"\x00\xff" + b"x" * 5000)

    outcome = sent(delivery_to(receiver.url))

    assert outcome.answer == "\ufffd\ufffd" + "x" * 2046


def test_leaves_unread_what_is_too_long(receiver):
    receiver.answer = floods

    outcome = sent(delivery_to(receiver.url))

    assert (outcome.status, outcome.trouble) == (200, "")
    assert outcome.answer == "x" * 2048


@pytest.mark.parametrize(
    "answer", [is_silent, drips_headers, drips_body], ids=lambda it: it.__name__
)
def test_waits_so_long_and_no_longer(receiver, answer):
    receiver.answer = answer
    target = target_of(receiver.url, excused={receiver.place})

    outcome = call(target, line_to("127.0.0.1", seconds=SHORT))

    assert outcome.trouble == "no whole answer within 10 s"
    assert outcome.status == (200 if answer is drips_body else None)


def test_waits_no_longer_for_a_name(monkeypatch):
    asked = threading.Event()
    monkeypatch.setattr(sending, "SECONDS", SHORT)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: asked.wait(30))

    outcome = sent(delivery_to("https://shop.example.net/hook"))

    asked.set()
    assert outcome.trouble == "the name shop.example.net was not found in 0.2 s"


@pytest.mark.parametrize("status", [200, 410])
def test_knows_the_status_of_an_answer_that_is_cut_short(receiver, status):
    receiver.answer = lambda handler: handler.say(
        b"HTTP/1.1 %d X\r\nContent-Length: 9\r\n\r\nshort" % status
    )

    outcome = sent(delivery_to(receiver.url))

    assert outcome.status == status
    assert outcome.trouble.startswith("not HTTP: ")


def line_to(*addresses, seconds=sending.SECONDS):
    return Line(addresses, monotonic() + seconds)


def test_gives_ten_seconds_by_itself():
    assert sending.SECONDS == 10


def test_tells_what_is_no_http(receiver):
    receiver.answer = speaks_no_http

    outcome = sent(delivery_to(receiver.url))

    assert outcome.status is None
    assert outcome.trouble.startswith("not HTTP: ")


def test_tells_that_nobody_answers(settings):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        place = f"127.0.0.1:{closed.getsockname()[1]}"
    settings.WEBHOOK_ALLOWED_HOSTS = {place}

    outcome = sent(delivery_to(f"http://{place}/"))

    assert outcome == Outcome(trouble="no connection: [Errno 111] Connection refused")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:{port}/", "https://127.0.0.1:{port}/", "http://[::1]:{port}/"],
)
def test_calls_no_place_that_is_excused_no_longer(receiver, settings, url):
    settings.WEBHOOK_ALLOWED_HOSTS = set()

    outcome = sent(delivery_to(url.format(port=receiver.server_port)))

    assert outcome.trouble.startswith("The URL cannot be called: only https on port")
    assert receiver.connections == 0


def test_asks_no_proxy_of_the_environment(receiver, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")

    assert sent(delivery_to(receiver.url)) == Outcome(status=204)


# The address that was looked at is the one that is called


class Rebinding:
    """A name server that answers something else each time it is asked."""

    def __init__(self, *answers):
        self.answers = iter(answers)
        self.asked = 0

    def __call__(self, host, port, *_, **__):
        self.asked += 1
        return [(0, 0, 0, "", (next(self.answers), port))]


def test_connects_to_the_address_that_was_looked_at(receiver, monkeypatch):
    """Public when it is looked at, loopback from then on: 0 connections inside."""
    names = Rebinding("203.0.113.7", "127.0.0.1", "127.0.0.1")
    called = []

    def refuse(place, *_, **__):
        called.append(place)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(sending, "addresses_of", lambda *_, **__: ["203.0.113.7"])
    monkeypatch.setattr(socket, "getaddrinfo", names)
    monkeypatch.setattr(socket, "create_connection", refuse)

    sent(delivery_to("https://shop.example.net/hook"))

    assert called == [("203.0.113.7", 443)]
    assert (names.asked, receiver.connections) == (0, 0)


def test_asks_for_a_name_once(receiver, monkeypatch):
    names = Rebinding("127.0.0.1", "203.0.113.7")
    monkeypatch.setattr(socket, "getaddrinfo", names)

    outcome = sent(delivery_to("https://shop.example.net/hook"))

    assert outcome.trouble == (
        "shop.example.net leads to 127.0.0.1, which is not public"
    )
    assert (names.asked, receiver.connections) == (1, 0)


class Named(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.hosts.append(self.headers["Host"])
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


@pytest.fixture
def tls_receiver(monkeypatch):
    """Speaks TLS as shop.example.net, on loopback; keeps the names it was called by."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    trusting = ssl.create_default_context(cafile=CERTIFICATE)
    monkeypatch.setattr(sending, "_certificates", lambda: trusting)
    with HTTPServer(("127.0.0.1", 0), Named) as server:
        server.hosts, server.indications = [], []
        server.handle_error = lambda *_: None
        context.sni_callback = lambda _, name, __: server.indications.append(name)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_calls_by_the_name_that_the_url_has(tls_receiver):
    target = Target(
        "https", "shop.example.net", tls_receiver.server_port, "/", excused=True
    )

    assert call(target, line_to("127.0.0.1")) == Outcome(status=204)

    assert tls_receiver.indications == ["shop.example.net"]
    assert tls_receiver.hosts == [f"shop.example.net:{tls_receiver.server_port}"]


def test_trusts_no_certificate_of_another_name(tls_receiver):
    target = Target(
        "https", "other.example.net", tls_receiver.server_port, "/", excused=True
    )

    outcome = call(target, line_to("127.0.0.1"))

    assert "certificate verify failed" in outcome.trouble
    assert tls_receiver.hosts == []


def test_calls_the_next_address_where_one_does_not_answer(receiver):
    target = target_of(receiver.url, excused={receiver.place})

    assert call(target, line_to("127.0.0.2", "127.0.0.1")) == Outcome(status=204)
