"""Landing pages with the parameters that decide who earns."""

from urllib.parse import quote, urlencode, urlunsplit

from django.conf import settings

from accounts.url_safety import split_url


def build_referral_link(landing_page: str, code: str, *, sub_id: str = "") -> str:
    """Append `ref=<code>` as the last parameter; API clients split the link there."""
    first = {"sub_id": sub_id} if sub_id else {}
    return append_query_parameters(landing_page, **first, ref=code)


def append_query_parameters(landing_page: str, **parameters: str) -> str:
    """Append parameters behind those of the page; without one, to this server's own."""
    parts = split_url(landing_page or f"{settings.PUBLIC_URL}/")
    added = urlencode(parameters, quote_via=quote, safe="")
    query = f"{parts.query}&{added}" if parts.query else added
    return urlunsplit(parts._replace(query=query, path=parts.path or "/"))
