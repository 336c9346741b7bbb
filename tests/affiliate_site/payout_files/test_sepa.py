"""SEPA credit transfers (pain.001.001.09)."""

import re

import pytest
import xmlschema
from defusedxml import ElementTree
from sepaxml import validation

from accounts.models.accounts import Account
from affiliate_site.payout_files.sepa import (
    explain_unfit,
    transliterate,
    write_pain001,
    write_receiver_name,
)
from payouts.errors import PayerIncomplete
from payouts.services.payout_answers import find_payment_id
from tests.payout_scenario import BANK, Paid, build_run

MESSAGE_ID = "pr-AAAABBBBCCCCDDDD"
ACCOUNT = Account(time_zone="Europe/Amsterdam")
MESSAGE = (
    '<?xml version="1.0" encoding="UTF-8"?><Document'
    ' xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><CstmrCdtTrfInitn><GrpHdr>'
    "<MsgId>pr-AAAABBBBCCCCDDDD</MsgId><CreDtTm>2026-04-05T08:30:15</CreDtTm>"
    "<NbOfTxs>2</NbOfTxs><CtrlSum>1012.50</CtrlSum><InitgPty>"
    "<Nm>Hafen + Sohne GmbH</Nm></InitgPty></GrpHdr><PmtInf>"
    "<PmtInfId>pr-AAAABBBBCCCCDDDD-1</PmtInfId>"
    "<PmtMtd>TRF</PmtMtd><BtchBookg>true</BtchBookg><NbOfTxs>2</NbOfTxs>"
    "<CtrlSum>1012.50</CtrlSum><PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf>"
    "<ReqdExctnDt><Dt>2026-04-05</Dt></ReqdExctnDt><Dbtr><Nm>Hafen + Sohne GmbH</Nm>"
    "<PstlAdr><StrtNm>Kade</StrtNm><BldgNb>7</BldgNb><PstCd>1011 AB</PstCd>"
    "<TwnNm>Amsterdam</TwnNm><Ctry>NL</Ctry></PstlAdr></Dbtr><DbtrAcct><Id>"
    "<IBAN>NL91ABNA0417164300</IBAN></Id></DbtrAcct><DbtrAgt><FinInstnId>"
    "<BICFI>ABNANL2A</BICFI></FinInstnId></DbtrAgt><ChrgBr>SLEV</ChrgBr><CdtTrfTxInf>"
    "<PmtId><EndToEndId>pa-0000000000000001</EndToEndId></PmtId><Amt>"
    '<InstdAmt Ccy="EUR">12.50</InstdAmt></Amt><CdtrAgt><FinInstnId>'
    "<BICFI>COBADEFFXXX</BICFI></FinInstnId></CdtrAgt><Cdtr><Nm>Mina Kessler</Nm>"
    "<PstlAdr><StrtNm>Wall 3</StrtNm><PstCd>20095</PstCd><TwnNm>Koln</TwnNm>"
    "<Ctry>DE</Ctry></PstlAdr></Cdtr><CdtrAcct><Id><IBAN>DE89370400440532013000</IBAN>"
    "</Id></CdtrAcct><RmtInf><Ustrd>pa-0000000000000001 Hafen + Sohne GmbH</Ustrd>"
    "</RmtInf></CdtTrfTxInf><CdtTrfTxInf><PmtId>"
    "<EndToEndId>pa-0000000000000002</EndToEndId></PmtId><Amt>"
    '<InstdAmt Ccy="EUR">1000.00</InstdAmt></Amt><Cdtr><Nm>Zhang Wei</Nm></Cdtr>'
    "<CdtrAcct><Id><IBAN>FR1420041010050500013M02606</IBAN></Id></CdtrAcct><RmtInf>"
    "<Ustrd>pa-0000000000000002 Hafen + Sohne GmbH</Ustrd></RmtInf></CdtTrfTxInf>"
    "</PmtInf></CstmrCdtTrfInitn></Document>"
)


def write(*paid, **fields):
    run, lines = build_run(*paid, account=ACCOUNT, **fields)
    return write_pain001(run, lines, MESSAGE_ID)


def test_writes_the_same_valid_message_each_time(time_machine):
    second = Paid(
        amount="1000",
        details={"iban": "FR14 2004 1010 0505 0001 3M02 606"},
        name="张伟",
        address={"street": "Rue 1"},
    )
    assert write(Paid(), second).decode() == MESSAGE
    time_machine.move_to("2027-01-01T00:00:00Z")
    assert write(Paid(), second).decode() == MESSAGE

    path = validation.os.path.dirname(validation.__file__)
    schema = xmlschema.XMLSchema(f"{path}/schemas/pain.001.001.09.xsd")
    schema.validate(MESSAGE)


def test_names_the_day_in_the_time_zone_of_the_account():
    run, lines = build_run(Paid(), account=Account(time_zone="Pacific/Kiritimati"))
    run.confirmed_at = run.confirmed_at.replace(hour=12)
    assert b"<Dt>2026-04-06</Dt>" in write_pain001(run, lines, MESSAGE_ID)


@pytest.mark.parametrize("payer", [{}, {"name": "Harbor"}, {"iban": "DE89"}])
def test_needs_a_payer(payer, db, account):
    run, lines = build_run(Paid(), account=account, payer=payer)
    with pytest.raises(PayerIncomplete):
        write_pain001(run, lines, MESSAGE_ID)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Łukasz Żółć", "Lukasz Zolc"),
        ("Ärger & Söhne", "Arger + Sohne"),
        ("=HYPERLINK(1)", "HYPERLINK(1)"),
        ("a\n<b>_@\u202e", "a b"),
        ("Ω" * 100, "O" * 70),
        ("Иван", "Ivan"),
        ("🙂", ""),
    ],
)
def test_transliterates_names(text, written):
    assert transliterate(text) == written


def test_writes_the_id_of_an_affiliate_whose_name_has_no_letters():
    _, [line] = build_run(Paid(name="🙂", details={"iban": "x"}))
    assert write_receiver_name(line) == "minakessler"


@pytest.mark.parametrize(
    ("paid", "reason"),
    [
        (Paid(), ""),
        (Paid(method="wire_transfer"), ""),
        (Paid(details={"account_number": "1"}), "no IBAN"),
        (
            Paid(details={"iban": "DE89370400440532013001"}),
            "the IBAN is not valid: Invalid checksum digits",
        ),
        (
            Paid(details={"iban": "BR1800360305000010009795493C1"}),
            "the account is outside of SEPA",
        ),
    ],
)
def test_explains_which_lines_do_not_fit(paid, reason):
    _, [line] = build_run(paid)
    assert explain_unfit(line) == reason


def test_leaves_out_an_invalid_bic():
    content = write(Paid(details=BANK | {"bic": "NOT A BIC"}))
    assert content.count(b"<BICFI>") == 1


def test_writes_references_that_come_back():
    for element in ElementTree.fromstring(write(Paid())).iter():
        if element.tag.endswith("}EndToEndId"):
            assert len(element.text) <= 35
            assert re.fullmatch(r"[A-Za-z0-9/?:().,'+ -]+", element.text)
            assert find_payment_id(element.text) == "pa_0000000000000001"
