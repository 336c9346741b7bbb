"""X-Api-Key (or Api-Key) → the key and its account."""

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed

from accounts.actor import known_as
from accounts.services.keys import recognise, touch
from affiliate_site.api.errors import TooManyRequests
from affiliate_site.floods import too_many_wrong_keys

HEADERS = ("HTTP_X_API_KEY", "HTTP_API_KEY")


class KeyHeader(BaseAuthentication):
    """A key in a header, never in an address; there is no cookie."""

    def authenticate(self, request):
        text = sent_key(request)
        if not text:
            return None
        key = recognise(text)
        if key is None:
            if too_many_wrong_keys(request):
                raise TooManyRequests
            raise AuthenticationFailed
        touch(key, at=timezone.now())
        known_as(f"key {key.prefix}")
        return key.account, key

    def authenticate_header(self, request):
        return "ApiKey"


def sent_key(request) -> str:
    """The first header that is not blank, as sent."""
    for header in HEADERS:
        if text := request.META.get(header, "").strip():
            return text
    return ""
