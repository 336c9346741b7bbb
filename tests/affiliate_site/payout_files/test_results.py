"""Readers of answers: pain.002, camt and lists, also damaged and hostile ones."""

import re
from datetime import date
from decimal import Decimal

import pytest

from affiliate_site.payout_files.results import reading
from affiliate_site.payout_files.results.reading import (
    read_results,
)
from payouts.errors import InvalidResultsFile
from payouts.services.payout_answers import Booking, PayoutResult

PA1, PA2, PA3 = (f"pa_{number:016d}" for number in (1, 2, 3))
BANK1, BANK2, BANK3 = (name.replace("_", "-") for name in (PA1, PA2, PA3))


def wrap(kind, body, version="08"):
    namespace = f"urn:iso:std:iso:20022:tech:xsd:{kind}.001.{version}"
    return f'<?xml version="1.0"?><Document xmlns="{namespace}">{body}</Document>'


def write_reason(code):
    name = "Cd" if len(code) == 4 else "Prtry"
    return f"<StsRsnInf><Rsn><{name}>{code}</{name}></Rsn></StsRsnInf>"


def write_status_report(*statuses, group="", part=""):
    transactions = "".join(
        f"<TxInfAndSts><OrgnlEndToEndId>{name}</OrgnlEndToEndId><TxSts>{status}</TxSts>"
        f"{more}</TxInfAndSts>"
        for name, status, more in statuses
    )
    return wrap(
        "pain.002",
        "<CstmrPmtStsRpt><GrpHdr><MsgId>x</MsgId><CreDtTm>2026-04-07T10:00:00</CreDtTm>"
        "</GrpHdr><OrgnlGrpInfAndSts><OrgnlMsgId>pr-AAAABBBBCCCCDDDD</OrgnlMsgId>"
        f"{group}</OrgnlGrpInfAndSts><OrgnlPmtInfAndSts>{part}{transactions}"
        "</OrgnlPmtInfAndSts></CstmrPmtStsRpt>",
        "10",
    )


def write_camt(*entries, message="BkToCstmrStmt", container="Stmt", version="08"):
    body = "".join(entries)
    return wrap(
        "camt.053",
        f"<{message}><GrpHdr><MsgId>s</MsgId></GrpHdr><{container}>{body}</{container}>"
        f"</{message}>",
        version,
    )


def write_entry(
    name=BANK1,
    *,
    amount="12.50",
    direction="DBIT",
    status="<Cd>BOOK</Cd>",
    more="",
    remittance="",
    entry="",
):
    return (
        f'<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{direction}</CdtDbtInd>{entry}'
        f"<Sts>{status}</Sts><BookgDt><Dt>2026-04-08</Dt></BookgDt>"
        f"<AcctSvcrRef>E1</AcctSvcrRef><NtryDtls><TxDtls><Refs><AcctSvcrRef>T1"
        f"</AcctSvcrRef><EndToEndId>{name}</EndToEndId></Refs>{more}<RmtInf><Ustrd>"
        f"{remittance}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"
    )


def read(text, format_name="auto"):
    return read_results(text.encode(), format_name)


def read_one(text):
    [result] = read(text)
    return result


def fail(content, format_name="auto"):
    if isinstance(content, str):
        content = content.encode()
    with pytest.raises(InvalidResultsFile) as error:
        read_results(content, format_name)
    assert "Nothing of the file was applied" in error.value.text
    return error.value.text


RETURN = "<RtrInf><Rsn><Cd>AC04</Cd></Rsn><AddtlInf>Konto erloschen</AddtlInf></RtrInf>"


