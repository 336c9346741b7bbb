"""Rate limits per IP address with django-ratelimit, and their shared counter.

Rules: docs/api-contract.md, section 1.8.
"""

import ipaddress
import unicodedata
from datetime import timedelta

from django.conf import settings
from django.core.cache.backends.base import BaseCache
from django.utils import timezone
from django_ratelimit.core import get_usage

from accounts.services.rate_limits import add_hits, open_window

UNKNOWN_IP = "0.0.0.0"  # noqa: S104 - stands for an invalid address, e.g. of a Unix socket
WRONG_KEY_RATE = "300/m"
BROWSER_CALL_RATE = "120/m"
SIGN_IN_RATE_PER_IP = "20/m"
SIGN_IN_RATE_PER_IP_AND_EMAIL = "5/m"


def get_client_ip(request) -> str:
    """Return the IP of the socket, or of `X-Forwarded-For` behind trusted proxies."""
    proxies = settings.TRUSTED_PROXY_COUNT
    forwarded_for = request.META.get("HTTP_X_FORWARDED_FOR", "")
    hops = forwarded_for.split(",") if forwarded_for else []
    if proxies and len(hops) >= proxies:
        return normalize_ip(hops[-proxies])
    return normalize_ip(request.META.get("REMOTE_ADDR", ""))


def normalize_ip(text: str) -> str:
    """Return the IP without port; `UNKNOWN_IP` for invalid text."""
    text = text.strip()
    if text.count(":") == 1:
        text = text.partition(":")[0]
    text = text.partition("]")[0].lstrip("[")
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return UNKNOWN_IP


def count_wrong_key(request) -> bool:
    """Count one wrong key of this IP; return whether the limit is exceeded."""
    return _count_hit(request, "wrong-keys", WRONG_KEY_RATE)


def count_browser_call(request, name: str) -> bool:
    """Count one call of this IP to a tracking endpoint; return whether the limit is
    exceeded."""
    return _count_hit(request, f"track-{name}", BROWSER_CALL_RATE)


def count_sign_in_attempt(request, email: str) -> bool:
    """Count one sign-in attempt; return whether a limit is exceeded.

    Both limits depend on the IP, so nobody can lock out the user of an e-mail address.
    """

    def get_ip_and_email(group, request):
        # Normalized as the form does it: other spellings share one counter.
        normalized = unicodedata.normalize("NFKC", email).strip().casefold()
        return f"{get_client_ip(request)} {normalized}"

    # Both are counted, even if the first one is exceeded.
    exceeded = [
        _count_hit(request, "sign-ins", SIGN_IN_RATE_PER_IP),
        _count_hit(
            request,
            "sign-ins-per-email",
            SIGN_IN_RATE_PER_IP_AND_EMAIL,
            get_ip_and_email,
        ),
    ]
    return any(exceeded)


def _count_hit(request, group: str, rate: str, key="ip") -> bool:
    """Count one request of a group; return whether the limit is exceeded."""
    usage = get_usage(request, group=group, key=key, rate=rate, increment=True)
    return bool(usage and usage["should_limit"])


class RateLimitCache(BaseCache):
    """The cache of django-ratelimit: counters in the database, one statement per hit.

    Django's database and file caches lose increments. Only the methods that the library
    calls are implemented.
    """

    def __init__(self, location, params):
        super().__init__(params)

    def add(self, key, value, timeout=60, version=None):
        window = timedelta(seconds=timeout)
        return open_window(str(key), hits=value, window=window, at=timezone.now())

    def incr(self, key, delta=1, version=None):
        hits = add_hits(str(key), hits=delta)
        if hits is None:
            raise ValueError(f"There is no counter {key!r}")
        return hits

    def get(self, key, default=None, version=None):
        hits = add_hits(str(key), hits=0)
        return default if hits is None else hits
