"""Commands create_program, check_ledger and fund_payouts."""

import io
import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.utils import timezone

from payouts.models.commission_types import RateKind
from tests.command_line import (
    is_usage_error,
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.ledger_checks import assert_ledger_consistent, assert_unchanged
from tests.program_scenario import ProgramScenario
from tests.sample_account import SampleAccount

NEEDED = ["--title", "Harbor Lamps", "--currency", "EUR"]


def create(*options, account="harbor", slug="harbor-lamps"):
    return run_command("create_program", account, slug, *(options or NEEDED))


def fail_to_create(*options, slug="harbor-lamps"):
    """Return the reason."""
    arguments = ("harbor", slug, *(options or NEEDED))
    return run_failing_command("create_program", *arguments)


def test_creates_a_program_with_defaults(account):
    assert create() == "harbor-lamps\n"

    program, rate = account.programs.get(), account.commission_types.get()
    assert (program.slug, program.title) == ("harbor-lamps", "Harbor Lamps")
    assert (program.currency, program.cookie_time) == ("EUR", 45)
    assert (program.landing_page, program.archived_at) == ("", None)
    assert program.visibility == "public"
    assert not program.auto_approve_affiliates
    assert not program.auto_approve_commissions
    assert (rate.program, rate.is_default) == (program, True)
    assert (rate.identifier, rate.title) == ("standard", "Standard")
    assert (rate.kind, rate.value) == (RateKind.PERCENTAGE, Decimal(10))


def test_creates_a_program_with_all_options(account):
    create(
        *("--title", "Harbor & Søn", "--currency", "jpy", "--cookie-time", "365"),
        *("--commission-fixed", "500", "--landing-page"),
        *("https://shop.example.net/?a=b", "--auto-approve-affiliates"),
        *("--auto-approve-commissions", "--visibility", "private"),
    )

    program, rate = account.programs.get(), account.commission_types.get()
    assert (program.title, program.currency) == ("Harbor & Søn", "JPY")
    assert program.cookie_time == 365
    assert program.landing_page == "https://shop.example.net/?a=b"
    assert program.auto_approve_affiliates
    assert program.auto_approve_commissions
    assert program.visibility == "private"
    assert (rate.kind, rate.value) == (RateKind.FIXED, Decimal(500))


def test_prints_a_new_program_as_json(account):
    assert run_json_command("create_program", "harbor", "harbor-lamps", *NEEDED) == {
        "program": "harbor-lamps",
        "title": "Harbor Lamps",
        "currency": "EUR",
        "cookie_time": 45,
    }


@pytest.mark.parametrize(
    ("option", "number", "kind", "value"),
    [
        ("--commission-percent", "0", "percentage", "0"),
        ("--commission-percent", "7.5", "percentage", "7.5"),
        ("--commission-percent", "33.3333", "percentage", "33.3333"),
        ("--commission-percent", "100", "percentage", "100"),
        ("--commission-fixed", "0", "fixed", "0"),
        ("--commission-fixed", "12.50", "fixed", "12.5"),
        ("--commission-fixed", "9999999999999.99", "fixed", "9999999999999.99"),
    ],
)
def test_stores_the_exact_rate(account, option, number, kind, value):
    create(*NEEDED, option, number)

    rate = account.commission_types.get()
    assert (rate.kind, rate.value) == (kind, Decimal(value))


def test_says_all_that_is_wrong(account):
    options = ("--title", "t" * 256, "--currency", "EUR", "--cookie-time", "0")

    error = fail_to_create(*options, slug="a_b")

    for text in ("is not a slug", "255 characters at most", "1 to 365"):
        assert text in error


def test_rejects_a_duplicate_program(account, other_account):
    create()

    with assert_unchanged(account):
        assert "harbor-lamps" in fail_to_create()
    assert create(account=other_account.slug)


NUMBERS = ("", "ten", "1e1", "1_0", "NaN", "Infinity", "\uff15", "5%", "0x5")
WRONG = {
    "--commission-percent": NUMBERS,
    "--commission-fixed": ("", "1,5"),
    "--cookie-time": ("", "month", "4.5", "1e1"),
}


@pytest.mark.parametrize("option", WRONG)
def test_rejects_malformed_numbers(account, option):
    with assert_unchanged(account):
        for number in WRONG[option]:
            command = ["harbor", "harbor-lamps", *NEEDED, option, number]
            assert is_usage_error("create_program", *command)


@pytest.fixture
def account_with_conversion(account, api):
    """An account with one conversion of 200 and a pending commission of 10 %."""
    world = SampleAccount(api, account.slug, "harbor")
    assert world.commission_id
    return world


def run_check_ledger(*options):
    """Run check_ledger; return stdout, stderr and exit code."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("check_ledger", *options, stdout=out, stderr=err)
    except SystemExit as ended:
        return out.getvalue(), err.getvalue(), ended.code
    return out.getvalue(), err.getvalue(), 0


def corrupt_balance(account, **values):
    """Write a wrong balance directly."""
    account.ledger_accounts.filter(kind="pending").update(**values)


def test_finds_the_ledger_of_a_conversion_balanced(account_with_conversion):
    out, err, code = run_check_ledger("harbor")

    assert (err, code) == ("", 0)
    assert "OK" in out


def test_prints_the_check_as_json(account_with_conversion):
    output = run_json_command("check_ledger", "harbor")

    assert list(output) == ["ok", "checked", "failures", "closed_days", "digest"]
    assert (output["ok"], output["failures"]) == (True, [])
    assert output["closed_days"] == {"count": 0, "last_id": None, "sum": 0}


def test_sums_the_days_that_are_closed(account_with_conversion, account, monkeypatch):
    tomorrow = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(timezone, "now", lambda: tomorrow)

    closed = run_json_command("check_ledger", "harbor")["closed_days"]

    last = account.transfers.order_by("-id").first()
    assert closed == {"count": 1, "last_id": last.pk, "sum": 20}


@pytest.mark.parametrize("wrong", [Decimal("19.9999"), Decimal(0), Decimal(-20)])
def test_reports_every_discrepancy(account_with_conversion, account, wrong):
    corrupt_balance(account, balance=wrong)

    out, err, code = run_check_ledger("harbor")

    assert code == 1
    assert len(err.splitlines()) == 1
    assert {line.split()[0] for line in out.splitlines()} >= {"E2", "E4"}
    for line in out.splitlines():
        assert "harbor" in line


def test_prints_discrepancies_as_json(account_with_conversion, account):
    corrupt_balance(account, balance=Decimal("19.9999"))
    out, _, code = run_check_ledger("harbor", "--json")

    output = json.loads(out)
    assert code == 1
    assert output["ok"] is False
    assert {failure["equation"] for failure in output["failures"]} >= {"E1", "E2", "E4"}
    for failure in output["failures"]:
        assert set(failure) >= {"equation", "account", "row", "stored", "computed"}


def test_checks_one_account_only_with_account_option(
    account_with_conversion, account, other_account
):
    corrupt_balance(account, balance=Decimal(1))

    assert run_check_ledger(other_account.slug)[2] == 0
    assert run_check_ledger()[2] == 1


def test_changes_nothing_by_checking(account_with_conversion, account):
    corrupt_balance(account, balance=Decimal(1))
    with assert_unchanged(account):
        run_check_ledger("harbor")


def test_stores_the_result_with_note_option(account_with_conversion, account, other_account):
    run_check_ledger()
    account.refresh_from_db()
    assert account.reconciled_at is None

    corrupt_balance(account, balance=Decimal(1))
    assert run_check_ledger("--note")[2] == 1

    account.refresh_from_db()
    other_account.refresh_from_db()
    assert account.discrepancy_count > 0
    assert (account.reconciled_at, other_account.discrepancy_count) == (
        other_account.reconciled_at,
        0,
    )


@pytest.fixture
def stored_digest(account_with_conversion, monkeypatch):
    """The digest that a run with --note on the next day prints."""
    tomorrow = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(timezone, "now", lambda: tomorrow)
    assert "no digest yet" in run_check_ledger()[0]
    out, _, code = run_check_ledger("--note")
    _, digest, *_ = out.splitlines()[-1].split()
    assert code == 0
    return digest


def test_prints_the_digest_that_note_option_stored(stored_digest):
    assert stored_digest in run_check_ledger()[0]
    assert run_json_command("check_ledger")["digest"] == {
        "digest": stored_digest,
        "sealed_until": (timezone.now() - timedelta(hours=1)).isoformat(timespec="seconds"),
        "links": 1,
    }


def test_prints_no_digest_for_one_account(stored_digest):
    assert run_json_command("check_ledger", "harbor")["digest"] is None


def test_compares_the_expected_digest(stored_digest):
    assert run_check_ledger("--expect", stored_digest)[2] == 0

    out, _, code = run_check_ledger("--expect", "0" * 64)

    assert code == 1
    assert out.splitlines()[0] == (
        f"E16 -: expected digest: stored {stored_digest}, computed {'0' * 64}"
    )


# The payout balance.


@pytest.fixture
def paying_account(account):
    """An account with the payout feature."""
    account.uses_payouts = True
    account.save()
    return account


def test_adds_to_the_payout_balance_each_time(paying_account):
    sums = [("1250.50", "EUR"), ("0.01", "eur"), ("7", "JPY"), ("0.5", "KWD")]

    output = [run_command("fund_payouts", "harbor", *words) for words in sums]

    assert output == ["1250.50 EUR\n", "1250.51 EUR\n", "7 JPY\n", "0.500 KWD\n"]
    assert_ledger_consistent(paying_account)


def test_prints_the_payout_balance_as_json(paying_account):
    run_command("fund_payouts", "harbor", "1250.50", "EUR")

    output = run_command("fund_payouts", "harbor", "0.05", "eur", "--json")

    assert output == '{"currency":"EUR","balance":1250.55}\n'


def test_prints_a_negative_payout_balance(account):
    """Payments exceed the top-ups."""
    scenario = ProgramScenario(account)
    scenario.enable_payouts()
    scenario.pay(20, at=timezone.now())

    assert run_command("fund_payouts", "harbor", "0.5", "EUR") == "-19.50 EUR\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["harbor", "0", "EUR"], "above 0"),
        (["harbor", "-5", "EUR"], "above 0"),
        (["harbor", "0.001", "EUR"], "EUR"),
        (["harbor", "1.5", "JPY"], "JPY"),
        (["harbor", "1" + "0" * 30, "EUR"], "amount"),
        (["harbor", "5", "XXX"], "currency"),
        (["harbor", "5", ""], "currency"),
    ],
)
def test_rejects_invalid_top_ups(paying_account, words, message):
    with assert_unchanged(paying_account):
        assert message in run_failing_command("fund_payouts", *words)


@pytest.mark.parametrize(
    "words",
    [
        *(["five", "EUR"], ["1e3", "EUR"], ["1,5", "EUR"], ["", "EUR"]),
        *(["NaN", "EUR"], ["\uff15", "EUR"]),
    ],
    ids=ascii,
)
def test_rejects_malformed_amounts_of_top_ups(account, words):
    with assert_unchanged(account):
        assert is_usage_error("fund_payouts", "harbor", *words)
