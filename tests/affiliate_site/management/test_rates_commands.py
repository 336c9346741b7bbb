"""Commands rates and set_rates: a program's rates under version control."""

import json

import pytest

from tests.command_line import run_command, run_failing_command, run_json_command
from tests.ledger_checks import assert_unchanged

STANDARD = {"percentage": "10", "type": "standard"}


@pytest.fixture
def arguments(scenario):
    return (scenario.account.slug, scenario.program.slug)


@pytest.fixture
def write(tmp_path):
    """Write a file of rates and return the option that names it."""

    def write(content):
        path = tmp_path / "rates.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return f"--file={path}"

    return write


def test_prints_what_it_takes(arguments, write, scenario):
    rates = [STANDARD, {"percentage": "20", "affiliate": "minakessler", "ends_at": "2099-01-01"}]

    result = run_json_command("set_rates", *arguments, write({"rates": rates}))
    assert result == {"added": [{"percentage": "20", "affiliate": "minakessler"}]} | {
        "ended": [],
        "warnings": [],
    }
    printed = run_json_command("rates", *arguments)
    assert printed == {"rates": rates}
    again = run_command("set_rates", *arguments, write(printed))
    assert again == "Nothing changes: the program has these rates.\n"


def test_prints_words(arguments, write):
    rates = [
        {"percentage": "15", "fixed": "3", "orders": {"from": 2, "to": 5}},
        {"percentage": "4", "when": [{"field": "country", "is": ["DE", "AT"]}]},
    ]
    output = run_command("set_rates", *arguments, write({"rates": rates}), "--from", "2099-01-01")
    assert output.splitlines() == [
        "begins: 15 % + 3: orders 2 to 5 of a customer",
        "begins: 4 %: country is DE or AT",
        "ends: 10 %: type standard",
    ]
    lines = run_command("rates", *arguments).splitlines()
    assert lines[0].split() == ["Rate", "From", "Until,", "not", "included"]
    assert [line.split()[-1] for line in lines[1:]] == ["2099-01-01"] * 3


def test_a_dry_run_writes_nothing(arguments, write, account):
    with assert_unchanged(account):
        output = run_command("set_rates", *arguments, write({"rates": []}), "--dry-run")
    assert output == "ends: 10 %: type standard\n"


@pytest.mark.parametrize(
    ("content", "options", "error"),
    [
        ("[", (), "rates.json is no JSON object with each key once"),
        ({"rates": 1}, (), "rates: must be a list of 500 rates at most"),
        (
            {"rates": [{"percentage": "150"}, {"fixed": "x"}], "products": []},
            (),
            "products: does not exist here; possible: rates; rates[0].percentage: must be 100 %"
            ' at most; rates[1].fixed: must be a number as a text, such as "10"',
        ),
        ({"rates": []}, ("--from", "2020-01-01"), "Rates count from a day that has not begun"),
    ],
)
def test_a_wrong_file_changes_nothing(arguments, write, account, content, options, error):
    with assert_unchanged(account):
        failed = run_failing_command("set_rates", *arguments, write(content), *options)
    assert error in failed
    assert run_json_command("rates", *arguments) == {"rates": [STANDARD]}


def test_a_program_must_be_known(account, write):
    error = run_failing_command("rates", account.slug, "unknown")
    assert "not found" in error
