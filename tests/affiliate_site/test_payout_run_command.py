"""The command payout_run: drafts, confirms, and prints what it did."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from payouts.services.payments import cancel_payment
from tests.command_line import run_command, run_failing_command, run_json_command
from tests.ledger_checks import assert_ledger_consistent, assert_unchanged

KEYS = [
    *("run", "state", "lines", "left_out", "totals", "files", "not_in_files"),
    *("unfit", "without_document", "other_drafts"),
]


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
        "not_in_files": [],
        "unfit": [],
        "without_document": [],
        "other_drafts": {},
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
    assert [line["reason"] for line in result["left_out"]] == [*("below_minimum", "below_minimum")]
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


def test_exports_what_was_confirmed(scenario, today, tmp_path):
    result = run_json_command(
        *("payout_run", "harbor", "--until", today, "--confirm"),
        *("--export", "paypal", "--export", "csv", "--output", str(tmp_path / "new")),
    )

    run, payment = scenario.account.payout_runs.get(), scenario.account.payments.get()
    path = tmp_path / "new" / f"{run}-paypal-EUR.csv"
    row = ("mina@notes.example.org", "20.00", "EUR", payment, f"Payment {payment}")
    assert path.read_text() == ",".join(f'"{cell}"' for cell in row) + "\n"
    assert result["files"][0] == {
        "path": str(path),
        "format": "paypal",
        "currency": "EUR",
        "lines": 1,
        "control_sum": 20,
    }
    assert len(result["files"]) == 2
    assert (run.state, result["state"]) == ("exported", "exported")
    assert result["not_in_files"] == []
    assert sorted((it.name, oct(it.stat().st_mode)) for it in path.parent.iterdir()) == [
        (f"{run}-csv-paypal-EUR.csv", "0o100600"),
        (f"{run}-paypal-EUR.csv", "0o100600"),
    ]


def test_pays_nobody_if_the_files_cannot_be_written(scenario, today, tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    arguments = ("payout_run", "harbor", "--until", today, "--confirm")

    with assert_unchanged(scenario.account), pytest.raises(OSError, match="file"):
        call_command(*arguments, "--export", "paypal", "--output", str(blocked))


def test_pays_nobody_if_a_file_cannot_be_made(scenario, today, tmp_path):
    """The bank account that a SEPA file pays from is not known."""
    scenario.account.payout_methods.update(
        kind="bank",
        details={"account_holder": "Mina", "iban": "DE89370400440532013000"},
    )
    arguments = ("payout_run", "harbor", "--until", today, "--confirm")

    with assert_unchanged(scenario.account):
        text = run_failing_command(
            *arguments,
            *("--export", "csv", "--export", "pain001", "--output", str(tmp_path)),
        )

    assert "payer" in text.lower()
    assert list(tmp_path.iterdir()) == []


def test_makes_the_files_of_an_earlier_run_again(scenario, today, tmp_path):
    run = run_json_command("payout_run", "harbor", "--until", today)["run"]
    arguments = ("payout_run", "harbor", "--run", run)

    assert run_json_command(*arguments, "--confirm")["state"] == "confirmed"
    with assert_unchanged(scenario.account):
        assert run_json_command(*arguments)["state"] == "confirmed"
    export = ("--export", "paypal", "--output", str(tmp_path))
    first = run_json_command(*arguments, *export)
    content = (tmp_path / f"{run}-paypal-EUR.csv").read_bytes()
    again = run_json_command(*arguments, *export)

    assert (first["files"], again["state"]) == (again["files"], "exported")
    assert (tmp_path / f"{run}-paypal-EUR.csv").read_bytes() == content
    assert scenario.account.payments.count() == 1


def test_refuses_a_second_file_with_others_of_the_payments(scenario, today, tmp_path):
    """Both files together would pay Mina twice."""
    odette = scenario.account.affiliates.get(slug="odettevarga")
    details = {"email": "odette@notes.example.org"}
    scenario.account.payout_methods.create(
        affiliate=odette, kind="paypal", details=details, is_primary=True
    )
    export = ("--export", "paypal", "--output", str(tmp_path))
    result = run_json_command("payout_run", "harbor", "--until", today, "--confirm", *export)
    path = Path(result["files"][0]["path"])
    handed_in = path.read_bytes()
    payment = scenario.account.payments.get(affiliate=odette)
    cancel_payment(scenario.account, payment_id=payment.public_id, at=timezone.now())
    arguments = ("payout_run", "harbor", "--run", result["run"], *export)

    with assert_unchanged(scenario.account):
        error = run_failing_command(*arguments)

    assert "2 payments, 23 EUR). A bank or PayPal that gets both pays twice" in error
    assert path.read_bytes() == handed_in
    again = run_json_command(*arguments, "--again")
    assert [file["lines"] for file in again["files"]] == [1]


def test_names_lines_that_are_in_no_file(scenario, today, tmp_path):
    result = run_json_command(
        *("payout_run", "harbor", "--until", today, "--confirm"),
        *("--export", "wise", "--output", str(tmp_path)),
    )

    assert result["files"] == []
    assert result["not_in_files"] == result["lines"]
    text = run_command(
        *("payout_run", "harbor", "--run", result["run"], "--export", "wise"),
        *("--output", str(tmp_path)),
    )
    assert "in no file: minakessler: 20 EUR paypal" in text.splitlines()


@pytest.mark.parametrize("options", [["--dry-run"], [], ["--confirm"]])
def test_names_lines_that_no_file_can_have(scenario, today, options):
    """Also without a run, and before one is confirmed."""
    sale = scenario.create_conversion(("12.50", "all"), currency="HUF")
    scenario.approve(scenario.get_commission(sale))

    text = run_command("payout_run", "harbor", "--until", today, *options)

    assert [line for line in text.splitlines() if "by hand" in line] == [
        "pay by hand: minakessler: 12.5 HUF paypal: PayPal pays whole units of HUF only"
    ]


def test_says_that_another_draft_pays_the_same(scenario, today):
    first = run_json_command("payout_run", "harbor", "--until", today)
    second = run_json_command("payout_run", "harbor", "--until", today)

    assert (first["other_drafts"], second["other_drafts"]) == ({}, {first["run"]: 1})
    discarded = run_json_command("payout_run", "harbor", "--run", first["run"], "--discard")
    assert (discarded["state"], discarded["other_drafts"]) == ("discarded", {})
    assert run_json_command("payout_run", "harbor", "--run", second["run"])["other_drafts"] == {}


def test_does_not_find_the_run_of_another_account(scenario, today, other_account):
    run = run_json_command("payout_run", "harbor", "--until", today)["run"]

    with assert_unchanged(scenario.account):
        text = run_failing_command("payout_run", other_account.slug, "--run", run, "--confirm")
    assert "not" in text.lower()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--export", "csv"),
        ("--minimum", "50"),
        ("--minimum", "EUR=x"),
        ("--method", "cash"),
        ("--discard",),
        ("--confirm", "--discard"),
        ("--run", "pr_1"),
    ],
)
def test_refuses_wrong_arguments(scenario, today, arguments):
    with assert_unchanged(scenario.account), pytest.raises(CommandError):
        call_command("payout_run", "harbor", "--until", today, *arguments)


def test_a_run_that_exists_takes_no_choice(scenario, today):
    run = run_json_command("payout_run", "harbor", "--until", today)["run"]
    arguments = ("payout_run", "harbor", "--run", run, "--minimum", "EUR=5")

    with pytest.raises(CommandError, match="choose what a new run pays"):
        call_command(*arguments)


def test_refuses_a_text_that_is_no_day(scenario):
    with pytest.raises(CommandError, match="'soon' is not a day like 2026-11-30"):
        call_command("payout_run", "harbor", "--until", "soon")


def test_prints_lines_of_text(scenario, today):
    text = run_command("payout_run", "harbor", "--until", today, "--confirm")

    run, payment = scenario.account.payout_runs.get(), scenario.account.payments.get()
    assert text.splitlines() == [
        f"{run}: confirmed, 1 payment, 20 EUR",
        f"minakessler: 20 EUR paypal {payment}",
        "left out: odettevarga: 3 EUR, no payout method.",
    ]
