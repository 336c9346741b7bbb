"""Long statements as PDF: totals in place of lines, in the office and the portal."""

import resource
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest

from affiliate_site import statement_files
from affiliate_site.portal.statement_files import OwnStatementFile
from affiliate_site.statement_files import StatementFile, choose_period
from payouts.services.statements import (
    CurrencyStatement,
    MovementKind,
    Statement,
    StatementLine,
)
from tests.conftest import NOW

FILES = {
    "office": StatementFile,
    "portal": lambda statement: OwnStatementFile(statement, "full"),
}


def make_statement(count: int, *, per_day: int = 100, currencies: int = 1) -> Statement:
    """A statement of so many lines of one euro, in each currency."""
    account = SimpleNamespace(name="Harbor", time_zone="UTC", get_day=lambda at: at.date())
    affiliate = SimpleNamespace(
        account=account, slug="mina", firstname="Mina", lastname="Kessler", email=None
    )
    kind, amount = MovementKind.COMMISSION, Decimal(1)
    start = datetime(2026, 1, 1, 12, tzinfo=NOW.tzinfo)
    lines = [
        StatementLine(start + timedelta(days=number // per_day), kind, amount)
        for number in range(count)
    ]
    statements = [
        CurrencyStatement(name, Decimal(5), Decimal(0), lines)
        for name in ("EUR", "USD")[:currencies]
    ]
    return Statement(affiliate, date(2026, 1, 1), date(2026, 12, 31), statements)


def read_rows(monkeypatch, site, statement):
    """Render a PDF; the rows and notes of its sections."""
    contexts = []
    with monkeypatch.context() as patch:
        patch.setattr(
            statement_files, "write_pdf", lambda template, context: contexts.append(context)
        )
        FILES[site](statement).render("pdf")
    [context] = contexts
    rows = [[*row] for part in context["sections"] for row in part.values]
    return rows, [note for part in context["sections"] for note in part.notes]


@pytest.mark.parametrize("site", FILES)
def test_a_pdf_of_up_to_a_thousand_lines_has_them_all(monkeypatch, site):
    for count in (999, 1000):
        rows, notes = read_rows(monkeypatch, site, make_statement(count))
        assert len(rows) == count + 2
        assert not notes


@pytest.mark.parametrize("site", FILES)
def test_a_longer_pdf_has_totals_per_day_and_names_the_csv(monkeypatch, site):
    rows, [note] = read_rows(monkeypatch, site, make_statement(1001))

    assert "CSV" in note
    opening, *totals, closing = rows
    assert len(totals) == 11
    days = {"office": ("2026-01-01", "2026-01-11"), "portal": ("1 Jan 2026", "11 Jan 2026")}
    assert (totals[0][0], totals[-1][0]) == days[site]
    assert totals[0][1] == "Movements: 100"
    assert totals[0][-1].startswith("100")
    assert totals[-1][-1].startswith("1.00")
    assert opening[-1].startswith("5")
    assert closing[-1].startswith("1,006")


def test_all_currencies_count(monkeypatch):
    rows, notes = read_rows(monkeypatch, "office", make_statement(600, per_day=600, currencies=2))

    assert len(rows) == 2 * 3
    assert len(notes) == 2


def test_more_than_a_thousand_days_become_months(monkeypatch):
    rows, _ = read_rows(monkeypatch, "office", make_statement(1001, per_day=1))

    assert rows[1][:2] == ["2026-01", "Movements: 31"]
    assert choose_period(make_statement(32_000, per_day=1)) == len("2026")


@pytest.mark.slow
def test_a_pdf_grows_no_more_beyond_a_thousand_lines():
    def measure(count):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        assert StatementFile(make_statement(count)).render("pdf").startswith(b"%PDF-")
        return resource.getrusage(resource.RUSAGE_SELF).ru_utime - before

    measure(10)
    assert measure(20_000) < 2 * measure(1000)
