"""Answers 403 unless the plan of the account and the role of the key allow it."""

from rest_framework.permissions import BasePermission

from affiliate_site.roles import get_permission_name, get_permissions

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
        permission = get_permission_name(
            self.get_verb(request, view), view.permission_model
        )
        return permission in get_permissions(request.auth.role)

    def get_verb(self, request, view) -> str:
        """Return `view`, `add`, `change` or `delete`."""
        return PERMISSION_BY_METHOD[request.method]
