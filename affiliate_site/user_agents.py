"""User agents, parsed when a click is read, and requests that are no visits."""

from functools import lru_cache

from crawleruseragents import is_crawler
from ua_parser import parse

PREFETCH_HEADERS = ("Sec-Purpose", "Purpose", "X-Moz")
BROWSERS = ("Mozilla/", "Opera/")  # with which user agents of browsers begin
BOT = "Spider"  # the device of crawlers and of previews of links


@lru_cache(maxsize=2048)
def parse_user_agent(user_agent: str) -> dict[str, str | None]:
    """Return browser, operating system, platform and device; None where unknown."""
    parsed = parse(user_agent)
    browser, system, device = parsed.user_agent, parsed.os, parsed.device
    return {
        "browser": format_family(browser),
        "os": format_family(system),
        "platform": exclude_other(system.family) if system else None,
        "device": exclude_other(device.family) if device else None,
    }


def format_family(component) -> str | None:
    """Return family and major version (`Firefox 131`), or the family alone."""
    if component is None or exclude_other(component.family) is None:
        return None
    return f"{component.family} {component.major}" if component.major else component.family


def exclude_other(family: str) -> str | None:
    """Return None for the family `Other`."""
    return None if family == "Other" else family


@lru_cache(maxsize=2048)
def is_bot(user_agent: str) -> bool:
    """Whether no browser calls, but a crawler, a preview of links or a program."""
    return (
        not user_agent.startswith(BROWSERS)
        or is_crawler(user_agent, case_sensitive=False)
        or parse_user_agent(user_agent)["device"] == BOT
    )


def is_prefetch(request) -> bool:
    """Whether a browser prefetches or prerenders a page: it may never be shown."""
    values = (request.headers.get(name, "") for name in PREFETCH_HEADERS)
    return any("prefetch" in value.lower() for value in values)
