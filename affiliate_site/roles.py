"""What viewer, manager and owner may do: three named sets of Django permissions.

A role is written once, here, and asked by the API; the names are Django's own
(`tracking.change_program`), so that the back office can ask the same table.
"""

from functools import cache

from django.apps import apps
from django.contrib.auth.backends import ModelBackend

from accounts.models.keys import Role

OURS = ("accounts", "tracking", "payouts")
# Payments, keys and staff; and webhooks, which hand out what a key would.
MANAGED_BY_OWNERS = {"payment", "apikey", "account", "user", "webhookendpoint"}
EDITS = ("add", "change", "delete")


def permission(act, thing) -> str:
    """The name of one permission: `permission("add", Click)`."""
    return f"{thing._meta.app_label}.{act}_{thing._meta.model_name}"


@cache
def permissions_of(role: str) -> frozenset[str]:
    """Everything that a role may do."""
    things = [model for app in OURS for model in apps.get_app_config(app).get_models()]
    names = {permission("view", thing) for thing in things}
    if role == Role.VIEWER:
        return frozenset(names)
    edited = [
        thing
        for thing in things
        if role == Role.OWNER or thing._meta.model_name not in MANAGED_BY_OWNERS
    ]
    return frozenset(names | {permission(act, it) for it in edited for act in EDITS})


class ByRole(ModelBackend):
    """Tells Django what somebody who signed in may do: the role's set, for staff of
    an account; everything, for operators."""

    def has_perm(self, user, perm, obj=None):
        if not user.is_active:
            return False
        return user.is_superuser or perm in permissions_of(user.role)

    def get_all_permissions(self, user, obj=None):
        return permissions_of(Role.OWNER if user.is_superuser else user.role)
