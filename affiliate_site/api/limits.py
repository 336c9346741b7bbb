"""Rates beside the endpoint: counted per key, told in three headers."""

from accounts.services.usage import Rate, Usage, hit
from affiliate_site.api.errors import TooManyRequests

SEPARATOR = "|"  # neither a key's id nor a class's name can hold it


class Limited:
    """Counts a request where its endpoint has a rate. DRF calls both methods."""

    rates: Rate | dict[str, Rate] = {}  # one Rate: each action has a window of its own
    usage: Usage | None = None

    def check_throttles(self, request):
        rate = rate_of(self, self.action)
        if rate is None:
            return
        endpoint = SEPARATOR.join(
            [str(request.auth.pk), type(self).__name__, self.action]
        )
        self.usage = hit(endpoint, rate, at=self.at)
        if self.usage.exceeded:
            raise TooManyRequests

    def finalize_response(self, request, response, *args, **kwargs):
        response = super().finalize_response(request, response, *args, **kwargs)
        if self.usage is not None:
            response["X-RateLimit-Limit"] = str(self.usage.limit)
            response["X-RateLimit-Remaining"] = str(self.usage.remaining)
            response["X-RateLimit-Reset"] = str(self.usage.reset)
        return response


def rate_of(view, action: str) -> Rate | None:
    """The rate that a viewset declares for an action; None: no limit, no headers."""
    return view.rates if isinstance(view.rates, Rate) else view.rates.get(action)
