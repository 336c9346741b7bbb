"""Contract 1.4 and appendix A: who may do what, for every operation that there is."""

import pytest

from accounts.models.accounts import Plan
from tests.architecture.appendix_a import OPERATIONS, RANKS, built, routes, spelled
from tests.conftest import Api
from tests.factories.accounts import AccountFactory

BUILT = built()
BARRED = [it for it in BUILT if OPERATIONS[it].role != "viewer"]  # to a viewer
FEATURES = {
    "pro": {"clicks"},
    "enterprise": {"clicks", "bonuses", "mlm"},
    "bare": set(),
}
SHAPE = {"message", "code", "traceId"}


def ask(key, operation):
    method, _ = operation
    body = None if method in ("GET", "DELETE") else {}
    return Api(key).ask(method, BUILT[operation].filled(), body)


def assert_forbidden(response):
    assert response.status_code == 403
    assert set(response.json()) == SHAPE
    assert response.json()["message"] == "Forbidden"


@pytest.mark.parametrize("role", RANKS)
@pytest.mark.parametrize("operation", BUILT, ids=spelled)
def test_asks_for_the_least_role(account, key_for, operation, role):
    needed = OPERATIONS[operation].role

    response = ask(key_for(account, role=role), operation)

    if RANKS.index(role) < RANKS.index(needed):
        assert_forbidden(response)
    else:
        assert response.status_code in (200, 204, 400, 404)


@pytest.mark.parametrize("operation", BUILT, ids=spelled)
def test_refuses_everything_on_the_plan_without_the_api(key_for, db, operation):
    basic = AccountFactory(plan__name="basic")

    assert_forbidden(ask(key_for(basic), operation))


@pytest.mark.parametrize("plan", FEATURES)
@pytest.mark.parametrize("operation", BUILT, ids=spelled)
def test_asks_for_the_feature_on_the_plan(key_for, db, operation, plan):
    Plan.objects.get_or_create(name=plan, defaults={"api": True})
    account = AccountFactory(plan__name=plan)
    needed = OPERATIONS[operation].feature

    response = ask(key_for(account), operation)

    if needed and needed not in FEATURES[plan]:
        assert_forbidden(response)
    else:
        assert response.status_code in (200, 204, 400, 404)


@pytest.mark.parametrize("path", routes())
def test_names_the_thing_whose_permissions_are_asked_for(path):
    view = routes()[path].view

    assert isinstance(getattr(view, "thing", None), type)
    assert view.thing._meta.app_label in ("accounts", "tracking", "payouts")


@pytest.mark.parametrize("path", routes())
def test_gates_no_action_that_it_does_not_have(path):
    view = routes()[path].view

    actions = {
        action
        for route in routes().values()
        if route.view is view
        for action in route.actions.values()
    }
    assert set(view.features) <= actions
    assert set(view.tracks) <= actions


@pytest.mark.parametrize("operation", BARRED, ids=spelled)
def test_forbids_before_any_object_is_looked_up(
    account, key_for, statements, operation
):
    key = key_for(account, role="viewer")

    with statements() as asked:
        ask(key, operation)

    tables = " ".join(query["sql"] for query in asked)
    assert '"tracking_' not in tables
    assert '"payouts_' not in tables
