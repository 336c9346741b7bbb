"""What a user agent says: read when a click is shown, not when it is stored."""

from functools import lru_cache

from ua_parser import parse


@lru_cache(maxsize=2048)
def seen_with(user_agent: str) -> dict[str, str | None]:
    """Browser, system, platform and device out of a user agent; None: not told."""
    seen = parse(user_agent)
    browser, system, device = seen.user_agent, seen.os, seen.device
    return {
        "browser": versioned(browser),
        "os": versioned(system),
        "platform": known(system.family) if system else None,
        "device": known(device.family) if device else None,
    }


def versioned(part) -> str | None:
    """`Firefox 131`; the family alone where there is no version."""
    if part is None or known(part.family) is None:
        return None
    return f"{part.family} {part.major}" if part.major else part.family


def known(family: str) -> str | None:
    """`Other` says nothing."""
    return None if family == "Other" else family
