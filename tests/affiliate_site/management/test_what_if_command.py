"""Command what_if: a period by other rules, as text or JSON."""

import io
import json
import sys
from types import SimpleNamespace

import pytest

from tests.command_line import run_command, run_failing_command, run_json_command
from tests.ledger_checks import assert_unchanged
from tracking.attribution import TrackingParameters

pytestmark = pytest.mark.usefixtures("shared_scenario")

DAYS = ("--from", "2026-03-01", "--to", "2026-03-31")
KEYS = [
    *("from", "to", "sales", "sales_changed", "conversions_moved", "conversions_refused"),
    *("affiliates_changed", "totals", "affiliates", "programs", "months", "due_months"),
    *("explained", "unknown"),
]


@pytest.fixture
def changes(scenario, tmp_path):
    """A file with another rate and order."""
    rate = {"kind": "percentage", "value": 12.5}
    program = {scenario.program.slug: {"rates": {"standard": rate}}}
    path = tmp_path / "changes.json"
    path.write_text(json.dumps({"programs": program, "order": ["click_id"]}))
    return path


@pytest.fixture
def sale(scenario):
    """A sale with Mina's coupon and a click of another affiliate."""
    second = scenario.create_enrolled_affiliate("Odette", "Varga")
    click = scenario.create_click(second)
    parameters = TrackingParameters(coupon=scenario.mina.coupon, click_id=str(click.public_id))
    return scenario.create_conversion("10000", parameters=parameters)


def test_prints_the_result_as_json(account, scenario, sale, changes):
    with assert_unchanged(account):
        result = run_json_command("what_if", "harbor", *DAYS, "--changes", str(changes))

    assert list(result) == KEYS
    assert (result["conversions_moved"], result["affiliates_changed"]) == (1, 2)
    assert result["totals"] == [{"currency": "EUR", "before": 1000, "after": 1250}]
    assert result["affiliates"] == [
        {"affiliate": "minakessler", "currency": "EUR", "before": 1000, "after": 0},
        {"affiliate": "odettevarga", "currency": "EUR", "before": 0, "after": 1250},
    ]
    [explained] = result["explained"]
    assert explained["conversion"] == sale.pk
    assert explained["after"] == {
        "program": scenario.program.slug,
        "affiliate": "odettevarga",
        "tracking_source": "click",
        "refusal": None,
        "commissions": [
            {
                "affiliate": "odettevarga",
                "kind": "regular",
                "commission_type": "standard",
                "sub_amount": 10000,
                "rate": {"kind": "percentage", "value": 12.5, "from": "commission type standard"},
                "amount": 1250,
                "is_earned": True,
                "due_at": "2026-03-04T09:15:27+00:00",
            }
        ],
    }
    [unknown] = result["unknown"]
    assert (unknown["reason"], unknown["count"]) == ("groups", 1)


def test_prints_the_result_as_text(sale, changes):
    lines = run_command("what_if", "harbor", *DAYS, "--changes", str(changes)).splitlines()

    assert lines[:4] == [
        "2026-03-01 to 2026-03-31: 1 sales, 1 would change",
        "+250.00 EUR (1,000.00 → 1,250.00)",
        "2 affiliates would earn more or less",
        "1 sales would go to another affiliate, 0 would be refused",
    ]
    assert "  odettevarga: +1,250.00 EUR" in lines
    assert lines[-1].startswith("Unknown for 1: Sales whose affiliate may have been in another")


def test_reads_standard_input(sale, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"{}")))

    result = run_json_command("what_if", "harbor", *DAYS, "--changes", "-")

    assert result["totals"] == [{"currency": "EUR", "before": 1000, "after": 1000}]
    assert result["sales_changed"] == result["conversions_moved"] == 0
    assert result["unknown"] == result["explained"] == []


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff{}", b'{"order": [], "order": []}', b"[" * 40 + b"]" * 40, b'{"a": NaN}'],
)
def test_refuses_what_is_no_json(scenario, tmp_path, content):
    path = tmp_path / "changes.json"
    path.write_bytes(content)

    message = run_failing_command("what_if", "harbor", *DAYS, "--changes", str(path))

    assert message.startswith("changes.json is no JSON object with each key once: UTF-8")


def test_refuses_a_large_file_and_wrong_changes(scenario, tmp_path):
    path = tmp_path / "changes.json"
    path.write_bytes(b" " * (1 << 20) + b"{}")
    command = ("what_if", "harbor", *DAYS, "--changes", str(path))
    assert run_failing_command(*command) == "changes.json has more than 1 MiB: it is not read."

    path.write_text('{"budget": 1}')
    assert run_failing_command(*command) == (
        "changes.budget: does not exist here; possible: programs, groups, order"
    )
