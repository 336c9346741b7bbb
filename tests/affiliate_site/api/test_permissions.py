"""Plan features and role permissions (docs/api-contract.md, section 1.4)."""

import pytest
from django.apps import apps

from accounts.models.api_keys import API_KEY_ROLES, PROXY, Role
from affiliate_site.roles import TENANT_APPS, get_permission_name, get_permissions
from tests.command_line import is_usage_error
from tests.conftest import ApiClient

pytestmark = pytest.mark.urls("tests.dummy_endpoints")

ROLES = ["viewer", "manager", "owner"]
OPERATIONS = ["view", "add", "change", "delete"]


@pytest.fixture
def request_as(account, make_key, set_plan):
    """Send a request with a key of this role on this plan."""

    def send(method, path, body=None, *, role="owner", plan="enterprise"):
        set_plan(account, plan)
        return ApiClient(make_key(account, role)).request(method, path, body)

    return send


def assert_forbidden(response):
    assert response.status_code == 403
    assert response["Content-Type"] == "application/json"
    assert response.json() == {
        "message": "Forbidden",
        "code": 403,
        "traceId": response["X-Trace-Id"],
    }


# Plans


@pytest.mark.parametrize(("method", "status"), [("HEAD", 403), ("OPTIONS", 204)])
def test_checks_the_plan_where_a_key_is_required(request_as, method, status):
    response = request_as(method, "/programs/", plan="basic")

    assert response.status_code == status


FEATURES = {
    "basic": (False, False, False, False, False),
    "pro": (True, True, False, False, False),
    "enterprise": (True, True, True, True, True),
}


@pytest.mark.parametrize("name", FEATURES)
def test_plans_have_their_features(account, set_plan, name):
    set_plan(account, name)

    plan = account.plan
    features = (plan.api, plan.clicks, plan.bonuses, plan.mlm, plan.payouts)
    assert features == FEATURES[name]


def test_applies_a_new_plan_to_the_next_request(api, account, set_plan):
    statuses = []
    for plan in ("enterprise", "basic", "pro"):
        set_plan(account, plan)
        statuses.append(api.get("/programs/").status_code)

    assert statuses == [200, 403, 200]


# Roles


@pytest.mark.parametrize(("method", "path"), [("POST", "/dummies/"), ("DELETE", "/dummies/lamp/")])
@pytest.mark.parametrize("body", [None, "no JSON", {"name": "lamp"}], ids=repr)
def test_forbids_viewers_to_write_without_reading_the_body(request_as, method, path, body):
    assert_forbidden(request_as(method, path, body, role="viewer"))


@pytest.mark.parametrize("accept", ["text/html", "*/*"])
def test_403_is_always_json(account, make_key, set_plan, accept):
    set_plan(account, "basic")

    assert_forbidden(ApiClient(make_key(account)).get("/programs/", Accept=accept))


# Permissions of roles


def list_models():
    return [model for app in TENANT_APPS for model in apps.get_app_config(app).get_models()]


@pytest.mark.parametrize("role", Role.values)
def test_every_role_may_view_everything(role):
    assert {get_permission_name("view", model) for model in list_models()} <= get_permissions(role)


def test_viewers_may_only_view():
    assert get_permissions("viewer") == {
        get_permission_name("view", model) for model in list_models()
    }


def test_owners_may_do_everything():
    assert get_permissions("owner") == {
        get_permission_name(operation, model) for model in list_models() for operation in OPERATIONS
    }


def test_finance_pays_and_edits_payout_methods():
    written = get_permissions("finance") - get_permissions("viewer")

    assert written == {
        f"payouts.{operation}_{name}"
        for operation in ("add", "change", "delete")
        for name in (
            *("payment", "payoutmethod", "payoutminimum", "withheldbalance"),
            *("payoutfile", "payoutline", "payoutrun", "payoutsettings"),
            *("alert", "closedmonth", "document", "exchangerate", "taxdata", "taxrule"),
        )
    }


def test_api_keys_have_no_role_finance():
    assert [role for role, _ in API_KEY_ROLES] == [*ROLES, PROXY]
    assert is_usage_error("create_api_key", "harbor", "--role", "finance")


def test_managers_may_not_change_payments_keys_staff_and_webhooks():
    owner_only = get_permissions("owner") - get_permissions("manager")

    models = {name.partition("_")[2] for name in owner_only}
    operations = {name.partition(".")[2].partition("_")[0] for name in owner_only}
    assert models == {
        *("apikey", "signingsecret", "account", "payment", "user"),
        *("connection", "tableimport", "tableupload"),
        *("invitation", "webhookendpoint"),
        *("payoutfile", "payoutline", "payoutrun", "payoutsettings"),
        *("closedmonth", "document", "taxrule", "withheldbalance"),
    }
    assert operations == {"add", "change", "delete"}


def test_each_role_may_do_more_than_the_previous():
    viewer, manager, owner = (get_permissions(role) for role in ROLES)

    assert viewer < manager < owner
