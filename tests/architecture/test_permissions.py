"""Roles and plan features of each operation: docs/api-contract.md, 1.4, appendix A."""

import pytest

from accounts.models.accounts import Plan
from tests.architecture.api_contract import (
    OPERATIONS,
    RANKS,
    format_operation,
    list_operations,
    list_routes,
)
from tests.conftest import ApiClient
from tests.factories.accounts import AccountFactory

IMPLEMENTED = list_operations()
FEATURES = {
    "pro": {"clicks"},
    "enterprise": {"clicks", "bonuses", "mlm"},
    "bare": set(),
}
ERROR_KEYS = {"message", "code", "traceId"}


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
def test_requires_the_role_and_the_feature(
    account, make_key, capture_queries, subtests, operation
):
    required = OPERATIONS[operation]

    for role in RANKS:
        with subtests.test(role=role):
            response = send(make_key(account, role=role), operation)
            if RANKS.index(role) < RANKS.index(required.role):
                assert_forbidden(response)
            else:
                assert response.status_code in (200, 204, 400, 404)

    for plan, features in FEATURES.items():
        with subtests.test(plan=plan):
            Plan.objects.get_or_create(name=plan, defaults={"api": True})
            key = make_key(AccountFactory(plan__name=plan))
            response = send(key, operation)
            if required.feature and required.feature not in features:
                assert_forbidden(response)
            else:
                assert response.status_code in (200, 204, 400, 404)

    with subtests.test("a plan without the API"):
        key = make_key(AccountFactory(plan__name="basic"))
        assert_forbidden(send(key, operation))

    if required.role != "viewer":
        with subtests.test("rejects before looking up any object"):
            key = make_key(account, role="viewer")
            with capture_queries() as executed:
                send(key, operation)
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
