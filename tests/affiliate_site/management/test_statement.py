"""Command statement."""

import json
from zipfile import ZipFile

import pytest

from affiliate_site import statement_files
from payouts.services.payout_answers import PayoutResult, ResultState
from payouts.services.payout_results import apply_payout_results
from tests.command_line import (
    is_usage_error,
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.payout_scenario import CONFIRMED_AT, Paid, create_run, get_lines

pytestmark = pytest.mark.usefixtures("shared_scenario")

ARGUMENTS = ("harbor", "minakessler", "--from", "2026-03-01", "--to", "2026-03-31")
CSV = (
    '"Date","What","Order ID","Payment","Amount","Amount: currency"\r\n'
    '"2026-03-01","Balance at the start",,,0,"EUR"\r\n'
    '"2026-03-04","Commission","\'=1+1",,20,"EUR"\r\n'
    '"2026-03-04","Payment",,"{payment}",-12.5,"EUR"\r\n'
    '"2026-03-31","Balance at the end",,,7.5,"EUR"\r\n'
)


@pytest.fixture
def payment(scenario):
    sale = scenario.create_conversion("200", external_id="=1+1")
    scenario.approve(scenario.get_commission(sale))
    return scenario.pay("12.50")


def test_says_why_the_bank_returned_a_payment(scenario, payment):
    run = create_run(scenario.account, Paid("5"))
    name = get_lines(run)[0].payment.public_id
    result = PayoutResult(name, ResultState.FAILED, reason="AC04: account closed")
    apply_payout_results(scenario.account, [result], at=CONFIRMED_AT)
    arguments = (*ARGUMENTS[:-1], "2026-04-30")

    *_, paid, canceled = run_json_command("statement", *arguments)["currencies"]["EUR"]["movements"]

    assert [paid["what"], paid["bank_reason"]] == ["payment", None]
    assert canceled["bank_reason"] == "AC04: account closed"
    assert (
        f'"2026-04-05","Payment canceled: AC04: account closed",,"{name}",5,"EUR"'
        in run_command("statement", *arguments, "--format", "csv")
    )


def test_prints_json(payment):
    text = run_command("statement", *ARGUMENTS)

    assert json.loads(text) == run_json_command("statement", *ARGUMENTS)
    line = {"date": "2026-03-04", "order_id": None, "payment": None}
    line["bank_reason"] = None
    assert json.loads(text) == {
        "account": "harbor",
        "affiliate": "minakessler",
        "from": "2026-03-01",
        "to": "2026-03-31",
        "currencies": {
            "EUR": {
                "opening": 0,
                "movements": [
                    line | {"what": "commission", "order_id": "=1+1", "amount": 20},
                    line
                    | {
                        "what": "payment",
                        "payment": payment.public_id,
                        "amount": -12.5,
                    },
                ],
                "closing": 7.5,
                "pending": 0,
            }
        },
    }


def test_writes_csv_without_formulas(payment, tmp_path):
    file = tmp_path / "a.csv"

    run_command("statement", *ARGUMENTS, "--format", "csv", "--output", str(file))

    assert file.stat().st_mode & 0o777 == 0o600
    expected = CSV.format(payment=payment.public_id)
    assert file.read_bytes().decode() == f"\ufeff{expected}"  # as spreadsheets expect
    printed = run_command("statement", *ARGUMENTS, "--format", "csv")
    assert printed == expected.replace("\r\n", "\n")


def test_writes_xlsx_and_pdf(payment, tmp_path):
    for name in ("xlsx", "pdf"):
        file = str(tmp_path / f"a.{name}")
        run_command("statement", *ARGUMENTS, "--format", name, "--output", file)

    with ZipFile(tmp_path / "a.xlsx") as book:
        assert b"<f>" not in book.read("xl/worksheets/sheet1.xml")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF-")


def test_says_how_to_get_pdf(monkeypatch, payment, tmp_path):
    monkeypatch.setattr(statement_files, "find_weasyprint", lambda: None)
    output = ("--output", str(tmp_path / "a.pdf"))

    error = run_failing_command("statement", *ARGUMENTS, "--format", "pdf", *output)

    assert "libpango" in error


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("harbor", "nobody", *ARGUMENTS[2:]), "Affiliate not found"),
        ((*ARGUMENTS, "--format", "xlsx"), "XLSX needs --output FILE."),
        ((*ARGUMENTS[:5], "2026-02-01"), "a first and a last day in this order"),
        ((*ARGUMENTS, "--output", "/nowhere/a"), "No such file"),
    ],
)
def test_refuses(payment, arguments, text):
    assert text in run_failing_command("statement", *arguments)


def test_knows_no_affiliate_of_another_account(payment, other_account):
    arguments = ("statement", "zz-marker", *ARGUMENTS[1:])

    assert run_failing_command(*arguments) == "Affiliate not found"


def test_refuses_other_words_for_days(payment):
    assert is_usage_error("statement", *ARGUMENTS[:5], "tomorrow")
