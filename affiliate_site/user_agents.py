"""User agent parsing, done when a click is read, not when it is stored."""

from functools import lru_cache

from ua_parser import parse


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
    return (
        f"{component.family} {component.major}" if component.major else component.family
    )


def exclude_other(family: str) -> str | None:
    """Return None for the family `Other`."""
    return None if family == "Other" else family
