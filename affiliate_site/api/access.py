"""Who may call: the API key, then the rate limit, then plan and role."""

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.permissions import BasePermission
from rest_framework.throttling import BaseThrottle

from accounts.actor import ActorKind, build_actor, set_actor
from accounts.services.api_keys import find_api_key, record_api_key_use
from accounts.services.rate_limits import RateLimit, count_request
from affiliate_site.roles import get_permission_name, get_permissions
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
        set_actor(build_actor(ActorKind.KEY, key.prefix))
        return key.account, key

    def authenticate_header(self, request):
        return "ApiKey"


def get_api_key_header(request) -> str:
    """Return the first key header that is not blank, or an empty string."""
    for header in API_KEY_HEADERS:
        if value := request.META.get(header, "").strip():
            return value
    return ""


SEPARATOR = "|"  # no key id and no class name contains it


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


PERMISSION_BY_METHOD = {
    "GET": "view",
    "HEAD": "view",
    "POST": "add",
    "PUT": "change",
    "PATCH": "change",
    "DELETE": "delete",
}


class PlanAndRolePermission(BasePermission):
    """Checks plan features and role permissions, before any object is loaded."""

    def has_permission(self, request, view):
        plan = request.user.plan
        feature = view.plan_features.get(view.action)
        if not plan.api or (feature and not getattr(plan, feature)):
            return False
        permission = get_permission_name(self.get_verb(request, view), view.permission_model)
        return permission in get_permissions(request.auth.role)

    def get_verb(self, request, view) -> str:
        """Return `view`, `add`, `change` or `delete`."""
        return PERMISSION_BY_METHOD[request.method]
