"""A pay day in Chromium: draft, bank file, answers, what came back, statement."""

import re
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.utils import timezone

from accounts.models.api_keys import Role
from payouts.models.payments import PayoutMethodKind
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.payout_methods import set_payout_method
from tests.e2e.test_staff_jobs import checked_pages, device, sign_in, static_files
from tests.program_scenario import ProgramScenario

pytestmark = [pytest.mark.integration, pytest.mark.engine_independent]

__all__ = ["checked_pages", "device", "static_files"]

AMOUNTS = {"Mina": "600", "Odette": "450.10", "Noah": "900", "Lena": "700"}
IBANS = {
    "Mina": "DE89370400440532013000",
    "Odette": "NL91ABNA0417164300",
    "Noah": "AT611904300234573201",
    "Lena": "BE68539007547034",
}
PAYER = {
    "Name": "Harbor Lamps GmbH",
    "IBAN": "DE02 1203 0000 0000 2020 51",
    "Street": "Kaistraße",
    "Postal code": "20457",
    "City": "Hamburg",
    "Country": "Germany",
}
REFUSED = "<TxSts>RJCT</TxSts><StsRsnInf><Rsn><Cd>AC01</Cd></Rsn></StsRsnInf>"
SETTLED = "<TxSts>ACSC</TxSts>"
RETURNED = """<?xml version="1.0"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
<GrpHdr><MsgId>s</MsgId></GrpHdr><Stmt><Ntry><Amt Ccy="EUR">90.00</Amt>
<CdtDbtInd>CRDT</CdtDbtInd><RvslInd>true</RvslInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><Dt>{day}</Dt></BookgDt><NtryDtls><TxDtls><Refs><EndToEndId>{name}</EndToEndId>
</Refs><RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf></TxDtls></NtryDtls></Ntry></Stmt>
</BkToCstmrStmt></Document>"""


@pytest.fixture
def walk(device, chromium, static_files, committed_db, server, checked_pages):
    """A finance user of an account that owes four affiliates a commission of 10 %."""
    with sign_in(device, chromium, server, checked_pages, Role.FINANCE) as walk:
        create_debts(walk.account)
        yield walk


def create_debts(account):
    """Sales of 60 days ago, approved; payout methods as old as they are."""
    at = timezone.now() - timedelta(days=60)
    scenario = ProgramScenario(account)
    affiliates = {"Mina": scenario.mina}
    for firstname in list(AMOUNTS)[1:]:
        affiliates[firstname] = scenario.create_enrolled_affiliate(firstname, "Varga")
    for firstname, affiliate in affiliates.items():
        set_payout_method(
            account,
            affiliate_id=affiliate.slug,
            kind=PayoutMethodKind.BANK,
            details={"account_holder": firstname, "iban": IBANS[firstname]},
            is_primary=True,
            at=at,
        )
        conversion = scenario.create_conversion(
            AMOUNTS[firstname],
            affiliate=affiliate,
            external_id=f"order-{firstname.lower()}",
            at=at,
        )
        scenario.approve(scenario.get_commission(conversion), at=at)
    address = {"address": "Ring 1", "postal_code": "1010", "city": "Wien"}
    account.affiliates.update(country="AT", **address)


def write_status_report(statuses):
    """A pain.002 that answers by the references of the bank file."""
    answers = "".join(
        f"<TxInfAndSts><OrgnlEndToEndId>{name}</OrgnlEndToEndId>{status}</TxInfAndSts>"
        for name, status in statuses.items()
    )
    return (
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10">'
        "<CstmrPmtStsRpt><GrpHdr><MsgId>x</MsgId></GrpHdr><OrgnlPmtInfAndSts>"
        f"{answers}</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>"
    )


def download(walk, button):
    """Press a button that downloads; returns the text of the file."""
    walk.click_count += 1
    with walk.page.expect_download() as download_info:
        walk.find("button", button).click()
    return Path(download_info.value.path()).read_text()


def import_answer(walk, content, **entries):
    """Upload a file with answers; returns what the page says before it is applied."""
    walk.follow("Import results")
    answer = {"name": "answer.xml", "mimeType": "application/xml"}
    answer["buffer"] = content.encode()
    walk.find_field("File").set_input_files(answer)
    walk.fill(entries)
    return walk.press("Continue")


