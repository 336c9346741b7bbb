"""`payer` and `payout_minimums`: the settings of payouts without the office."""

import pytest

from tests.command_line import (
    is_usage_error,
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.ledger_checks import assert_unchanged

IBAN = "NL91ABNA0417164300"


def test_sets_parts_of_the_payer(account, other_account):
    address = ("--set", "city=Amsterdam", "--set", "country=NL")
    run_command("payer", "harbor", "--set", "name=Harbor Lamps", *address)

    payer = run_json_command("payer", "harbor", "--set", f"iban={IBAN[:4]} {IBAN[4:]}")

    assert payer["payer"] == {
        "name": "Harbor Lamps",
        "iban": IBAN,
        **dict.fromkeys(("bic", "street", "building", "postal_code"), ""),
        "city": "Amsterdam",
        "country": "NL",
    }
    assert run_json_command("payer", "harbor") == payer
    assert set(run_json_command("payer", other_account.slug)["payer"].values()) == {""}


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ("iban=NL91", "not an IBAN"),
        ("city=Amsterdam", "city and country"),
        (f"name={'x' * 71}", "At most 70 characters"),
    ],
)
def test_refuses_an_impossible_payer(account, part, reason):
    with assert_unchanged(account):
        assert reason in run_failing_command("payer", "harbor", "--set", part)


def test_sets_and_removes_minimums(scenario):
    run_command("payout_minimums", "harbor", "--set", "eur=50")
    own = ("payout_minimums", "harbor", "--affiliate", "minakessler")
    run_command(*own, "--set", "EUR=20")

    found = run_json_command("payout_minimums", "harbor")["minimums"]
    assert {(row["affiliate"], row["amount"]) for row in found} == {
        (None, 50),
        ("minakessler", 20),
    }
    assert run_json_command(*own, "--remove", "eur") == {"minimums": []}
    assert "all" in run_command("payout_minimums", "harbor")
    unknown = ("--affiliate", "nobody", "--set", "EUR=1")
    text = run_failing_command("payout_minimums", "harbor", *unknown)
    assert text == "Affiliate not found"


@pytest.mark.parametrize("text", ["EUR", "EUR=-5", "EURO=5", "=5", "EUR=x"])
def test_refuses_what_is_no_minimum(scenario, text):
    assert is_usage_error("payout_minimums", "harbor", "--set", text)
    assert is_usage_error("payer", "harbor", "--set", text)