class TestStatusReport:
    def test_reads_transactions(self):
        reason = (
            "<StsRsnInf><Rsn><Cd>AC01</Cd></Rsn><AddtlInf>IBAN?</AddtlInf></StsRsnInf>"
            '<OrgnlTxRef><Amt><InstdAmt Ccy="EUR">12.50</InstdAmt></Amt></OrgnlTxRef>'
        )
        report = write_status_report(
            (BANK1, "ACSC", "<AcctSvcrRef>R1</AcctSvcrRef>"),
            (BANK2, "RJCT", reason),
            ("else", "ACCP", ""),
            group="<GrpSts>PART</GrpSts>",
        )
        day = date(2026, 4, 7)
        assert read(report) == [
            PayoutResult(BANK1, "settled", reference="R1", day=day),
            PayoutResult(
                BANK2,
                "failed",
                Decimal("12.50"),
                "EUR",
                reason="AC01: account number incorrect: IBAN?",
                day=day,
            ),
            PayoutResult("else", "unknown", reason="status ACCP", day=day),
        ]

    @pytest.mark.parametrize(
        ("status", "state"),
        [
            ("ACSC", "settled"),
            ("ACCC", "settled"),
            ("RJCT", "failed"),
            *((status, "unknown") for status in ("ACCP", "ACSP", "ACTC", "PDNG", "")),
        ],
    )
    def test_counts_as_settled_only_what_says_so(self, status, state):
        assert read_one(write_status_report((BANK1, status, ""))).state == state

    def test_reads_the_status_of_a_whole_message(self):
        group = "<GrpSts>RJCT</GrpSts><StsRsnInf><Rsn><Prtry>LIMIT</Prtry></Rsn></StsRsnInf>"
        result = read_one(write_status_report(group=group))
        assert (result.name, result.state) == ("pr-AAAABBBBCCCCDDDD", "failed")
        assert (result.is_message, result.reason) == (True, "LIMIT")

    def test_reads_the_number_and_the_sum_of_the_message(self):
        group = (
            "<OrgnlNbOfTxs>2</OrgnlNbOfTxs><OrgnlCtrlSum>40.50</OrgnlCtrlSum><GrpSts>ACSC</GrpSts>"
        )
        result = read_one(write_status_report(group=group))
        assert (result.count, result.amount) == (2, Decimal("40.5"))
        odd = write_status_report(group=group.replace(">2<", ">two<"))
        assert read_one(odd).count == -1
        assert "is no amount" in fail(odd.replace("40.50", "1,5"))

    def test_reads_the_status_of_each_payment_information(self):
        """That of a part is for this part only; the message then says no more."""
        part = (
            "<OrgnlPmtInfId>{}</OrgnlPmtInfId><OrgnlNbOfTxs>3</OrgnlNbOfTxs>"
            "<PmtInfSts>{}</PmtInfSts>{}"
        )
        second = "</OrgnlPmtInfAndSts><OrgnlPmtInfAndSts>"
        parts = second.join(
            [
                part.format("pr-AAAABBBBCCCCDDDD.2-1", "RJCT", write_reason("AC06")),
                part.format("SALARIES", "ACSC", ""),
            ]
        )
        report = write_status_report(group="<GrpSts>PART</GrpSts>", part=parts)
        assert [(it.name, it.state, it.count, it.reason, it.is_message) for it in read(report)] == [
            ("pr-AAAABBBBCCCCDDDD.2", "failed", 3, "AC06: account blocked", True),
            ("SALARIES", "settled", 3, "", True),
        ]

    def test_a_transaction_without_a_status_has_that_of_its_part(self):
        report = write_status_report(
            (BANK1, "", ""),
            (BANK2, "ACSC", ""),
            group="<GrpSts>ACCP</GrpSts>",
            part=f"<PmtInfSts>RJCT</PmtInfSts>{write_reason('AC06')}",
        )
        assert [(it.state, it.reason) for it in read(report)] == [
            ("failed", "AC06: account blocked"),
            ("settled", "AC06: account blocked"),
        ]

    @pytest.mark.parametrize("code", ["DU01", "AM05", "DUPL", "DUPLICATE FILE"])
    @pytest.mark.parametrize("level", ["group", "part", "whole part", "transaction"])
    def test_finds_a_duplicate_at_each_level(self, code, level):
        own, whole = write_reason("MS03"), write_reason("MS03") + write_reason(code)
        group, part, transactions = "<GrpSts>RJCT</GrpSts>", "", ()
        if level == "group":
            group += whole
        elif level == "whole part":
            part = f"<PmtInfSts>RJCT</PmtInfSts>{whole}"
        else:
            part = whole if level == "part" else ""
            more = own if level == "part" else whole
            transactions = ((BANK1, "RJCT", more),)
        report = write_status_report(*transactions, group=group, part=part)
        assert [it.state for it in read(report)] == ["duplicate"]

    @pytest.mark.parametrize(
        "words",
        [
            *("Duplicate order", "Doppelte Einreichung", "ordre en doublon"),
            *("dubbele opdracht", "zlecenie zduplikowane", "PODWÓJNA płatność"),
            *("ordem duplicada", "pago duplicado", "ordine doppio"),
        ],
    )
    def test_a_reason_in_words_says_that_it_is_a_duplicate(self, words):
        reason = f"<StsRsnInf><Rsn><Cd>NARR</Cd></Rsn><AddtlInf>{words}</AddtlInf></StsRsnInf>"
        assert read_one(write_status_report((BANK1, "RJCT", reason))).state == ("duplicate")
        assert read_one(write_status_report((BANK1, "ACSC", reason))).state == "settled"


