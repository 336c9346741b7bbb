"""Links of affiliates: they lead straight to the landing page of the program."""

from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from django.conf import settings


def referral_link(landing_page: str, code: str) -> str:
    """The landing page with `ref=<code>` as the last parameter: clients split on it."""
    return extended(landing_page, ref=code)


def asset_link(landing_page: str, asset: str, source: str) -> str:
    """The landing page with what was shown, and whose visitor it is."""
    return extended(landing_page, tap_a=asset, tap_s=source)


def extended(landing_page: str, **parameters: str) -> str:
    """The landing page with these parameters behind its own."""
    parts = urlsplit(landing_page or f"{settings.PUBLIC_URL}/")
    added = urlencode(parameters, quote_via=quote, safe="")
    query = f"{parts.query}&{added}" if parts.query else added
    return urlunsplit(parts._replace(query=query, path=parts.path or "/"))
