"""Rate limits per IP address with django-ratelimit, and their shared counter.

Rules: docs/api-contract.md, section 1.8.
"""

import hashlib
import ipaddress
import unicodedata  # noqa: TID251 - `normalize_name` cuts first
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.core.cache.backends.base import BaseCache
from django_ratelimit.core import get_usage

from accounts.email_addresses import fold_email
from accounts.models.users import MAX_EMAIL_LENGTH
from accounts.services.rate_limits import (
    RateLimit,
    add_hits,
    count_request,
    open_window,
)

UNKNOWN_IP = "0.0.0.0"  # noqa: S104 - stands for an invalid address, e.g. of a Unix socket


@dataclass(frozen=True)
class ClientRate:
    """Hits of an IPv4 address or an IPv6 /64, and of a whole IPv6 /48.

    A customer of a provider gets a /64 to a /48, and changes addresses freely in it.
    """

    rate: str
    per_48: RateLimit


NETWORKS_PER_48 = 256  # that are counted apart; the /64 in a /48 share them
WRONG_KEYS = ClientRate("300/m", RateLimit(3000, minutes=1))
BROWSER_CALLS = ClientRate("120/m", RateLimit(1200, minutes=1))
SIGN_INS = ClientRate("20/m", RateLimit(60, minutes=1))
APPLICATIONS = ClientRate("10/h", RateLimit(30, minutes=60))
SIGN_INS_PER_EMAIL = ClientRate("5/m", RateLimit(10, minutes=1))


def get_client_ip(request) -> str:
    """Return the IP of the socket, or of `X-Forwarded-For` behind trusted proxies.

    Behind a shop's proxy that has proved itself it is the visitor's.
    """
    if page_proxy := getattr(request, "page_proxy", None):
        return str(page_proxy.visitor_ip)
    proxies = settings.TRUSTED_PROXY_COUNT
    forwarded_for = request.META.get("HTTP_X_FORWARDED_FOR", "")
    hops = forwarded_for.split(",") if forwarded_for else []
    if proxies and len(hops) >= proxies:
        return normalize_ip(hops[-proxies])
    return normalize_ip(request.META.get("REMOTE_ADDR", ""))


def normalize_ip(text: str) -> str:
    """Return the IP without port and scope, an IPv4 address in IPv6 as IPv4;
    `UNKNOWN_IP` for invalid text."""
    text = text.strip()
    if text.count(":") == 1:
        text = text.partition(":")[0]
    text = text.partition("]")[0].partition("%")[0].lstrip("[")
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return UNKNOWN_IP
    return str(getattr(ip, "ipv4_mapped", None) or ip)


def count_wrong_key(request) -> bool:
    """Count one wrong key of this IP; return whether the limit is exceeded."""
    return _count_hit(request, "wrong-keys", WRONG_KEYS)


def count_browser_call(request, name: str) -> bool:
    """Count one call of this IP to a tracking endpoint; return whether the limit is
    exceeded.

    The addresses that the proxy of a shop names have counters of its account, so it
    uses up nobody's elsewhere.
    """
    page_proxy = getattr(request, "page_proxy", None)
    subject = page_proxy.account.slug if page_proxy else ""
    return _count_hit(request, f"track-{name}", BROWSER_CALLS, subject)


def count_application(request, account: str) -> bool:
    """Count one application of this IP to the account with this slug; return whether
    the limit is exceeded."""
    return _count_hit(request, "portal-applications", APPLICATIONS, account)


def count_sign_in_attempt(
    request, email: str, *, group: str = "sign-ins", account: str = ""
) -> bool:
    """Count one sign-in attempt of a group; return whether a limit is exceeded.

    Both limits depend on the IP, so nobody can lock out the user of an e-mail address.
    With `account`, an address has a counter for each account.
    """
    normalized = normalize_name(email)
    subject = f"{account} {normalized}" if account else normalized
    # The sender names the second counter, so a client that is over its own limit opens
    # no more of them.
    return _count_hit(request, group, SIGN_INS) or _count_hit(
        request, f"{group}-per-email", SIGN_INS_PER_EMAIL, subject
    )


def normalize_name(name: str) -> str:
    """Return a name as the form normalizes it: other spellings share one counter.

    So do those that are too long for the form, which nobody has.
    """
    if len(name) > MAX_EMAIL_LENGTH:
        return ""
    return fold_email(unicodedata.normalize("NFKC", name).strip())


def _count_hit(request, group: str, limit: ClientRate, subject: str = "") -> bool:
    """Count one request of a group; return whether the limit is exceeded.

    What the limit of a /64 refuses does not count for its /48, so one network cannot
    use up the allowance of its neighbors.
    """
    ip = get_client_ip(request)
    is_ipv6 = ":" in ip
    key = f"{_get_group_of_networks(ip) if is_ipv6 else ip} {subject}"
    usage = get_usage(request, group=group, key=lambda *_: key, rate=limit.rate, increment=True)
    if usage and usage["should_limit"]:
        return True
    if not is_ipv6:
        return False
    text = f"{group} {_get_network(ip, 48)} {subject}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return count_request(digest, limit.per_48).is_exceeded


def _get_network(ip: str, prefix: int) -> str:
    """Return the network of an IPv6 address."""
    return str(ipaddress.ip_network((ip, prefix), strict=False))


def _get_group_of_networks(ip: str) -> str:
    """Return a name for the /64 of an IPv6 address: a /48 has 256 of them.

    So a /48, which has 65,536 such networks, opens few counters.
    """
    number = int(ipaddress.ip_address(ip)) >> 64
    return f"{_get_network(ip, 48)} {number % NETWORKS_PER_48}"


class RateLimitCache(BaseCache):
    """The cache of django-ratelimit: counters in the database, one statement per hit.

    Django's database and file caches lose increments. Only the methods that the library
    calls are implemented.
    """

    def __init__(self, location, params):
        super().__init__(params)

    def add(self, key, value, timeout=60, version=None):
        window = timedelta(seconds=timeout)
        return open_window(str(key), hits=value, window=window)

    def incr(self, key, delta=1, version=None):
        hits = add_hits(str(key), hits=delta)
        if hits is None:
            raise ValueError(f"There is no counter {key!r}")
        return hits

    def get(self, key, default=None, version=None):
        hits = add_hits(str(key), hits=0)
        return default if hits is None else hits
