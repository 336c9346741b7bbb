"""Command grant_bonuses."""

from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from payouts.services.conversion_updates import delete_conversion
from tests.command_line import (
    run_command,
    run_json_command,
)
from tests.ledger_checks import assert_ledger_consistent, assert_unchanged
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def scenario(scenario, time_machine):
    """Mina has earned a bonus of 50 EUR in March; it is April."""
    time_machine.move_to("2026-04-01T00:00:00+00:00", tick=False)
    return earning(scenario, "50")


@pytest.fixture
def yen_program(account):
    """Another program of the account with an earned bonus of 7 JPY."""
    other = ProgramScenario(
        account,
        "yen-lamps",
        prefix="y-",
        email="yen@notes.example.org",
        currency="JPY",
    )
    return earning(other, "7")


def earning(scenario, value):
    scenario.program.update_row(auto_approve_commissions=True)
    scenario.create_bonus(goal="1", value=value)
    scenario.create_conversion("200")
    return scenario


def test_prints_how_many_and_how_much_per_currency(scenario, yen_program, account):
    assert run_command("grant_bonuses") == "2 bonuses\n50.00 EUR\n7 JPY\n"

    assert account.commissions.filter(kind="bonus", status="approved").count() == 2
    assert_ledger_consistent(account)


def test_prints_bonuses_as_json(scenario, yen_program):
    assert run_json_command("grant_bonuses") == {
        "granted": 2,
        "totals": {"EUR": 50, "JPY": 7},
        "put_back": [],
    }


@pytest.fixture
def put_back(scenario, account):
    """The ID of a granted bonus whose only sale has been deleted."""
    run_command("grant_bonuses")
    conversion = account.conversions.get()
    delete_conversion(account, conversion_id=conversion.pk, at=timezone.now())
    return account.commissions.get(kind="bonus").pk


def test_prints_which_bonuses_are_pending_again(put_back):
    output = run_command("grant_bonuses")

    assert output == f"0 bonuses\nput back to pending: commissions {put_back}\n"


def test_prints_bonuses_that_are_pending_again_as_json(put_back):
    output = run_json_command("grant_bonuses")

    assert output == {"granted": 0, "totals": {}, "put_back": [put_back]}


def test_grants_none_in_a_second_run(scenario, account):
    run_command("grant_bonuses")

    with assert_unchanged(account):
        assert run_command("grant_bonuses") == "0 bonuses\n"
        assert run_json_command("grant_bonuses") == {
            "granted": 0,
            "totals": {},
            "put_back": [],
        }


def test_adds_up_bonuses_of_all_accounts(scenario, other_account):
    theirs = earning(ProgramScenario(other_account, prefix="zz-marker-"), "2.50")

    assert run_command("grant_bonuses") == "2 bonuses\n52.50 EUR\n"

    assert_ledger_consistent(scenario.account, theirs.account)


def test_grants_bonuses_of_one_account_only(scenario, other_account):
    earning(ProgramScenario(other_account, prefix="zz-marker-"), "2.50")

    with assert_unchanged(other_account):
        output = run_json_command("grant_bonuses", "harbor")

    assert output == {"granted": 1, "totals": {"EUR": 50}, "put_back": []}


def test_grants_bonuses_of_others_if_one_account_fails(scenario, account, other_account):
    other_scenario = earning(ProgramScenario(other_account, email="m@notes.example.org"), "5")
    account.bonuses.update(value=Decimal(900000000000000))
    out = StringIO()

    with pytest.raises(CommandError) as raised:
        call_command("grant_bonuses", stdout=out)

    assert out.getvalue() == "1 bonuses\n5.00 EUR\n"
    assert str(raised.value) == (
        "Not every bonus was granted: harbor: This value has too many digits."
    )
    assert other_scenario.account.commissions.filter(kind="bonus").count() == 1
    assert_ledger_consistent(account, other_account)
