"""An owner moves in with a file of another system, and takes it back."""

import pytest

from tests.conftest import NOW
from tests.e2e.test_staff_jobs import (
    checked_pages,
    device,
    mail_server,
    static_files,
    walk,
    walk_with_mail,
)
from tests.program_scenario import ProgramScenario
from tracking.services.portal_settings import update_portal_settings

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = [
    "checked_pages",
    "device",
    "mail_server",
    "static_files",
    "walk",
    "walk_with_mail",
]

CONTENT = "Partner;Summe;Date\n{affiliate};1.234,50;03/04/2026\nnobody;80,00;05/04/2026\n"


def test_imports_the_good_rows_of_a_table_and_undoes_it(walk):
    scenario = ProgramScenario(walk.account)
    slug = scenario.mina.affiliate.slug
    content = CONTENT.format(affiliate=slug).encode("utf-16")
    file = {"name": "balances.csv", "mimeType": "text/csv", "buffer": content}

    with walk.job("import a table", clicks=9):
        walk.go("Imports")
        walk.follow("Import a table")
        walk.fill({"Kind of rows": "Opening balances"})
        walk.find_field("File").set_input_files(file)
        assert f"{slug} · nobody" in walk.press("Continue")
        walk.fill({"Balance": "Summe"})
        assert "1.234,50 · 80,00" in walk.text  # at once, beside the column
        assert "not read" not in walk.text
        walk.click_count += 2
        walk.find_field("3 April 2026 (day/month/year)").check()
        walk.find_field("Leave their rows out").check()
        text = walk.press("Check the rows")
        assert "nobody is left out, as you have answered." in text
        text = walk.press("Import the 1 good row, leave out 1")
    assert "The rows were imported: 1 new, 1 left out." in text
    assert walk.account.transfers.filter(kind="opening_balance").count() == 1

    with walk.job("undo an import", clicks=2):
        walk.follow("Undo")
        assert "The import was undone." in walk.press("Undo")
    balances = walk.account.ledger_accounts.filter(kind="payable")
    assert {balance.balance for balance in balances} <= {0}


PEOPLE = """Partnernummer;E-Mail;Vorname;Nachname;Status;Partner-Code;Erstellt am
odette;odette@notes.example.org;Odette;Varga;freigegeben;odette-10;04.03.2026
ben;ben@notes.example.org;Ben;Ost;ruht;ben-10;05.03.2026
"""


def test_invites_imported_affiliates(walk_with_mail, mail_server):
    walk, account = walk_with_mail, walk_with_mail.account
    scenario = ProgramScenario(account)
    update_portal_settings(account, changes={"is_on": True}, at=NOW)
    file = {"name": "partner.csv", "mimeType": "text/csv", "buffer": PEOPLE.encode()}

    with walk.job("import affiliates", clicks=6):
        walk.go("Imports")
        walk.follow("Import a table")
        walk.fill({"Kind of rows": "Affiliates"})
        walk.find_field("File").set_input_files(file)
        walk.press("Continue")
        walk.fill({"Program, if the cell is empty": scenario.program.title})
        walk.click_count += 1
        ruht = walk.main.get_by_role("group").filter(has_text="ruht")
        ruht.get_by_label("Pending").check()
        text = walk.press("Check the rows")
        assert "odette" in text
        text = walk.press("Import all 2 rows")

    with walk.job("invite those who were imported", clicks=3):
        text = walk.follow("Invite affiliates")
        assert "von einem anderen System hierher umgezogen" not in text
        walk.click_count += 1
        walk.main.get_by_label("Ben Ost (ben), ben@notes.example.org").uncheck()
        walk.fill({"Language of the mail": "Deutsch"})
        text = walk.press("Send the mails")
    assert "Affiliates invited by mail: 1." in text
    mail = account.mails.get()
    assert mail.recipient == "odette@notes.example.org"
    assert "von einem anderen System hierher umgezogen" in mail.text
