"""Affiliate links, which are landing pages with tracking parameters, and the portal."""

from collections.abc import Iterable
from urllib.parse import quote, unquote_plus, urlencode, urlunsplit

from django.conf import settings

from accounts.models.accounts import Account
from accounts.url_safety import split_url
from tracking.models.shops import Connection
from tracking.referral_links import append_query_parameters
from tracking.services.portal_settings import build_portal_url

WEB_SCHEMES = {"http", "https"}
# What decides who earns: a page that is linked to must not have them already.
TRACKING_PARAMETERS = ("ref", "tap_a", "tap_s", "sub_id", "click_id")


def build_connection_url(connection: Connection) -> str:
    """Return the address that a shop sends its events to."""
    return f"{settings.PUBLIC_URL}/in/{connection}/"


def build_short_link(account: Account, code: str, *, page: str = "", sub_id: str = "") -> str:
    """Return the link that counts the visit itself and leads on to the shop."""
    values = {"to": page, "sub_id": sub_id}
    query = urlencode({name: value for name, value in values.items() if value})
    path = f"{settings.PUBLIC_URL}/r/{account.slug}/{quote(code, safe='')}/"
    return f"{path}?{query}" if query else path


def list_shop_hosts(landing_page: str, further: Iterable[str] | None) -> list[str]:
    """Return the hosts of a shop with their ports: of its landing page, and further.

    Each has its twin: `www.shop.example` of `shop.example`, and the reverse.
    """
    try:
        hosts = [split_url(landing_page).netloc.lower()]
    except ValueError:
        hosts = []
    hosts += further or ()
    twins = ((host, f"www.{host.removeprefix('www.')}") for host in hosts if host)
    known = (each for host, www in twins for each in (host, www, www[4:]))
    return list(dict.fromkeys(known))


def find_shop_page(page: str, landing_page: str, further: Iterable[str] | None = None) -> str:
    """Return the page, if it is of a host of the shop, else an empty text.

    `further` are hosts besides that of the landing page. Hosts are compared with their
    port; addresses with a user are of no host. The result has no tracking parameters of
    another link, and https:// where the shop has it.
    """
    is_odd = not page.isprintable() or any(each in page for each in " \\")
    try:
        parts, landing = split_url(page), split_url(landing_page)
    except ValueError:
        return ""
    host = parts.netloc.lower()
    is_of_shop = host in list_shop_hosts(landing_page, further)
    if is_odd or "@" in host or not is_of_shop or parts.scheme not in WEB_SCHEMES:
        return ""
    scheme = "https" if "https" in {parts.scheme, landing.scheme} else "http"
    pairs = parts.query.split("&") if parts.query else []
    kept = [pair for pair in pairs if get_name(pair) not in TRACKING_PARAMETERS]
    return urlunsplit(parts._replace(scheme=scheme, query="&".join(kept)))


def get_name(pair: str) -> str:
    """Return the name of a query parameter that is `name=value`."""
    return unquote_plus(pair.partition("=")[0])


def build_password_url(account: Account, token: str) -> str:
    """Return the address where an affiliate sets a password."""
    return build_portal_url(account, f"password/{token}/")


def build_view_url(account: Account, token: str) -> str:
    """Return the address where staff see the portal as an affiliate does."""
    return build_portal_url(account, f"view/{token}/")


def build_asset_link(landing_page: str, asset: str, source: str) -> str:
    """Append the asset (`tap_a`) and the source of the affiliate (`tap_s`)."""
    return append_query_parameters(landing_page, tap_a=asset, tap_s=source)
