"""Proxies by which a shop serves the browser script and page calls from its own host.

A proxy proves itself by an API key with the role `proxy`, and names the visitor. Only
then does the visitor's address count, in the limits and in clicks.
"""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils import timezone

from accounts.models.accounts import Account
from accounts.models.api_keys import PROXY
from accounts.services.api_keys import find_api_key, record_api_key_use
from affiliate_site.env import BASE_DIR
from affiliate_site.throttling import UNKNOWN_IP, normalize_ip

KEY_HEADER = "X-Affiliate-Proxy"
ADDRESS_HEADER = "X-Visitor-Address"
SNIPPETS = BASE_DIR / "integrations/first-party"
SNIPPET_TITLES = {
    "nginx.conf": "nginx",
    "Caddyfile": "Caddy",
    "cloudflare-worker.js": "Cloudflare",
    "vercel-middleware.js": "Vercel",
}
# Why a proxy does not count; the call does.
WRONG_KEY = "wrong_proxy_key"
NO_ADDRESS = "proxy_without_address"


@dataclass(frozen=True)
class PageProxy:
    """A proxy that has proved itself, and the address of the visitor that it names."""

    account: Account
    visitor_ip: str


def has_proxy_key(request: Any) -> bool:
    """Whether the request says that it comes from the proxy of a shop."""
    return bool(request.headers.get(KEY_HEADER, "").strip())


def recognize_proxy(request: Any, slug: object) -> str:
    """Set `page_proxy` of a request if it comes from a proxy of the account `slug`.

    Returns why it does not, or "" if it does or names no key. Keys are found by their
    digest, so the time says nothing of a wrong one. It takes one statement, as the
    look-up of the account does, which it replaces.
    """
    if not has_proxy_key(request):
        return ""
    key = find_api_key(request.headers[KEY_HEADER].strip())
    if key is None or key.role != PROXY or key.account.slug != str(slug).strip():
        return WRONG_KEY
    address = normalize_ip(request.headers.get(ADDRESS_HEADER, ""))
    if address == UNKNOWN_IP:
        return NO_ADDRESS
    request.page_proxy = PageProxy(key.account, address)
    record_api_key_use(key, at=timezone.now())
    return ""


def get_proxy(request: Any) -> PageProxy | None:
    """The proxy that has proved itself, if any."""
    return getattr(request, "page_proxy", None)


def list_snippets(key: str) -> list[tuple[str, str]]:
    """The lines for each kind of proxy with its title, with this service and key.

    Those for Cloudflare and Vercel read the key from a secret there.
    """
    return [
        (
            title,
            (SNIPPETS / name)
            .read_text()
            .replace("https://aff.example.net", settings.PUBLIC_URL)
            .replace("PROXY_KEY is", "The key is")
            .replace('"PROXY_KEY"', f'"{key}"'),
        )
        for name, title in SNIPPET_TITLES.items()
    ]
