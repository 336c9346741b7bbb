"""What commands refuse to store, and how they print what is stored."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr

import pytest
from django.core.management import call_command

from accounts.commands import escape_controls
from accounts.models.api_keys import Role
from accounts.models.webhooks import Delivery
from tests.architecture.syntax_trees import PACKAGES
from tests.command_line import (
    PROCESS_SECONDS,
    ROOT,
    build_environment,
    run_command,
    run_failing_command,
    run_json_command,
)

BLANK = ("", "  ", "\t", "a\nb", "a\x1b[31mb")
NAMED = {
    "account": ["create_account", "sunrise", "--name"],
    "API key": ["create_api_key", "harbor", "--name"],
    "program": ["create_program", "harbor", "spring", "--currency", "EUR", "--title"],
}
REFUSED = {
    "account's slug": ["create_account", "", "--name", "Sunrise"],
    "program's slug": [*("create_program", "harbor", "", "--currency", "EUR", "--title", "Spring")],
    "staff": ["create_staff", "harbor", "", "--role", "owner"],
    "staff of no account": ["create_staff", "", "a@example.org", "--role", "owner"],
    "webhook": ["create_webhook", "harbor", ""],
    "event": ["create_webhook", "harbor", "https://h.example/", "--event", ""],
    "postback": ["create_postback", "harbor", "mina", ""],
    "customer key": ["set_customer_email_keys", "harbor", "--meta-data-key", ""],
}


def test_refuses_empty_names_and_control_characters(account, subtests):
    for name, command in NAMED.items():
        for text in BLANK:
            with subtests.test(name, text=text):
                error = run_failing_command(*command, text)
                assert error.endswith("must be text in one line")
    for name, command in REFUSED.items():
        with subtests.test(name):
            assert run_failing_command(*command)

    assert not account.api_keys.exists()
    assert not account.programs.exists()


def test_a_key_without_label_only_reads(account):
    assert run_json_command("create_api_key", "harbor")["role"] == Role.VIEWER


@pytest.mark.parametrize("character", ["\x1b", "\x07", "\x9b", "\u202e", "\r"])
def test_stored_control_characters_do_not_reach_the_terminal(account, character):
    account.api_keys.create(prefix="0123456789ab", digest="x", name=f"a{character}b\nc")

    table = run_command("list_api_keys", "harbor")
    document = run_command("list_api_keys", "harbor", "--json")

    assert character not in table + document
    assert f"a\\u{ord(character):04x}b\\nc" in table
    assert json.loads(document)["api_keys"][0]["name"] == f"a{character}b\nc"


def test_errors_hold_no_control_characters(db):
    error = run_failing_command("list_programs", "a\x1b[2Jb")

    assert error == "Account 'a\\u001b[2Jb' not found; list_accounts shows all"


def test_keeps_line_breaks_and_other_scripts():
    text = "Žižek\n東京\u200c\U0001f600\t1\u00a0000"

    assert escape_controls(text) == text


def test_refuses_unknown_macros_of_a_postback(scenario):
    url = "https://track.example.net/?a=${amount}"

    error = run_failing_command("create_postback", "harbor", scenario.mina.slug, url)

    assert error.startswith("Unknown macro '${amount}'; available macros: click_subid,")
    assert not Delivery.objects.exists()


def test_refuses_to_fund_an_account_that_does_not_pay_through_the_service(account):
    assert run_failing_command("fund_payouts", "harbor", "10", "EUR") == (
        "Account 'harbor' does not pay through the service, so it has no payout balance"
    )
    assert not account.transfers.exists()


@pytest.mark.parametrize("name", ["check_ledger", "prune"])
def test_long_commands_show_progress_on_a_terminal_only(account, monkeypatch, name):
    result = json.loads(run_command(name, "--json"))  # and nothing on standard error
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes any stream for a terminal
    out, err = io.StringIO(), io.StringIO()
    with redirect_stderr(err):
        call_command(name, "--json", stdout=out)

    assert json.loads(out.getvalue()).keys() == result.keys()
    assert "━" in err.getvalue()


def test_progress_has_one_mechanism():
    using = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "rich.progress" in path.read_text()
    }
    assert using == {"accounts/commands.py"}


@pytest.mark.engine_independent
def test_logs_stay_out_of_the_output(committed_db):
    """Also those of libraries, which doctor makes draw a PDF."""
    process = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        cwd=ROOT,
        env=build_environment() | {"LOG_LEVEL": "INFO", "LOG_FORMAT": "json"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS_SECONDS,
    )

    assert json.loads(process.stdout)
    assert process.stderr == ""
