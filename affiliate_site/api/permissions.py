"""The door's questions: does the plan have it, and may this role do it?"""

from rest_framework.permissions import BasePermission

from affiliate_site.roles import permission, permissions_of

ACTS = {
    "GET": "view",
    "HEAD": "view",
    "POST": "add",
    "PUT": "change",
    "PATCH": "change",
    "DELETE": "delete",
}


class PlanAndRole(BasePermission):
    """403 before any object is looked up."""

    def has_permission(self, request, view):
        plan = request.user.plan
        feature = view.features.get(view.action)
        if not plan.api or (feature and not getattr(plan, feature)):
            return False
        act = view.acts.get(view.action, ACTS[request.method])
        asked = permission(act, view.thing)
        return asked in permissions_of(request.auth.role)
