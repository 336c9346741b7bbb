"""The signed probe of `manage.py doctor`: what the service sees of a request.

It shows whether the proxies in front pass scheme, host and address of a client on.
"""

from django.core import signing
from django.http import HttpResponse

from accounts.exact_json import serialize_exact_json
from affiliate_site.throttling import get_client_ip

HEADER = "X-Doctor"
SALT = "affiliate_site.operations.probe"
MAX_AGE_SECONDS = 60


def sign_probe() -> str:
    """Return a value of the header, which is valid for a minute."""
    return signing.dumps("probe", salt=SALT)


def is_probe(request) -> bool:
    """Return whether the request was signed with the secret key of this service."""
    try:
        signing.loads(request.headers.get(HEADER, ""), salt=SALT, max_age=MAX_AGE_SECONDS)
    except signing.BadSignature:
        return False
    return True


def describe_request(request) -> HttpResponse:
    """Return scheme, host and address as the service evaluates them."""
    request_seen = {
        "scheme": request.scheme,
        "host": request.META.get("HTTP_HOST", ""),
        "address": get_client_ip(request),
    }
    return HttpResponse(
        serialize_exact_json({"status": "ok", "request": request_seen}),
        content_type="application/json",
    )
