"""Affiliate links, which are landing pages with tracking parameters, and the portal."""

from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from django.conf import settings

from accounts.models.accounts import Account
from tracking.services.portal_settings import build_portal_url


def build_referral_link(landing_page: str, code: str) -> str:
    """Append `ref=<code>` as the last parameter; API clients split the link there."""
    return append_query_parameters(landing_page, ref=code)


def build_password_url(account: Account, token: str) -> str:
    """Return the address where an affiliate sets a password."""
    return build_portal_url(account, f"password/{token}/")


def build_asset_link(landing_page: str, asset: str, source: str) -> str:
    """Append the asset (`tap_a`) and the source of the affiliate (`tap_s`)."""
    return append_query_parameters(landing_page, tap_a=asset, tap_s=source)


def append_query_parameters(landing_page: str, **parameters: str) -> str:
    """Append parameters to those of the landing page."""
    parts = urlsplit(landing_page or f"{settings.PUBLIC_URL}/")
    added = urlencode(parameters, quote_via=quote, safe="")
    query = f"{parts.query}&{added}" if parts.query else added
    return urlunsplit(parts._replace(query=query, path=parts.path or "/"))