class TestStatement:
    @pytest.mark.parametrize("version", ["02", "08"])
    @pytest.mark.parametrize(
        ("message", "container"),
        [("BkToCstmrStmt", "Stmt"), ("BkToCstmrDbtCdtNtfctn", "Ntfctn")],
    )
    def test_reads_booked_debits_as_settled(self, version, message, container):
        status = "BOOK" if version == "02" else "<Cd>BOOK</Cd>"
        entry = write_entry(status=status)
        result = read_one(write_camt(entry, message=message, container=container))
        assert result == PayoutResult(
            PA1,
            "settled",
            Decimal("12.50"),
            "EUR",
            reference="T1",
            day=date(2026, 4, 8),
            booking=Booking.TRANSACTION,
        )

    def test_says_what_a_reference_names(self):
        entry = write_entry()
        numbered = "<NtryRef>1</NtryRef>"  # of the message: the same in each
        for text, reference, booking in (
            (entry, "T1", "transaction"),
            (entry.replace("<AcctSvcrRef>T1</AcctSvcrRef>", ""), "E1", "entry"),
            (re.sub("<AcctSvcrRef>..</AcctSvcrRef>", numbered, entry), "1", ""),
            (write_entry(direction="CRDT"), "T1", ""),
            (write_entry(entry="<RvslInd>true</RvslInd>"), "T1", "reversal"),
            (write_entry(status="<Cd>PDNG</Cd>"), "T1", ""),
        ):
            result = read_one(write_camt(text))
            assert (result.reference, result.booking) == (reference, booking)

    def test_reads_returns_with_the_reason_of_the_bank(self):
        result = read_one(write_camt(write_entry(direction="CRDT", more=RETURN)))
        assert result.state == "returned"
        assert result.reason == "AC04: account closed: Konto erloschen"
        reversal = write_entry(direction="CRDT", entry="<RvslInd>true</RvslInd>")
        result = read_one(write_camt(reversal))
        assert (result.state, result.reason) == ("returned", "returned")

    @pytest.mark.parametrize(
        "entry",
        [
            write_entry(status="<Cd>PDNG</Cd>"),
            write_entry(entry="<RvslInd>true</RvslInd>"),
            write_entry(more=RETURN),
            write_entry("NOTPROVIDED", direction="CRDT", remittance=f"thanks {PA1}"),
        ],
        ids=["pending", "reversed credit", "returned credit", "somebody's credit"],
    )
    def test_leaves_open_what_is_neither(self, entry):
        assert read_one(write_camt(entry)).state == "unknown"

    def test_a_returned_duplicate_says_nothing_of_the_other_order(self):
        more = RETURN.replace("AC04", "AM05")
        entry = write_entry(direction="CRDT", more=more)
        assert read_one(write_camt(entry)).state == "duplicate"

    def test_finds_the_reference_in_the_remittance_information(self):
        entry = write_entry("NOTPROVIDED", remittance=f"{BANK1} Harbor")
        assert read_one(write_camt(entry)).name == PA1

    def test_reads_each_transaction_of_a_batch(self):
        second = (
            f"<TxDtls><Refs><EndToEndId>{BANK2}</EndToEndId></Refs><AmtDtls><TxAmt>"
            '<Amt Ccy="EUR">2.00</Amt></TxAmt></AmtDtls></TxDtls></NtryDtls>'
        )
        entry = write_entry().replace("</NtryDtls>", second)
        found = [(it.name, it.amount, it.reference) for it in read(write_camt(entry))]
        assert found == [(PA1, None, "T1"), (PA2, Decimal(2), "E1")]

    def test_reads_a_batch_without_transactions_as_a_whole_message(self):
        batch = (
            '<Ntry><Amt Ccy="EUR">99.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts>'
            "<NtryDtls><Btch><PmtInfId>{}</PmtInfId><NbOfTxs>7</NbOfTxs></Btch>"
            "</NtryDtls></Ntry>"
        )
        ours = batch.format("pr-AAAABBBBCCCCDDDD-1")
        result = read_one(write_camt(batch.format("SALARIES"), ours))
        assert (result.name, result.count) == ("pr-AAAABBBBCCCCDDDD", 7)
        assert (result.is_message, result.amount) == (True, Decimal(99))

    @pytest.mark.parametrize("amount", ["1e70", "1e-70", "." + "1" * 63, "9" * 64])
    def test_refuses_an_amount_of_too_many_digits(self, amount):
        """A sum with it, or any text of it, would be as long."""
        assert "is no amount" in fail(write_camt(write_entry(amount=amount)))
        assert "in row 2 is no amount" in fail(f"payment,state,amount\n{PA1},paid,{amount}")

    def test_passes_over_other_bookings(self):
        assert read(write_camt(write_entry("rent"), write_entry("NOTPROVIDED"))) == []


