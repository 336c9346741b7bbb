"""What the pages of a shop may report, set by an operator."""

import pytest

from tests.command_line import run_failing_command, run_json_command


@pytest.fixture
def run(account):
    return lambda *options: run_json_command("set_page_tracking", account.slug, *options)


def test_shows_the_settings_without_an_option(run):
    assert run() == {
        "account": "harbor",
        "require_signatures": False,
        "max_browser_amount": 100_000,
    }


def test_limits_an_account(run, account):
    result = run("--require-signatures", "--max-browser-amount", "500")

    account.refresh_from_db()
    assert (account.require_signatures, account.max_browser_amount) == (True, 500)
    assert result["require_signatures"] is True
    assert run("--no-require-signatures")["require_signatures"] is False


def test_trusts_the_pages_of_a_program(run, program):
    options = ("--trust-browser-customers", "--auto-approve-browser-sales")

    result = run("--program", program.slug, *options)

    program.refresh_from_db()
    assert (program.trust_browser_customers, program.auto_approve_browser_sales) == (
        True,
        True,
    )
    assert result["program"] == program.slug
    assert result["trust_browser_customers"] is True


def test_wants_a_program_for_its_switches(account, program):
    error = run_failing_command("set_page_tracking", account.slug, "--trust-browser-customers")

    assert error == "these switches belong to a program: add --program"
    program.refresh_from_db()
    assert program.trust_browser_customers is False
