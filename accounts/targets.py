"""Which URLs and which addresses the house may call; no network is asked here."""

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
from urllib.parse import urlsplit

from accounts.errors import OddUrl

PORTS = {"https": 443, "http": 80}
NO_URL = "it is not like https://host/path"
LONGEST_HOST = 253
LONGEST_LABEL = 63
VISIBLE = re.compile(r"[!-~]+", re.ASCII)
HOST = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?|[0-9a-f:.]+", re.ASCII)

PUBLIC_IPV6 = IPv6Network("2000::/3")  # what is given out: no NAT64, no site-local
# Given to nobody, whatever a Python of some age says of them.
RESERVED = [ip_network(net) for net in ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")]


@dataclass(frozen=True)
class Target:
    """Where a URL leads; `excused`: the operator lists this host and port."""

    scheme: str
    host: str
    port: int
    path: str
    excused: bool


def target_of(url: str, *, excused: Collection[str]) -> Target:
    """Take a URL apart, or say what is wrong with it.

    https on port 443 without user info, or a `host:port` that the operator excuses.
    """
    if not VISIBLE.fullmatch(url):
        raise OddUrl(why="it holds something else than visible ASCII characters")
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        raise OddUrl(why=NO_URL) from None
    host = parts.hostname or ""
    if "@" in parts.netloc or parts.fragment:
        raise OddUrl(why="it holds a user or a fragment, which no receiver sees")
    if parts.scheme not in PORTS or not _is_host(host, parts.netloc, parts.port):
        raise OddUrl(why=NO_URL)
    is_excused = f"{in_brackets(host)}:{port}" in excused
    if not is_excused and (parts.scheme, port) != ("https", PORTS["https"]):
        raise OddUrl(
            why="only https on port 443 is called, or what WEBHOOK_ALLOWED_HOSTS lists"
        )
    if not is_excused and leads_inside(host):
        raise OddUrl(why=f"{host} is not public, and WEBHOOK_ALLOWED_HOSTS lacks it")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port, path, excused=is_excused)


def leads_inside(host: str) -> bool:
    """Is it an address, as it stands, that lies inside? A name is looked up later."""
    try:
        return not is_public(host)
    except ValueError:
        return host == "localhost"


def in_brackets(host: str) -> str:
    """A host as a URL writes it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def _is_host(host: str, written: str, port: int | None) -> bool:
    """Is it a name or an address, and was nothing else written beside it?"""
    whole = in_brackets(host) + (f":{port}" if port else "")
    return (
        bool(HOST.fullmatch(host))
        and written.lower() == whole
        and len(host) <= LONGEST_HOST
        and max(map(len, host.split("."))) <= LONGEST_LABEL
    )


def is_public(text: str) -> bool:
    """Does the address lead out, whatever it is wrapped in?"""
    address = ip_address(text)
    return all(_is_public(it) for it in (address, *_wrapped_in(address)))


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if any(address in net for net in RESERVED if net.version == address.version):
        return False
    if isinstance(address, IPv6Address) and not address.ipv4_mapped:
        return address in PUBLIC_IPV6 and (
            address.is_global or bool(_wrapped_in(address))
        )
    return address.is_global and not address.is_multicast


def _wrapped_in(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that a mapped, 6to4 or Teredo address stands for."""
    if isinstance(address, IPv4Address):
        return []
    teredo = address.teredo or ()
    number = int(address)
    isatap = IPv4Address(number & 0xFFFFFFFF) if _is_isatap(number) else None
    return [
        it for it in (address.ipv4_mapped, address.sixtofour, isatap, *teredo) if it
    ]


def _is_isatap(number: int) -> bool:
    """RFC 5214: an interface id of 0:5efe or 200:5efe, and an IPv4 address."""
    return (number >> 32) & 0xFDFFFFFF == 0x5EFE
