"""An owner moves in with a file of another system, and takes it back."""

import pytest

from tests.e2e.test_staff_jobs import checked_pages, device, static_files, walk
from tests.program_scenario import ProgramScenario

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["checked_pages", "device", "static_files", "walk"]

CONTENT = (
    "Partner;Summe;Date\n{affiliate};1.234,50;03/04/2026\nnobody;80,00;05/04/2026\n"
)


def test_imports_the_good_rows_of_a_table_and_undoes_it(walk):
    scenario = ProgramScenario(walk.account)
    slug = scenario.mina.affiliate.slug
    content = CONTENT.format(affiliate=slug).encode("utf-16")
    file = {"name": "balances.csv", "mimeType": "text/csv", "buffer": content}

    with walk.job("import a table", clicks=8):
        walk.go("Imports")
        walk.follow("Import a table")
        walk.fill({"Kind of rows": "Opening balances"})
        walk.find_field("File").set_input_files(file)
        assert f"{slug} · nobody" in walk.press("Continue")
        walk.fill({"Balance": "Summe"})
        assert "1.234,50 · 80,00" in walk.text  # at once, beside the column
        assert "not read" not in walk.text
        walk.click_count += 1
        walk.find_field("3 April 2026 (day/month/year)").check()
        text = walk.press("Check the rows")
        assert "No affiliate has the ID, e-mail address or code nobody" in text
        text = walk.press("Import the 1 good row, leave out 1")
    assert "The rows were imported: 1 new, 1 left out." in text
    assert walk.account.transfers.filter(kind="opening_balance").count() == 1

    with walk.job("undo an import", clicks=2):
        walk.follow("Undo")
        assert "The import was undone." in walk.press("Undo")
    balances = walk.account.ledger_accounts.filter(kind="payable")
    assert {balance.balance for balance in balances} <= {0}
