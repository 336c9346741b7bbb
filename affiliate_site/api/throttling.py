"""Rate limits per API key and action (docs/api-contract.md, section 1.8)."""

from rest_framework.throttling import BaseThrottle

from accounts.services.rate_limits import RateLimit, count_request

SEPARATOR = "|"  # occurs in no key id and in no class name


class RateLimitThrottle(BaseThrottle):
    """Counts requests of the actions that have a rate limit, each in its own window."""

    def allow_request(self, request, view):
        rate = get_rate(view, view.action)
        if rate is None:
            return True
        parts = [str(request.auth.pk), type(view).__name__, view.action]
        view.usage = count_request(SEPARATOR.join(parts), rate)
        return not view.usage.is_exceeded


def get_rate(view, action: str) -> RateLimit | None:
    """Return the rate limit of an action, or None."""
    declared = view.throttle_rate
    return declared.get(action) if isinstance(declared, dict) else declared


def add_rate_limit_headers(response, usage) -> None:
    """Set the three rate limit headers of a counted response."""
    response["X-RateLimit-Limit"] = str(usage.limit)
    response["X-RateLimit-Remaining"] = str(usage.remaining)
    response["X-RateLimit-Reset"] = str(usage.reset_timestamp)
