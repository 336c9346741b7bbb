"""One call to a receiver: signed, to a checked address, ten seconds in all."""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from time import monotonic

import httpcore
import httpx
from django.conf import settings
from standardwebhooks import Webhook

from accounts.errors import OddUrl
from accounts.models.webhooks import Delivery
from accounts.services.deliveries import Outcome
from accounts.targets import PORTS, Target, in_brackets, target_of
from affiliate_site.webhooks.addresses import Unreachable, addresses_of

SECONDS = 10  # contract 6.3: name, connection, answer, all of it
NO_TIME = 0.001  # seconds; none at all would mean without a limit
READ_AT_MOST = 64 * 1024
REMEMBERED = 2 * 1024
TOO_SLOW = f"no whole answer within {SECONDS} s"
AGENT = "Affiliate-Site-Webhooks"
SUCCESS = range(200, 300)
REDIRECT = range(300, 400)

Headers = list[tuple[str, str]]


def send(delivery: Delivery, *, at: datetime) -> Outcome:
    """Call the receiver of a delivery. Nothing is asked of the database."""
    endpoint, until = delivery.endpoint, monotonic() + SECONDS
    try:
        url = delivery.url or endpoint.url
        target = target_of(url, excused=settings.WEBHOOK_ALLOWED_HOSTS)
        addresses = addresses_of(target, seconds=SECONDS)
    except (OddUrl, Unreachable) as refusal:
        return Outcome(trouble=str(refusal))
    line = Line(addresses, until)
    if endpoint.affiliate:
        return call(target, line, method=endpoint.method)
    headers = headers_of(delivery, at=at)
    return call(target, line, headers=headers, body=bytes(delivery.body))


def headers_of(delivery: Delivery, *, at: datetime) -> Headers:
    """Contract 6.2; the signatures of both secrets for a day after a rotation."""
    body, webhook_id = bytes(delivery.body).decode(), delivery.webhook_id
    signatures = [
        Webhook(secret).sign(webhook_id, at, body)
        for secret in delivery.endpoint.secrets(at=at)
    ]
    return [
        ("Content-Type", "application/json"),
        ("webhook-id", webhook_id),
        ("webhook-timestamp", str(int(at.timestamp()))),
        ("webhook-signature", " ".join(signatures)),
        ("webhook-event", delivery.event.kind),
    ]


def call(
    target: Target,
    line: "Line",
    *,
    method: str = "POST",
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
) -> Outcome:
    """Call over this line, by the name that the URL has."""
    status, answer, trouble = None, b"", ""
    try:
        with line.timed(), _asked(target, line, method, headers, body) as response:
            status = response.status  # known, whatever becomes of the rest
            answer = _beginning(response)
    except (httpcore.ReadTimeout, httpcore.WriteTimeout):
        trouble = TOO_SLOW  # the limit on one read was met just before the cut
    except (httpcore.NetworkError, httpcore.TimeoutException) as error:
        trouble = f"no connection: {error or type(error).__name__}"
    except httpcore.ProtocolError as error:
        trouble = f"not HTTP: {error}"
    text = answer[:REMEMBERED].decode(errors="replace").replace("\x00", "\ufffd")
    return Outcome(status, text, line.cut_short or trouble or _fault_of(status))


class Line(httpcore.SyncBackend):
    """A connection to an address that was looked at, cut when the time is over.

    A receiver that sends a byte now and then never meets a limit on one read, and the
    limit is on the whole call: so the line is cut from outside.
    """

    def __init__(self, addresses: Sequence[str], until: float) -> None:
        self.addresses = addresses
        self.until = until  # of the monotonic clock
        self.over = False
        self.ends: list[socket.socket] = []

    @property
    def cut_short(self) -> str:
        """What to say of a call that was cut; empty where it was not."""
        return TOO_SLOW if self.over else ""

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(self.until - monotonic(), NO_TIME)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """The time in which the call has to be done."""
        timer = threading.Timer(self.left, self.cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            for end in self.ends:
                end.close()

    def cut(self) -> None:
        """End whatever is being read or written."""
        self.over = True
        for end in self.ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def connect_tcp(self, host, port, timeout=None, *args, **kwargs):
        """Connect to the first address that answers, whatever the name is by now."""
        refusal = httpcore.ConnectError(f"{host} has no address")
        for address in self.addresses:
            try:
                stream = super().connect_tcp(address, port, self.left, *args, **kwargs)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refusal = error
                continue
            # A second handle: TLS takes the first one for its own.
            self.ends.append(stream.get_extra_info("socket").dup())
            if self.over:
                self.cut()
            return stream
        raise refusal


@contextmanager
def _asked(
    target: Target,
    line: Line,
    method: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
) -> Iterator[httpcore.Response]:
    pool = httpcore.ConnectionPool(network_backend=line, ssl_context=_certificates())
    url = httpcore.URL(
        scheme=target.scheme.encode(),
        host=target.host.encode(),
        port=target.port,
        target=target.path.encode(),
    )
    limit = dict.fromkeys(("connect", "read", "write"), line.left)
    place = in_brackets(target.host)
    if target.port != PORTS[target.scheme]:
        place = f"{place}:{target.port}"
    told = [("Host", place), ("User-Agent", AGENT), *headers]
    with (
        pool,
        pool.stream(
            method, url, headers=told, content=body, extensions={"timeout": limit}
        ) as response,
    ):
        yield response


def _beginning(response: httpcore.Response) -> bytes:
    """The answer, up to the limit; what comes after is left unread."""
    read = b""
    for part in response.iter_stream():
        read += part
        if len(read) >= READ_AT_MOST:
            break
    return read


def _fault_of(status: int | None) -> str:
    if status in SUCCESS:
        return ""
    if status in REDIRECT:
        return f"answered {status}, a redirect, and none is followed"
    return f"answered {status}"


@cache
def _certificates():
    """Whom we trust, read once: the file that SSL_CERT_FILE names, else certifi's."""
    return httpx.create_ssl_context()
