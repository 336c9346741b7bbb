"""Contract 1.4: what the plan has and what the role may do; 403 before any object."""

import pytest
from django.apps import apps

from affiliate_site.roles import OURS, permission, permissions_of
from tests.conftest import Api

pytestmark = pytest.mark.urls("tests.probes")

PLANS = ["basic", "pro", "enterprise"]
ROLES = ["viewer", "manager", "owner"]
ACTS = ["view", "add", "change", "delete"]


@pytest.fixture
def ask(account, key_for, set_plan):
    """Send one request by a key of this role, on this plan."""

    def send(method, path, body=None, *, role="owner", plan="enterprise"):
        set_plan(account, plan)
        return Api(key_for(account, role)).ask(method, path, body)

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


@pytest.mark.parametrize("path", ["/programs/", "/programs/unknown/", "/probes/"])
@pytest.mark.parametrize("role", ROLES)
def test_forbids_every_call_on_the_basic_plan(ask, path, role):
    assert_forbidden(ask("GET", path, role=role, plan="basic"))


@pytest.mark.parametrize(("method", "status"), [("HEAD", 403), ("OPTIONS", 204)])
def test_asks_for_the_plan_wherever_it_asks_for_the_key(ask, method, status):
    response = ask(method, "/programs/", plan="basic")

    assert response.status_code == status


@pytest.mark.parametrize("plan", ["pro", "enterprise"])
@pytest.mark.parametrize("role", ROLES)
def test_opens_the_api_on_the_larger_plans(ask, plan, role):
    response = ask("GET", "/programs/", role=role, plan=plan)

    assert response.status_code == 200


@pytest.mark.parametrize("role", ROLES)
def test_opens_a_feature_on_a_plan_that_has_it(ask, role):
    response = ask("GET", "/bonus-probes/", role=role, plan="enterprise")

    assert response.status_code == 200


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("plan", ["basic", "pro"])
def test_forbids_a_feature_that_is_not_on_the_plan(ask, role, plan):
    assert_forbidden(ask("GET", "/bonus-probes/", role=role, plan=plan))


FEATURES = {
    "basic": (False, False, False, False, False),
    "pro": (True, True, False, False, False),
    "enterprise": (True, True, True, True, True),
}


@pytest.mark.parametrize("name", PLANS)
def test_sells_three_plans(account, set_plan, name):
    set_plan(account, name)

    plan = account.plan
    features = (plan.api, plan.clicks, plan.bonuses, plan.mlm, plan.payouts)
    assert features == FEATURES[name]


def test_lets_the_new_plan_count_from_the_next_request_on(api, account, set_plan):
    statuses = []
    for plan in ("enterprise", "basic", "pro"):
        set_plan(account, plan)
        statuses.append(api.get("/programs/").status_code)

    assert statuses == [200, 403, 200]


# Roles


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_lets_every_role_read(ask, role, method):
    response = ask(method, "/programs/", role=role)

    assert response.status_code == 200


@pytest.mark.parametrize("role", ["manager", "owner"])
def test_lets_managers_write(ask, role):
    made = ask("POST", "/probes/", {"name": "lamp"}, role=role)
    deleted = ask("DELETE", "/probes/lamp/", role=role)

    assert [made.status_code, deleted.status_code] == [200, 204]


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/probes/"), ("DELETE", "/probes/lamp/")]
)
@pytest.mark.parametrize("body", [None, "no JSON", {"name": "lamp"}], ids=repr)
def test_forbids_viewers_to_write_before_it_reads(ask, method, path, body):
    assert_forbidden(ask(method, path, body, role="viewer"))


def test_tells_the_rate_when_it_forbids(ask):
    response = ask("GET", "/probes/", plan="basic")

    assert response.status_code == 403
    assert response["X-RateLimit-Limit"] == "3"
    assert response["X-RateLimit-Remaining"] == "2"


@pytest.mark.parametrize("accept", ["text/html", "*/*"])
def test_forbids_in_json_always(account, key_for, set_plan, accept):
    set_plan(account, "basic")

    assert_forbidden(Api(key_for(account)).get("/programs/", Accept=accept))


# The table of roles


def everything():
    return [model for app in OURS for model in apps.get_app_config(app).get_models()]


@pytest.mark.parametrize("role", ROLES)
def test_grants_every_view_to_every_role(role):
    assert {permission("view", thing) for thing in everything()} <= permissions_of(role)


def test_grants_viewers_nothing_else():
    assert permissions_of("viewer") == {
        permission("view", thing) for thing in everything()
    }


def test_grants_owners_everything():
    assert permissions_of("owner") == {
        permission(act, thing) for thing in everything() for act in ACTS
    }


def test_keeps_payments_keys_staff_and_webhooks_for_owners():
    kept = permissions_of("owner") - permissions_of("manager")

    things = {name.partition("_")[2] for name in kept}
    acts = {name.partition(".")[2].partition("_")[0] for name in kept}
    assert things == {"apikey", "account", "payment", "user", "webhookendpoint"}
    assert acts == {"add", "change", "delete"}


def test_grants_more_with_each_role():
    viewer, manager, owner = (permissions_of(role) for role in ROLES)

    assert viewer < manager < owner
