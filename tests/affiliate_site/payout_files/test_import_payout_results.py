"""The command import_payout_results."""

import pytest

from tests.command_line import (
    is_usage_error,
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.payout_scenario import Paid, create_run, get_lines

pytestmark = pytest.mark.usefixtures("shared_scenario")
COMMAND = "import_payout_results"


@pytest.fixture
def run(scenario):
    scenario.create_enrolled_affiliate("Nils", "Berg")
    scenario.create_enrolled_affiliate("Olga", "Ek")
    return create_run(
        scenario.account,
        Paid("20.5"),
        Paid("30", slug="nilsberg"),
        Paid("5", slug="olgaek"),
    )


@pytest.fixture
def path(run, tmp_path):
    """A list with an answer of each kind."""
    first, second, _ = (line.payment.public_id for line in get_lines(run))
    path = tmp_path / "results.csv"
    path.write_text(
        "payment,state,reference,amount,reason\n"
        f"{first},settled,R1,20.5,\n{second},failed,,30.00,AC04\npa_1,settled,R2,7,\n"
    )
    return str(path)


def test_prints_what_it_applied(account, run, path):
    first, second, third = (line.payment.public_id for line in get_lines(run))
    planned = run_json_command(COMMAND, "harbor", path, "--dry-run")
    assert {line.state for line in get_lines(run)} == {"unknown"}
    result = run_json_command(COMMAND, "harbor", path, "--format", "csv")
    assert planned == result
    assert result == {
        "settled": [{"payment": first, "amount": 20.5, "reason": "", "reference": "R1"}],
        "failed": [{"payment": second, "amount": 30, "reason": "AC04", "reference": ""}],
        "unknown": [
            {
                "payment": third,
                "amount": 5,
                "reason": "no answer in this file",
                "reference": "",
            }
        ],
        "unmatched": [
            {
                "payment": "pa_1",
                "amount": 7,
                "reason": "there is no such payment",
                "reference": "R2",
            }
        ],
        "already_applied": 0,
    }
    again = run_json_command(COMMAND, "harbor", path)
    assert (again["settled"], again["failed"]) == ([], [])
    assert again["already_applied"] == 2


def test_prints_a_table(run, path):
    first = get_lines(run)[0].payment.public_id
    lines = run_command(COMMAND, "harbor", path).splitlines()
    assert lines[1].split() == ["settled", first, "20.50", "EUR", "R1"]
    assert lines[-1] == "Already applied: 0"


def test_refuses_a_file_of_another_run_by_name(run, path, scenario):
    other = create_run(scenario.account, Paid("1")).public_id
    error = run_failing_command(COMMAND, "harbor", path, "--run", other)
    first = get_lines(run)[0].payment.public_id
    assert error.startswith(f"{first} is not a payment of run {other}: ")
    assert {line.state for line in get_lines(run)} == {"unknown"}


def test_fails_with_one_line(run, path, tmp_path, other_account):
    broken = tmp_path / "broken.xml"
    broken.write_text("<Document>")
    assert "incomplete" in run_failing_command(COMMAND, "harbor", str(broken))
    error = run_failing_command(COMMAND, "harbor", path, "--run", "pr_none")
    assert error == "Payout run not found"
    error = run_failing_command(COMMAND, "zz-marker", path, "--run", run.public_id)
    assert error == "Payout run not found"
    result = run_json_command(COMMAND, "zz-marker", path)
    assert len(result["unmatched"]) == 3
    error = run_failing_command(COMMAND, "harbor", str(tmp_path / "none"))
    assert error.endswith("none cannot be read: No such file or directory")
    assert is_usage_error(COMMAND, "harbor", path, "--format", "xls")