def bill_noah(walk):
    """Switch self-billing on, and say what is needed to bill one affiliate."""
    day = timezone.localdate().isoformat()
    with walk.job("switch self-billing on", clicks=2):
        walk.go("Self-billing settings")
        walk.fill({"Documents for payments from": day})
        assert "The settings were saved." in walk.press("Save")
    with walk.job("set a tax rule", clicks=4):
        walk.go("Documents")
        walk.follow("Tax rules")
        walk.follow("Add tax rule")
        walk.fill({"Country": "Austria", "VAT in percent": "19"})
        assert "The tax rule was saved." in walk.press("Save")
    with walk.job("set the tax data of an affiliate", clicks=4):
        walk.go("Affiliates")
        walk.follow("noahvarga")
        walk.follow("Change the tax data")
        walk.fill({"Country of taxation": "Austria", "Agreed to self-billing on": day})
        assert "The tax data of noahvarga were saved." in walk.press("Save")


def download_statements(walk, run):
    """Download the statements of all, and read how many there are."""
    walk.go("Payout runs")
    walk.follow(str(run))
    with walk.job("download all statements", clicks=2):
        walk.follow("Of all affiliates as a ZIP file")
        walk.find_field("Format").select_option("csv")
        walk.click_count += 1
        with walk.page.expect_download() as download_info:
            walk.find("button", "Download").click()
    with ZipFile(download_info.value.path()) as archive:
        assert len(archive.namelist()) == 3
    assert "3 of 3 statements" in walk.page.locator("#progress").inner_text()


def get_owed(walk):
    return {
        slug: balances["EUR"]
        for slug, balances in get_payable_balances_by_slug(walk.account).items()
    }


def test_pays_a_month(walk):
    account = walk.account
    with walk.job("say who pays", clicks=2):
        walk.go("Payer settings")
        walk.fill(PAYER)
        assert "The settings were saved." in walk.press("Save")
    bill_noah(walk)

    with walk.job("draft a payout run", clicks=3):
        walk.go("Payout runs")
        walk.follow("Add payout run")
        text = walk.press("Make draft")
    assert "265.01 EUR" in text
    with walk.job("take an affiliate out", clicks=2):
        row = walk.main.locator("tr", has_text="Lena Varga")
        walk.load(row.get_by_role("link", name="Take out"))
        walk.fill({"Reason": "Asked to wait for a new account."})
        text = walk.press("Take out")
    assert "lenavarga was taken out; EUR is withheld" in text
    assert "Asked to wait for a new account." in text
    with walk.job("confirm", clicks=2):
        assert "3 payments to 3 affiliates: 195.01 EUR" in walk.follow("Confirm")
        text = walk.press("Confirm")
    run = account.payout_runs.get()
    assert f"Payout run {run} was confirmed." in text

    with walk.job("download the bank file", clicks=1):
        bank_file = download(walk, f"{run}-pain001-bank-EUR.xml")
    names = re.findall("<EndToEndId>(.+?)</EndToEndId>", bank_file)
    paid = [*account.payments.order_by("id")]
    assert names == [it.public_id.replace("_", "-") for it in paid]
    assert all(f"<IBAN>{IBANS[it]}<" in bank_file for it in ("Mina", "Odette", "Noah"))
    assert IBANS["Lena"] not in bank_file

    mina, odette, noah = names
    answer = {mina: SETTLED, odette: REFUSED, noah: SETTLED}
    with walk.job("import the answer of the bank", clicks=3):
        text = import_answer(walk, write_status_report(answer))
        assert "Refused or returned, owed again" in text
        assert get_owed(walk) == {"lenavarga": 70}
        text = walk.press("Apply")
    assert "settled: 2" in text
    assert "PARTLY FAILED" in text.upper()
    assert get_owed(walk) == {"odettevarga": Decimal("45.01"), "lenavarga": 70}

    with walk.job("import what came back later", clicks=3):
        day = timezone.localdate()
        import_answer(walk, RETURNED.format(name=noah, day=day))
        text = walk.press("Apply")
    assert "refused or returned, owed again: 1" in text

    with walk.job("see why it is owed again", clicks=2):
        walk.load(walk.main.get_by_role("link", name="Noah Varga"))
    assert "AC04: account closed" in walk.text
    with walk.job("read the statement of an affiliate", clicks=2):
        walk.follow("Statement")
        days = {"From": day - timedelta(days=90), "To": day + timedelta(days=1)}
        walk.fill(days)
        text = walk.press("Show")
    assert "order-noah" in text

    download_statements(walk, run)
    with walk.job("find the document and its correction", clicks=2):
        text = walk.go("Documents")
        assert "Self-billing document".upper() in text.upper()
        walk.load(walk.main.get_by_role("link", name=re.compile("-00001$")))
    for part in ("90.00 EUR", "14.37 EUR", "Corrected by", "Noah Varga"):
        assert part in walk.text

    with walk.job("see that the ledger balances", clicks=2):
        walk.go("Ledger")
        text = walk.follow("Trial balance")
    assert "The sum is zero: debits equal credits." in text
    assert get_owed(walk) == {
        "odettevarga": Decimal("45.01"),
        "noahvarga": 90,
        "lenavarga": 70,
    }
