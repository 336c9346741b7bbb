"""The command payout_run: drafts, confirms, and prints what it did."""

from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from affiliate_site.management.commands import payout_run
from tests.command_line import run_command, run_failing_command, run_json_command
from tests.ledger_checks import assert_ledger_consistent, assert_unchanged

KEYS = ["run", "state", "lines", "left_out", "totals", "files"]


@pytest.fixture
def today():
    return str(timezone.now().date())


@pytest.fixture
def scenario(scenario):
    """Mina has 20 EUR due and a PayPal address, Odette 3 EUR and none."""
    scenario.create_commission_type("all", 100)
    scenario.account.payout_methods.create(
        affiliate=scenario.mina.affiliate,
        kind="paypal",
        details={"email": "mina@notes.example.org"},
        is_primary=True,
    )
    odette = scenario.create_enrolled_affiliate("Odette", "Varga")
    for affiliate, amount in ((scenario.mina, "20"), (odette, "3")):
        sale = scenario.create_conversion((amount, "all"), affiliate=affiliate)
        scenario.approve(scenario.get_commission(sale))
    return scenario


@pytest.fixture
def payout_files(monkeypatch):
    """Files of one line per payment."""

    def build_files(run, *, formats, at):
        return [
            SimpleNamespace(
                name=f"{run}-{name}.txt",
                format=name,
                currency="EUR",
                line_count=1,
                control_sum=Decimal("20.00"),
                content=b"content",
            )
            for name in formats
        ]

    monkeypatch.setattr(payout_run, "build_files", build_files)


def test_drafts(scenario, today):
    result = run_json_command("payout_run", "harbor", "--until", today)

    run = scenario.account.payout_runs.get()
    assert list(result) == KEYS
    assert result == {
        "run": run.public_id,
        "state": "draft",
        "lines": [
            {
                "affiliate": "minakessler",
                "currency": "EUR",
                "amount": 20,
                "method": "paypal",
                "payment": None,
            }
        ],
        "left_out": [
            {
                "affiliate": "odettevarga",
                "currency": "EUR",
                "amount": 3,
                "reason": "no_method",
            }
        ],
        "totals": {"EUR": 20},
        "files": [],
    }
    assert run.created_by == "command payout_run"
    assert not scenario.account.payments.exists()


def test_confirms(scenario, today):
    result = run_json_command("payout_run", "harbor", "--until", today, "--confirm")

    payment = scenario.account.payments.get()
    assert result["state"] == "confirmed"
    assert [line["payment"] for line in result["lines"]] == [payment.public_id]
    assert payment.amount == 20
    assert_ledger_consistent(scenario.account)


def test_writes_nothing_in_a_dry_run(scenario, today):
    with assert_unchanged(scenario.account):
        result = run_json_command(
            "payout_run", "harbor", "--until", today, "--dry-run", "--confirm"
        )

    assert (result["run"], result["state"], result["totals"]) == (
        None,
        "draft",
        {"EUR": 20},
    )


def test_makes_no_run_without_anybody_to_pay(scenario, today):
    arguments = ("payout_run", "harbor", "--until", today, "--minimum", "EUR=20.01")
    with assert_unchanged(scenario.account):
        result = run_json_command(*arguments, "--confirm")
        text = run_command(*arguments, "--confirm")

    assert (result["run"], result["lines"]) == (None, [])
    assert [line["reason"] for line in result["left_out"]] == [
        *("below_minimum", "below_minimum")
    ]
    assert text.startswith("Nobody to pay: no run was made.\nleft out: minakessler: 20")


def test_selects_by_program_and_method(scenario, today):
    arguments = ("payout_run", "harbor", "--until", today, "--dry-run")

    assert run_json_command(*arguments, "--method", "bank")["lines"] == []
    both = run_json_command(*arguments, "--method", "bank", "--method", "paypal")
    assert both["totals"] == {"EUR": 20}
    program = scenario.program.slug
    assert run_json_command(*arguments, "--program", program)["totals"] == {"EUR": 20}
    assert "program" in run_failing_command(*arguments, "--program", "unknown")


def test_pays_what_is_due_until_the_day(scenario, today):
    tomorrow = timezone.now() + timedelta(days=1)
    scenario.account.commissions.update(due_at=tomorrow)
    arguments = ("payout_run", "harbor", "--dry-run", "--until")

    assert run_json_command(*arguments, today)["lines"] == []
    assert run_json_command(*arguments, str(tomorrow.date()))["totals"] == {"EUR": 20}


def test_exports_what_was_confirmed(scenario, today, payout_files, tmp_path):
    result = run_json_command(
        *("payout_run", "harbor", "--until", today, "--confirm"),
        *("--export", "paypal", "--export", "csv", "--output", str(tmp_path / "new")),
    )

    run = scenario.account.payout_runs.get()
    path = tmp_path / "new" / f"{run}-paypal.txt"
    assert path.read_bytes() == b"content"
    assert result["files"][0] == {
        "path": str(path),
        "format": "paypal",
        "currency": "EUR",
        "lines": 1,
        "control_sum": 20,
    }
    assert len(result["files"]) == 2
    assert (run.state, result["state"]) == ("exported", "exported")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--export", "csv"),
        ("--minimum", "50"),
        ("--minimum", "EUR=x"),
        ("--method", "cash"),
    ],
)
def test_refuses_wrong_arguments(scenario, today, arguments):
    with assert_unchanged(scenario.account), pytest.raises(CommandError):
        call_command("payout_run", "harbor", "--until", today, *arguments)


def test_refuses_a_text_that_is_no_day(scenario):
    with pytest.raises(CommandError, match="'soon' is not a day like 2026-11-30"):
        call_command("payout_run", "harbor", "--until", "soon")


def test_prints_lines_of_text(scenario, today):
    text = run_command("payout_run", "harbor", "--until", today, "--confirm")

    run, payment = scenario.account.payout_runs.get(), scenario.account.payments.get()
    assert text.splitlines() == [
        f"{run}: confirmed, 1 payments, 20 EUR",
        f"minakessler: 20 EUR paypal {payment}",
        "left out: odettevarga: 3 EUR no_method",
    ]
