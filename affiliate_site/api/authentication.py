"""Authenticates requests by the API key in `X-Api-Key` or `Api-Key`."""

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled

from accounts.actor import set_actor
from accounts.services.api_keys import find_api_key, record_api_key_use
from affiliate_site.throttling import count_wrong_key

API_KEY_HEADERS = ("HTTP_X_API_KEY", "HTTP_API_KEY")


class ApiKeyAuthentication(BaseAuthentication):
    """Reads the key from a header, never from the URL or a cookie."""

    def authenticate(self, request):
        value = get_api_key_header(request)
        if not value:
            return None
        key = find_api_key(value)
        if key is None:
            if count_wrong_key(request):
                raise Throttled
            raise AuthenticationFailed
        record_api_key_use(key, at=timezone.now())
        set_actor(f"key {key.prefix}")
        return key.account, key

    def authenticate_header(self, request):
        return "ApiKey"


def get_api_key_header(request) -> str:
    """Return the first key header that is not blank, or an empty string."""
    for header in API_KEY_HEADERS:
        if value := request.META.get(header, "").strip():
            return value
    return ""
