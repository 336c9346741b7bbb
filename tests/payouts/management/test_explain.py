"""Command explain."""

import io
import json
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from tests.command_line import (
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
        call_command("explain", "harbor", str(conversion.pk), *options, stdout=out, stderr=err)
    except CommandError as error:  # as manage.py does: one line, exit 1
        err.write(f"{error}\n")
        code = error.returncode
    return out.getvalue(), err.getvalue(), code


def test_prints_the_explanation(conversion):
    explanation = run_command("explain", "harbor", str(conversion.pk))

    for word in ("order-1", "33.33 EUR", "minakessler", "coupon", "3.333", "3.33 EUR"):
        assert word in explanation
    assert "reload" not in explanation


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


def test_exits_with_1_for_differences(conversion):
    """What a verification finds is tested with the service."""
    out, err, code = run_explain(conversion, "--verify")
    assert (err, code) == ("", 0)
    assert "Verified: " in out
    conversion.account.commissions.update(amount=Decimal(4), rate=Decimal(11))

    out, err, code = run_explain(conversion, "--verify")
    document, json_err, json_code = run_explain(conversion, "--verify", "--json")

    assert code == json_code == 1
    assert "Verification failed" in out
    assert err.count("\n") == json_err.count("\n") == document.count("\n") == 1
    assert json.loads(document)["verified"] is False
    assert run_explain(conversion)[1:] == ("", 0)


@pytest.mark.parametrize("number", ["0", "999999", "9" * 40])
def test_rejects_an_unknown_conversion(scenario, number):
    assert run_failing_command("explain", "harbor", number) == "Conversion not found"


def test_rejects_a_conversion_of_another_account(scenario, other_account):
    theirs = ProgramScenario(other_account, prefix="zz-marker-").create_conversion("200")

    assert run_failing_command("explain", "harbor", str(theirs.pk)) == "Conversion not found"


def test_takes_an_order_id(scenario):
    conversion = scenario.create_conversion("200", external_id="ORDER-7")
    expected = run_json_command("explain", "harbor", str(conversion.pk))

    assert run_json_command("explain", "harbor", "ORDER-7") == expected
    numeric = scenario.create_conversion("50", external_id=str(conversion.pk))
    assert run_json_command("explain", "harbor", str(conversion.pk)) == expected
    shown = run_json_command("explain", "harbor", str(numeric.pk))
    assert shown["conversion"]["id"] == numeric.pk


@pytest.mark.parametrize("name", ["", "order-1", "1.0", "1_0", "\uff11"], ids=ascii)
def test_names_no_conversion(scenario, name):
    assert run_failing_command("explain", "harbor", name) == "Conversion not found"
