"""Guards per address, on django-ratelimit's clock grid, and the counter they share."""

import ipaddress
import unicodedata
from datetime import timedelta

from django.conf import settings
from django.core.cache.backends.base import BaseCache
from django.utils import timezone
from django_ratelimit.core import get_usage

from accounts.services.usage import add, begin

NOWHERE = "0.0.0.0"  # noqa: S104 - an address that cannot be read, e.g. a unix socket
WRONG_KEYS = "300/m"
PAGE_CALLS = "120/m"
SIGN_INS = "20/m"  # of one address
SIGN_INS_AS_ONE = "5/m"  # of one address, as one person


def address(request) -> str:
    """The caller's address: the socket's, or what the trusted proxies wrote."""
    proxies = settings.TRUSTED_PROXY_COUNT
    written = request.META.get("HTTP_X_FORWARDED_FOR", "")
    hops = written.split(",") if written else []
    if proxies and len(hops) >= proxies:
        return cleaned(hops[-proxies])
    return cleaned(request.META.get("REMOTE_ADDR", ""))


def cleaned(text: str) -> str:
    """An address without port, or a stand-in: an odd one counts, it never fails."""
    text = text.strip()
    if text.count(":") == 1:
        text = text.partition(":")[0]
    text = text.partition("]")[0].lstrip("[")
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return NOWHERE


def too_many_wrong_keys(request) -> bool:
    """Count one wrong key of this address; a right key is never counted."""
    return _is_over(request, "wrong-keys", WRONG_KEYS)


def too_many_calls(request, name: str) -> bool:
    """Count one call of the browser script by this address, to this endpoint."""
    return _is_over(request, f"track-{name}", PAGE_CALLS)


def too_many_sign_ins(request, email: str) -> bool:
    """Count one try to sign in by this address; nobody can lock another one out."""

    def as_one(group, request):
        # As the form reads it, or one letter in another width would begin anew.
        known = unicodedata.normalize("NFKC", email).strip().casefold()
        return f"{address(request)} {known}"

    over = _is_over(request, "sign-ins", SIGN_INS)
    return _is_over(request, "sign-ins-as-one", SIGN_INS_AS_ONE, as_one) or over


def _is_over(request, group: str, rate: str, key="ip") -> bool:
    usage = get_usage(request, group=group, key=key, rate=rate, increment=True)
    return bool(usage and usage["should_limit"])


class CountingCache(BaseCache):
    """The counter behind django-ratelimit: one statement a hit, seen by every process.

    Django's own database and file caches lose counts. Only what the library calls
    is here.
    """

    def __init__(self, location, params):
        super().__init__(params)

    def add(self, key, value, timeout=60, version=None):
        window = timedelta(seconds=timeout)
        return begin(str(key), hits=value, window=window, at=timezone.now())

    def incr(self, key, delta=1, version=None):
        hits = add(str(key), hits=delta)
        if hits is None:
            raise ValueError(f"There is no counter {key!r}")
        return hits

    def get(self, key, default=None, version=None):
        hits = add(str(key), hits=0)
        return default if hits is None else hits
