"""The roles viewer, manager, finance and owner as sets of Django permissions.

The API and the back office both check these sets; the permission names are Django's own
(`tracking.change_program`).
"""

from functools import cache

from django.apps import apps
from django.contrib.auth.backends import ModelBackend

from accounts.models.api_keys import PROXY, Role
from accounts.models.users import User
from payouts.services.decisions import count_to_check
from payouts.services.risk_cases import count_open_cases
from tracking.services.questions import count_open_questions

TENANT_APPS = ("accounts", "tracking", "payouts")
# What finance writes, with payments; managers write the others, too.
FINANCE_ONLY_MODELS = {
    *("payment", "payoutsettings", "payoutrun", "payoutline", "payoutfile"),
    *("document", "taxrule", "withheldbalance", "closedmonth"),
}
FINANCE_MODELS = FINANCE_ONLY_MODELS | {
    *("payoutminimum", "payoutmethod", "taxdata", "alert", "exchangerate"),
}
# Keys and staff; webhooks too, as they send out what a key could read; shops, whose
# events are sales, and imports, which write affiliates and money.
OWNER_ONLY_MODELS = {
    "apikey",
    "signingsecret",
    "account",
    "user",
    "invitation",
    "webhookendpoint",
    "connection",
    "tableimport",
    "tableupload",
}
WRITE_ACTIONS = ("add", "change", "delete")


def get_permission_name(action, model) -> str:
    """The name of one permission: `get_permission_name("add", Click)`."""
    return f"{model._meta.app_label}.{action}_{model._meta.model_name}"


@cache
def get_permissions(role: str) -> frozenset[str]:
    """All permissions of a role; `PROXY` has none."""
    if role == PROXY:
        return frozenset()
    models = [model for app in TENANT_APPS for model in apps.get_app_config(app).get_models()]
    names = {get_permission_name("view", model) for model in models}
    if role == Role.VIEWER:
        return frozenset(names)
    writable = [model for model in models if can_write(role, model)]
    return frozenset(
        names
        | {get_permission_name(action, model) for model in writable for action in WRITE_ACTIONS}
    )


def can_write(role: str, model) -> bool:
    """Whether a role that writes adds, changes and deletes rows of a model."""
    model_name = model._meta.model_name
    if role == Role.FINANCE:
        return model_name in FINANCE_MODELS
    return role == Role.OWNER or model_name not in (OWNER_ONLY_MODELS | FINANCE_ONLY_MODELS)


class RoleBackend(ModelBackend):
    """Authentication backend: staff have the permissions of their role, operators have
    all permissions."""

    def authenticate(self, request, username=None, password=None, account="", **kwargs):
        """Return the user of this account (or the operator) with this password.

        One password is hashed in any case: the time does not tell whether the user
        exists, nor in which accounts.
        """
        user = User.objects.find_for_sign_in(account=account, email=username or "")
        if user is None:
            User().set_password(password)
        elif user.check_password(password) and self.user_can_authenticate(user):
            return user
        return None

    def get_user(self, user_id):
        """Return the signed-in user, unless deactivated meanwhile.

        With its account, `to_check`, `open_questions` and `open_cases`, the numbers in the
        sidebar, which every page shows.
        """
        users = User.objects.select_related("account")
        users = users.annotate(
            to_check=count_to_check(),
            open_questions=count_open_questions(),
            open_cases=count_open_cases(),
        )
        user = users.filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None

    def has_perm(self, user, perm, obj=None):
        if not user.is_active:
            return False
        return user.is_superuser or perm in get_permissions(user.role)

    def get_all_permissions(self, user, obj=None):
        return get_permissions(Role.OWNER if user.is_superuser else user.role)
