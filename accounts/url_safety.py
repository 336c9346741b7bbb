"""Validate the URLs and IP addresses that webhooks may call, without network access.

See docs/reliability.md, section 6.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit  # noqa: TID251 - bounded here

from accounts.errors import InvalidUrl

DEFAULT_PORTS = {"https": 443, "http": 80}
INVALID_URL_REASON = "start with https://; it is not like https://host/path"
MAX_HOST_LENGTH = 253
MAX_LABEL_LENGTH = 63
MAX_URL_LENGTH = 8192
MAX_PARAMETERS = 100
VISIBLE_ASCII_PATTERN = re.compile(r"[!-~]+", re.ASCII)
HOST_PATTERN = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?|[0-9a-f:.]+", re.ASCII)

PARAMETER_START = re.compile(r"\?(?=[\w-]{1,64}=)", re.ASCII)  # after the first

PUBLIC_IPV6 = IPv6Network("2000::/3")  # global unicast: no NAT64, no site-local
# Some Python versions classify these as global.
RESERVED_NETWORKS_UNKNOWN_TO_PYTHON = [
    ip_network(net) for net in ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")
]


@dataclass(frozen=True)
class ParsedUrl:
    """The parts of a URL; `is_allowed`: its host and port are in the allow list."""

    scheme: str
    host: str
    port: int
    path: str
    is_allowed: bool


def split_url(url: str) -> SplitResult:
    """Split an address of any length as `urlsplit` does; raise `ValueError` as it does.

    What is beyond `MAX_URL_LENGTH` characters is not read: the time of `urlsplit` grows
    with the square of the combining marks in the host.
    """
    return urlsplit(url[:MAX_URL_LENGTH])


def read_parameters(address: Any) -> dict[str, str]:
    """Return the parameters of an address, of repeated ones the last.

    As in the browser script, they are also read where links are mangled: after
    ``&amp;``, after a second ``?``, and after a ``?`` in the fragment. There are none
    if the address cannot be read, or has more than `MAX_PARAMETERS`.
    """
    try:
        parts = split_url(str(address or ""))
        query = f"{parts.query}&{parts.fragment.partition('?')[2]}"
        query = PARAMETER_START.sub("&", query.replace("&amp;", "&"))
        found = parse_qs(query, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        return {}
    return {name: values[-1].strip() for name, values in found.items()}


def parse_url(url: str, *, allowed_hosts: Collection[str]) -> ParsedUrl:
    """Parse and validate the URL of a webhook.

    It must be https on port 443 without user info, unless `allowed_hosts` lists its
    `host:port`. Raises `InvalidUrl`.
    """
    if not VISIBLE_ASCII_PATTERN.fullmatch(url):
        raise InvalidUrl(reason="it contains characters other than visible ASCII")
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        raise InvalidUrl(reason=INVALID_URL_REASON) from None
    host = parts.hostname or ""
    if "@" in parts.netloc or parts.fragment:
        raise InvalidUrl(reason="it contains a user or a fragment")
    if parts.scheme not in DEFAULT_PORTS or not _is_host(host, parts.netloc, parts.port):
        raise InvalidUrl(reason=INVALID_URL_REASON)
    host_and_port = f"{format_host(host)}:{port}"
    is_allowed = host_and_port in allowed_hosts
    advice = f"your operator can add {host_and_port} to WEBHOOK_ALLOWED_HOSTS"
    if not is_allowed and (parts.scheme, port) != ("https", DEFAULT_PORTS["https"]):
        raise InvalidUrl(reason=f"only https on port 443: start with https://, or {advice}")
    if not is_allowed and is_internal_host(host):
        raise InvalidUrl(reason=f"{host} is not public; {advice}")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return ParsedUrl(parts.scheme, host, port, path, is_allowed=is_allowed)


def is_internal_host(host: str) -> bool:
    """Return whether the host is localhost or an IP address that is not public.

    Other names are checked when they are resolved.
    """
    try:
        return not is_public(host)
    except ValueError:
        return host == "localhost"


def format_host(host: str) -> str:
    """Format a host for a URL: an IPv6 address is put in brackets."""
    return f"[{host}]" if ":" in host else host


def _is_host(host: str, netloc: str, port: int | None) -> bool:
    """Return whether `netloc` is exactly a name or an IP address, with the port."""
    expected = format_host(host) + (f":{port}" if port else "")
    return (
        bool(HOST_PATTERN.fullmatch(host))
        and netloc.lower() == expected
        and len(host) <= MAX_HOST_LENGTH
        and max(map(len, host.split("."))) <= MAX_LABEL_LENGTH
    )


def is_public(text: str) -> bool:
    """Return whether an IP address and the IPv4 addresses embedded in it are public."""
    address = ip_address(text)
    addresses = (address, *_list_embedded_ipv4(address))
    return all(_is_public_address(each) for each in addresses)


def _is_public_address(address: IPv4Address | IPv6Address) -> bool:
    if any(
        address in net
        for net in RESERVED_NETWORKS_UNKNOWN_TO_PYTHON
        if net.version == address.version
    ):
        return False
    if isinstance(address, IPv6Address) and not address.ipv4_mapped:
        return address in PUBLIC_IPV6 and (address.is_global or bool(_list_embedded_ipv4(address)))
    return address.is_global and not address.is_multicast


def _list_embedded_ipv4(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """List the IPv4 addresses in a mapped, 6to4, ISATAP or Teredo address."""
    if isinstance(address, IPv4Address):
        return []
    teredo = address.teredo or ()
    number = int(address)
    isatap = IPv4Address(number & 0xFFFFFFFF) if _is_isatap(number) else None
    embedded = (address.ipv4_mapped, address.sixtofour, isatap, *teredo)
    return [each for each in embedded if each]


def _is_isatap(number: int) -> bool:
    """Return whether the interface ID is 0:5efe or 200:5efe and an IPv4 (RFC 5214)."""
    return (number >> 32) & 0xFDFFFFFF == 0x5EFE