class TestHostileXml:
    def test_refuses_bombs_and_external_entities(self):
        bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'
        external = '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>'
        entity = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'
        for content in (bomb, external, entity):
            assert "document type or entities" in fail(content)

    def test_refuses_a_truncated_file(self):
        text = write_camt(write_entry())
        for length in range(60, len(text) - 1, 97):
            assert "damaged or incomplete" in fail(text[:length])

    def test_refuses_wrong_encodings(self):
        text = write_camt(write_entry(more="<AddtlTxInf>Köln</AddtlTxInf>"))
        assert "damaged" in fail(text.encode("cp1252"))
        declared = text.replace('"1.0"', '"1.0" encoding="klingon"')
        assert "XML" in fail(declared)

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    def test_reads_the_encodings_that_xml_declares(self, encoding):
        declared = {"utf-8-sig": "utf-8", "cp1252": "windows-1252"}
        text = write_camt(write_entry(direction="CRDT", more="<AddtlTxInf>ö</AddtlTxInf>"))
        name = declared.get(encoding, encoding)
        text = text.replace('"1.0"', f'"1.0" encoding="{name}"')
        [result] = read_results(text.encode(encoding))
        assert result.reason == "ö"

    def test_refuses_other_messages(self):
        report = wrap("camt.052", "<BkToCstmrAcctRpt><Rpt/></BkToCstmrAcctRpt>")
        assert "it has BkToCstmrAcctRpt" in fail(report)
        assert "no pain002: it has BkToCstmrStmt" in fail(write_camt(), "pain002")
        assert "no pain.002" in fail("<x/>")
        assert "damaged" in fail("payment,state", "camt")

    def test_refuses_a_bad_amount(self):
        assert "is no amount" in fail(write_camt(write_entry(amount="12,50")))


