"""The cookie of a visitor, set by the server where the shop passes page calls on.

Safari keeps a cookie that a script writes for seven days, one of the server as long as
it says.
"""

import re
from urllib.parse import SplitResult

from django.http import HttpRequest, HttpResponse

from accounts.url_safety import split_url

# As in tap.js, which reads and deletes it.
COOKIE = "tap_vid"
MAX_AGE_SECONDS = 365 * 24 * 3600
DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+", re.ASCII)


def set_visitor_cookie(
    response: HttpResponse, request: HttpRequest, tracking_id: str, domain: object
) -> None:
    """Set the cookie for the host of the page, or for a `domain` above it.

    It lasts as long whatever program the link is of: the answer does not tell whether
    its code is known. When the click has become too old, the server decides.
    """
    origin = read_origin(request)
    response.set_cookie(
        COOKIE,
        tracking_id,
        max_age=MAX_AGE_SECONDS,
        domain=find_cookie_domain(origin.hostname or "", domain),
        secure=origin.scheme != "http",
        samesite="Lax",
    )


def read_origin(request: HttpRequest) -> SplitResult:
    """Return scheme and host of the page that calls; empty if it does not say so."""
    try:
        return split_url(request.headers.get("Origin", ""))
    except ValueError:
        return split_url("")


def find_cookie_domain(host: str, domain: object) -> str | None:
    """Return the domain of a cookie for this host and, as wanted, hosts beside it; None
    if the domain is not above the host."""
    wanted = str(domain or "").strip().lower().removeprefix(".")
    if not DOMAIN.fullmatch(wanted) or not f".{host}".endswith(f".{wanted}"):
        return None
    return wanted
