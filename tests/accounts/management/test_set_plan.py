"""The management command `set_plan`."""

import pytest

from tests.command_line import (
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.ledger_checks import assert_unchanged, snapshot_account


def test_moves_an_account_and_says_so(account, other_account):
    assert run_command("set_plan", "harbor", "basic") == "harbor has the plan basic\n"

    account.refresh_from_db()
    other_account.refresh_from_db()
    assert (account.plan.name, other_account.plan.name) == ("basic", "enterprise")
    [event] = account.audit_log.all()
    assert event.kind == "account.plan_changed"


def test_prints_the_new_plan_as_json(account):
    output = run_json_command("set_plan", "harbor", "pro")

    assert output == {"account": "harbor", "plan": "pro"}


def test_changes_nothing_on_the_current_plan(account):
    with assert_unchanged(account):
        output = run_json_command("set_plan", "harbor", "enterprise")

    assert output["plan"] == "enterprise"


@pytest.mark.parametrize(
    ("slug", "plan", "named"),
    [
        ("harbor", "gold", "basic, pro, enterprise"),
        ("harbor", "Basic", "basic, pro, enterprise"),
        ("harbor", "", "basic, pro, enterprise"),
        ("HARBOR", "basic", "HARBOR"),
    ],
)
def test_rejects_unknown_accounts_and_plans(account, slug, plan, named):
    before = snapshot_account(account)

    assert named in run_failing_command("set_plan", slug, plan)
    account.refresh_from_db()
    assert account.plan.name == "enterprise"
    assert snapshot_account(account) == before