class TestLists:
    def test_reads_a_plain_list(self):
        text = (
            "Payment;State;Reference;Amount;Currency;Reason;Date\n"
            f"{BANK1};settled;B7;12,50;eur;;2026-04-09\n"
            f"{PA2};Returned;;;;closed;\n\n"
            "other;pending;;;;;\n"
        )
        assert read(text) == [
            PayoutResult(
                PA1,
                "settled",
                Decimal("12.50"),
                "EUR",
                reference="B7",
                day=date(2026, 4, 9),
            ),
            PayoutResult(PA2, "returned", reason="closed"),
            PayoutResult("other", "unknown"),
        ]
        assert read(f"payment,state,reference\n{PA1},settled,R") == [
            PayoutResult(PA1, "settled", reference="R")
        ]

    def test_reads_the_list_of_paypal(self):
        text = (
            '"Date","Type","Status","Currency","Gross","Transaction ID",'
            '"Custom Number"\n'
            f'"04/06/2026","Mass Pay","Completed","EUR","-1,012.50","9X","{PA1}"\n'
            f'"04/06/2026","Mass Pay","Unclaimed","EUR","-2.00","9Y","{PA2}"\n'
            f'"04/06/2026","Mass Pay","Returned","JPY","-1,250","9Z","{PA3}"\n'
            '"04/06/2026","Fee","Completed","EUR","-0.10","9W",""\n'
        )
        day = date(2026, 4, 6)
        assert read(text) == [
            PayoutResult(PA1, "settled", Decimal("1012.50"), "EUR", reference="9X", day=day),
            PayoutResult(
                PA2,
                "unknown",
                Decimal(2),
                "EUR",
                reference="9Y",
                reason="status Unclaimed",
                day=day,
            ),
            PayoutResult(
                PA3,
                "returned",
                Decimal(1250),
                "JPY",
                reference="9Z",
                reason="status Returned",
                day=day,
            ),
        ]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Mass Pay,-20.00", "Mass Pay Reversal,20.00"),
            ("Mass Pay,-20.00", "Anything,20.00"),
            ("Mass Pay,-20.00", "Payment Refund,"),
        ],
    )
    def test_money_that_came_back_is_a_return(self, first, second):
        """PayPal calls both rows completed."""
        head = f"Status,Custom Number,Type,Gross\nCompleted,{PA1},"
        sent, back = read(f"{head}{first}\nCompleted,{PA2},{second}\n")
        assert (sent.state, sent.amount) == ("settled", Decimal(20))
        kind, amount = second.split(",")
        assert (back.state, back.reason) == ("returned", kind)
        assert back.amount == (Decimal(amount) if amount else None)
        # What is sent is not below zero in each list.
        alone = f"Status,Custom Number,Type,Gross\nCompleted,{PA1},{{}},20.00\n"
        assert read_one(alone.format("Mass Pay")).state == "settled"
        assert read_one(alone.format("Payment Refund")).state == "returned"

    def test_money_that_comes_in_is_a_return_in_the_list_of_wise(self):
        text = f"ID,Status,Direction,Reference\n1,COMPLETED,IN,{PA1}\n"
        assert read_one(text).state == "returned"

    @pytest.mark.parametrize(
        ("texts", "days"),
        [
            (["04/06/2026"], ["2026-04-06"]),
            (["04/06/2026", "4/30/2026"], ["2026-04-06", "2026-04-30"]),
            (["04/06/2026", "30/04/2026"], ["2026-06-04", "2026-04-30"]),
            (["06.04.2026", "06-04-2026 10:00:00"], ["2026-04-06", "2026-04-06"]),
            (["2026-04-06", "soon", "31/31/2026"], ["2026-04-06", None, None]),
        ],
    )
    def test_reads_days_as_paypal_writes_them(self, texts, days):
        rows = "".join(f"Completed,{PA1},{text}\n" for text in texts)
        found = read(f"Status,Custom Number,Date\n{rows}")
        assert [it.day and it.day.isoformat() for it in found] == days

    def test_a_plain_list_has_days_that_can_be_read(self):
        text = f"payment,state,date\n{PA1},paid,07.04.2026\n"
        assert "“07.04.2026” in row 2 is no day: write it as 2026-04-30" in fail(text)

    def test_reads_the_list_of_wise(self):
        text = (
            "ID,Status,Direction,Finished on,Target amount (after fees),"
            "Target currency,Reference\n"
            "TRANSFER-1,COMPLETED,OUT,2026-04-06 10:00:00,12.5,EUR,"
            f"{PA1.replace('_', '')}\n"
            f"TRANSFER-2,bounced_back,OUT,,2,EUR,{PA2}\n"
            "TRANSFER-3,COMPLETED,OUT,,2,EUR,rent\n"
        )
        first, second = read(text)
        assert first == PayoutResult(
            PA1,
            "settled",
            Decimal("12.5"),
            "EUR",
            reference="TRANSFER-1",
            day=date(2026, 4, 6),
        )
        assert (second.name, second.state) == (PA2, "unknown")

    @pytest.mark.parametrize(
        ("text", "currency", "amount"),
        [
            ("1234.50", "EUR", "1234.50"),
            ("1.234,50", "EUR", "1234.50"),
            ("1'234.50", "CHF", "1234.50"),
            ("1 234,5", "EUR", "1234.5"),
            ("1,234", "JPY", "1234"),
            ("1,234,567", "JPY", "1234567"),
            ("1.234", "KWD", "1.234"),
            ("0.125", "EUR", "0.125"),
        ],
    )
    def test_reads_amounts_as_people_write_them(self, text, currency, amount):
        rows = f"payment;state;amount;currency\n{PA1};paid;{text};{currency}"
        assert read_one(rows).amount == Decimal(amount)

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    def test_reads_encodings_with_a_mark(self, encoding):
        text = f"payment,state,reason\n{PA1},failed,Köln"
        [result] = read_results(text.encode(encoding))
        assert result.reason == "Köln"

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"", "The file is empty"),
            (b"PK\x03\x04", "spreadsheet or a ZIP"),
            (b"%PDF-1.7", "This is a PDF"),
            ("payment,state\npa,K\xf6ln".encode("cp1252"), "Row 2 is not UTF-8"),
            (b"\xff\xfea", "no valid UTF-16"),
            (b"payment,state\n\x00,", "zero bytes"),
            (b"a,b\n1,2", "has “payment” and “state”, this file has a, b"),
            (b"\n", "this file has none"),
            (b"payment,state\npa_1,great", "“great” in row 2 is no state"),
            (b"payment,state\npa_1,paid\npa_2", "Row 3 has 1 of 2 columns"),
            (b"payment,state,amount\npa_1,paid,much", "“much” in row 2 is no amount"),
            (b'payment,state\n"pa_1,paid', "damaged: unexpected end"),
            (b"payment,state\n" + b"x" * 200_000 + b",", "damaged: field larger"),
        ],
    )
    def test_refuses_lists_that_it_cannot_read(self, content, reason):
        assert reason in fail(content)

    def test_refuses_a_list_of_another_format(self):
        assert "Wise has “reference” and “status”" in fail("a,b\n", "wise")


def test_does_not_read_a_file_that_is_too_large(monkeypatch):
    monkeypatch.setattr(reading, "MAX_RESULTS_BYTES", 3)
    fail("payment,state")
