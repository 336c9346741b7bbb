"""operations.md, section 3: an account moved to another plan."""

import pytest

from tests.command_line import is_refused_as_wrong, refusal, run, run_json
from tests.conftest import Api
from tests.proof import everything


def test_moves_an_account_and_prints_nothing(account, other_account):
    assert run("set_plan", "harbor", "basic") == ""

    account.refresh_from_db()
    other_account.refresh_from_db()
    assert (account.plan.name, other_account.plan.name) == ("basic", "enterprise")
    [event] = account.events.all()
    assert event.kind == "account.plan_changed"


def test_tells_the_new_plan_as_json(account):
    told = run_json("set_plan", "harbor", "pro")

    assert told == {"account": "harbor", "plan": "pro"}


def test_changes_nothing_on_the_plan_that_it_is_on(account):
    before = everything(account)

    assert run_json("set_plan", "harbor", "enterprise")["plan"] == "enterprise"
    assert everything(account) == before


def test_counts_from_the_next_request_on(account, key_for):
    api = Api(key_for(account))
    statuses = []

    for plan in ("basic", "pro"):
        run("set_plan", "harbor", plan)
        statuses.append(api.get("/programs/").status_code)

    assert statuses == [403, 200]


@pytest.mark.parametrize(
    ("slug", "plan", "named"),
    [
        ("harbor", "gold", "basic, pro, enterprise"),
        ("harbor", "Basic", "basic, pro, enterprise"),
        ("harbor", "", "basic, pro, enterprise"),
        ("unknown", "basic", "unknown"),
        ("HARBOR", "basic", "HARBOR"),
    ],
)
def test_says_what_it_does_not_know(account, slug, plan, named):
    before = everything(account)

    assert named in refusal("set_plan", slug, plan)
    account.refresh_from_db()
    assert account.plan.name == "enterprise"
    assert everything(account) == before


@pytest.mark.parametrize(
    "arguments", [[], ["harbor"], ["harbor", "basic", "pro"]], ids=["none", "one", "3"]
)
def test_stops_at_wrong_arguments(account, arguments):
    assert is_refused_as_wrong("set_plan", *arguments)
