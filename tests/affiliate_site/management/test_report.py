"""Command report."""

import csv
import json
import stat
from decimal import Decimal
from io import BytesIO, StringIO

import openpyxl
import pytest
from django.core.management import call_command

from affiliate_site.management.commands.report import Command
from payouts.services import statistics
from payouts.services.exchange_rates import set_rate
from tests.command_line import (
    is_usage_error,
    run_command,
    run_failing_command,
    run_json_command,
)
from tests.conftest import NOW

ARGUMENTS = (
    *("harbor", "--rows", "affiliate", "--columns", "clicks,revenue,cost_ratio,last_sale"),
    *("--from", "2026-03-01", "--to", "2026-03-31"),
)


@pytest.fixture
def sales(scenario):
    """A click and two sales of Mina in two currencies."""
    scenario.create_click()
    for currency in ("EUR", "USD"):
        scenario.create_conversion("20.5", currency=currency)
    return scenario


def test_prints_rows_and_totals(sales):
    result = run_json_command("report", *ARGUMENTS, "--compare", "previous")

    now = {"clicks": 1, "revenue": 20.5, "cost_ratio": 10}
    now |= {"last_sale": "2026-03-04T09:15:27+00:00"}
    before = {"clicks_before": 0, "revenue_before": 0}
    before |= {"cost_ratio_before": None, "last_sale_before": None}
    mina = {"affiliate": "minakessler", "affiliate_name": "Mina Kessler"}
    totals = [{"currency": currency, **now, **before} for currency in ("EUR", "USD")]
    assert result == {
        "rows": [mina | it for it in totals],
        "totals": totals,
        "from": "2026-03-01",
        "to": "2026-03-31",
        "limited": None,
    }
    assert json.loads(run_command("report", *ARGUMENTS))["rows"][0]["revenue"] == 20.5


def test_counts_days_as_long_as_it_takes(sales, monkeypatch):
    monkeypatch.setattr(statistics, "MAX_SECONDS", 0)
    sales.create_conversion("5", at=NOW.replace(month=2, day=20))
    out, err = StringIO(), StringIO()
    arguments = ("--columns", "revenue", "--from", "2026-02-01", "--to", "2026-03-04")

    call_command("report", *ARGUMENTS[:3], *arguments, "--json", stdout=out, stderr=err)

    assert [row["revenue"] for row in json.loads(out.getvalue())["totals"]] == [25.5, 20.5]
    days = range(13, 0, -1)  # one at a time
    assert err.getvalue().splitlines() == [f"Counting {it} more days ..." for it in days]


def test_filters_and_sorts(sales):
    odette = sales.create_enrolled_affiliate("Odette", "Varga")
    sales.create_conversion("7", affiliate=odette)
    for sort, expected in (("revenue", [7, 20.5, 20.5]), ("-revenue", [20.5, 7, 20.5])):
        rows = run_json_command("report", *ARGUMENTS, f"--sort={sort}")["rows"]
        assert [row["revenue"] for row in rows] == expected
    filters = ("--filter", "affiliate=odettevarga", "--filter", "group=")
    [row] = run_json_command("report", *ARGUMENTS, *filters)["rows"]
    assert (row["affiliate"], row["revenue"]) == ("odettevarga", 7)


def test_writes_files_of_numbers(sales, tmp_path):
    path = tmp_path / "report.xlsx"
    run_command("report", *ARGUMENTS, "--format", "xlsx", "--output", f"{path}")
    lines = [*openpyxl.load_workbook(BytesIO(path.read_bytes())).active.values]
    text = run_command("report", *ARGUMENTS, "--format", "csv", "--compare", "year")
    titles, *rows = csv.reader(text.splitlines())

    columns = ["Clicks", "Revenue", "Cost ratio (%)", "Last sale (UTC)"]
    assert [*lines[0]] == ["Affiliate", "Affiliate: ID", "Currency", *columns]
    assert [line[:6] for line in lines[1:]] == [
        ("Mina Kessler", "minakessler", currency, 1, 20.5, 10) for currency in ("EUR", "USD")
    ]
    before = ("Clicks, year before", "Revenue, year before")
    marked = ("Cost ratio, year before (%)", "Last sale, year before (UTC)")
    assert titles == [*lines[0], *before, *marked]
    assert rows[0][3:] == ["1", "20.5", "10", "2026-03-04T09:15:27Z", "0", "0", "", ""]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_files_say_at_which_rates_they_convert(sales):
    account = sales.account
    account.default_currency = "EUR"
    account.save()
    set_rate(account, currency="USD", rate=Decimal("0.9"), at=NOW)

    text = run_command("report", *ARGUMENTS, "--columns", "revenue_converted", "--format", "csv")
    titles, *rows = csv.reader(text.splitlines())

    assert titles[-1] == "Revenue, converted (EUR, own rates of 2026-03-04)"
    assert [row[2:] for row in rows] == [["EUR", "38.95"]]
    result = run_json_command("report", *ARGUMENTS, "--columns", "revenue_converted")
    assert result["converted"]["revenue_converted"] == 38.95


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--rows", "moon"], "rows of a report: 'moon'; possible: day, week"),
        (["--filter", "program=moon"], "There is no program 'moon'"),
        (["--filter", "group=a", "--filter", "group=b"], "--filter takes each field once."),
        (["--format", "xlsx"], "XLSX needs --output FILE."),
        (["--output", "/nowhere/x"], "/nowhere/x: No such file or directory"),
        (["--to", "2026-02-01"], "Enter a first and a last day in this order"),
    ],
)
def test_says_what_to_change(scenario, arguments, text):
    assert text in run_failing_command("report", *ARGUMENTS, *arguments)


def test_takes_a_value_with_a_minus_after_a_space(monkeypatch):
    """Of `--sort -revenue` the parser would take the value as an option."""
    taken = {}
    monkeypatch.setattr(Command, "execute", lambda _, *args, **options: taken.update(options))

    Command().run_from_argv(["manage.py", "report", *ARGUMENTS, "--sort", "-revenue"])

    assert taken["sort"] == "-revenue"


def test_a_filter_has_a_field_and_a_value(scenario):
    assert is_usage_error("report", *ARGUMENTS, "--filter", "program")
