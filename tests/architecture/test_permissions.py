"""Roles and plan features of each operation: docs/api-contract.md, section 1.4."""

import pytest

from accounts.models.accounts import Plan
from accounts.models.api_keys import Role
from accounts.services.api_keys import create_api_key
from tests.architecture.api_contract import (
    OPERATIONS,
    RANKS,
    format_operation,
    list_operations,
    list_routes,
)
from tests.conftest import NOW, ApiClient
from tests.factories.accounts import AccountFactory

IMPLEMENTED = list_operations()
FEATURES = {
    "pro": {"clicks"},
    "enterprise": {"clicks", "bonuses", "mlm"},
    "bare": set(),
}
ERROR_KEYS = {"message", "code", "traceId"}


@pytest.fixture(scope="module")
def keys(shared_rows):
    """A key of each role, and one of an owner with each plan."""

    def create_key(plan, role=Role.OWNER):
        Plan.objects.get_or_create(name=plan, defaults={"api": True})
        account = AccountFactory(plan__name=plan)
        return create_api_key(account, name="test", role=role, at=NOW)[1]

    return {role: create_key("enterprise", role) for role in RANKS} | {
        plan: create_key(plan) for plan in (*FEATURES, "basic")
    }


def send(key, operation):
    method, _ = operation
    body = None if method in ("GET", "DELETE") else {}
    return ApiClient(key).request(method, IMPLEMENTED[operation].build_path(), body)


def assert_forbidden(response):
    assert response.status_code == 403
    assert set(response.json()) == ERROR_KEYS
    assert response.json()["message"] == "Forbidden"


@pytest.mark.engine_independent
@pytest.mark.parametrize("operation", IMPLEMENTED, ids=format_operation)
def test_requires_the_role_and_the_feature(db, keys, capture_queries, subtests, operation):
    required = OPERATIONS[operation]

    for role in RANKS:
        with subtests.test(role=role):
            response = send(keys[role], operation)
            if RANKS.index(role) < RANKS.index(required.role):
                assert_forbidden(response)
            else:
                assert response.status_code in (200, 204, 400, 404)

    for plan, features in FEATURES.items():
        with subtests.test(plan=plan):
            response = send(keys[plan], operation)
            if required.feature and required.feature not in features:
                assert_forbidden(response)
            else:
                assert response.status_code in (200, 204, 400, 404)

    with subtests.test("a plan without the API"):
        assert_forbidden(send(keys["basic"], operation))

    if required.role != "viewer":
        with subtests.test("rejects before looking up any object"):
            with capture_queries() as executed:
                send(keys["viewer"], operation)
            tables = " ".join(query["sql"] for query in executed)
            assert '"tracking_' not in tables
            assert '"payouts_' not in tables


def test_every_view_declares_its_permission_model(subtests):
    for path, route in list_routes().items():
        with subtests.test(path=path):
            model = getattr(route.view, "permission_model", None)
            assert isinstance(model, type)
            assert model._meta.app_label in ("accounts", "tracking", "payouts")


def test_feature_and_tracking_checks_name_existing_actions(subtests):
    actions = {}
    for route in list_routes().values():
        actions.setdefault(route.view, set()).update(route.actions.values())

    for view in actions:
        with subtests.test(view=view.__name__):
            assert set(view.plan_features) <= actions[view]
            assert set(view.tracking_actions) <= actions[view]
