"""Links of affiliates: they lead straight to the landing page of the program."""

from urllib.parse import urlsplit, urlunsplit

from django.conf import settings


def referral_link(landing_page: str, code: str) -> str:
    """The landing page with `ref=<code>` as the last parameter: clients split on it."""
    parts = urlsplit(landing_page or f"{settings.PUBLIC_URL}/")
    query = f"{parts.query}&ref={code}" if parts.query else f"ref={code}"
    return urlunsplit(parts._replace(query=query, path=parts.path or "/"))
