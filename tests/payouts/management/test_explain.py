"""Command explain."""

import io
import json
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from tests.command_line import (
    is_usage_error,
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.ledger_checks import assert_unchanged
from tests.program_scenario import ProgramScenario

pytestmark = pytest.mark.usefixtures("shared_scenario")


@pytest.fixture
def conversion(scenario):
    return scenario.create_conversion("33.33", external_id="order-1")


def run_explain(conversion, *options):
    """Run explain; return stdout, stderr and exit code."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        call_command(
            "explain", "harbor", str(conversion.pk), *options, stdout=out, stderr=err
        )
    except CommandError as error:  # as manage.py does: one line, exit 1
        err.write(f"{error}\n")
        code = error.returncode
    return out.getvalue(), err.getvalue(), code


def test_prints_the_explanation(conversion):
    explanation = run_command("explain", "harbor", str(conversion.pk))

    for word in ("order-1", "33.33 EUR", "minakessler", "coupon", "3.333", "3.33 EUR"):
        assert word in explanation
    assert "reload" not in explanation


def test_prints_that_the_verification_succeeded(conversion):
    out, err, code = run_explain(conversion, "--verify")

    assert (err, code) == ("", 0)
    assert "Verified: " in out


@pytest.mark.parametrize(
    ("options", "verified"),
    [([], None), (["--verify"], True)],
    ids=["explained", "verified"],
)
def test_prints_the_explanation_as_json(conversion, options, verified):
    with assert_unchanged(conversion.account):
        output = run_json_command("explain", "harbor", str(conversion.pk), *options)

    assert list(output) == ["conversion", "attribution", "commissions", "verified"]
    assert output["verified"] is verified
    assert output["conversion"]["amount"] == 33.33
    assert output["attribution"]["winner"]["affiliate"] == "minakessler"
    assert [row["amount"] for row in output["commissions"]] == [3.33]


CORRUPTED = [{"amount": Decimal(4)}, {"rate": Decimal(11)}, {"sub_amount": Decimal(34)}]


@pytest.mark.parametrize("values", CORRUPTED, ids=["amount", "rate", "sub-amount"])
def test_exits_with_1_for_a_corrupted_commission(conversion, values):
    conversion.account.commissions.update(**values)

    out, err, code = run_explain(conversion, "--verify")

    assert code == 1
    assert "Verification failed" in out
    assert err.count("\n") == 1


def test_exits_with_1_for_a_corrupted_attribution_record(conversion):
    decision = conversion.account.attribution_records.filter(conversion=conversion)
    outcome = decision.get().outcome.replace('"coupon"', '"click_id"')
    decision.update(outcome=outcome)

    assert run_explain(conversion, "--verify")[2] == 1


def test_prints_all_differences_in_one_line(conversion):
    conversion.account.commissions.update(amount=Decimal(4), rate=Decimal(11))

    _, err, code = run_explain(conversion, "--verify")

    assert code == 1
    assert len(err.splitlines()) == 1


def test_prints_failed_verification_as_json(conversion):
    conversion.account.commissions.update(amount=Decimal(4))

    out, err, code = run_explain(conversion, "--verify", "--json")

    assert code == 1
    assert err
    assert json.loads(out)["verified"] is False
    assert out.count("\n") == 1


def test_prints_no_differences_without_verify(conversion):
    conversion.account.commissions.update(amount=Decimal(4))

    assert run_explain(conversion)[1:] == ("", 0)


@pytest.mark.parametrize("number", ["0", "999999", "9" * 40])
def test_rejects_an_unknown_conversion(scenario, number):
    assert run_failing_command("explain", "harbor", number) == "Conversion not found"


def test_rejects_a_conversion_of_another_account(scenario, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-").create_conversion(
        "200"
    )

    assert (
        run_failing_command("explain", "harbor", str(theirs.pk))
        == "Conversion not found"
    )


def test_rejects_an_unknown_account(conversion):
    assert "unknown" in run_failing_command("explain", "unknown", str(conversion.pk))


@pytest.mark.parametrize("number", ["", "order-1", "1.0", "1_0", "\uff11"], ids=ascii)
def test_rejects_a_malformed_id(scenario, number):
    assert is_usage_error("explain", "harbor", number)
