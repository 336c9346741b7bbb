"""The command withheld_balances lists and lifts."""

import pytest

from tests.command_line import run_command, run_failing_command, run_json_command
from tests.conftest import NOW


@pytest.fixture
def withheld(scenario):
    for currency in ("EUR", "USD"):
        scenario.account.withheld_balances.create(
            affiliate=scenario.mina.affiliate,
            currency=currency,
            reason=f"Asked about {currency}",
            created_by="staff 1",
            created_at=NOW,
        )
    return scenario.account.withheld_balances


def test_lists(account, withheld):
    result = run_json_command("withheld_balances", account.slug)

    assert result["withheld"][1] == {
        "affiliate": "minakessler",
        "currency": "USD",
        "reason": "Asked about USD",
        "created_by": "staff 1",
        "created_at": result["withheld"][0]["created_at"],
    }
    assert len(result["withheld"]) == 2
    assert "Asked about EUR" in run_command("withheld_balances", account.slug)


def test_lifts_one(account, withheld):
    arguments = ("withheld_balances", account.slug, "--lift", "minakessler=eur")

    result = run_json_command(*arguments)

    assert [row["currency"] for row in result["withheld"]] == ["USD"]
    assert [row.currency for row in withheld.all()] == ["USD"]
    message = "The EUR balance of minakessler is not withheld"
    assert message in str(run_failing_command(*arguments))
