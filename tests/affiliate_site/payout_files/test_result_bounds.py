"""Answers of banks that are made to fill memory."""

import tracemalloc

import pytest

from affiliate_site.payout_files.results import bounds
from affiliate_site.payout_files.results.bounds import MAX_TEXT_LENGTH
from affiliate_site.payout_files.results.reading import (
    MAX_MESSAGE_ANSWERS,
    read_results,
)
from payouts.errors import InvalidResultsFile


def wrap_statement(xml: bytes) -> bytes:
    """A statement of a bank account with this content."""
    head = b"<Document><BkToCstmrStmt><Stmt>"
    return head + xml + b"</Stmt></BkToCstmrStmt></Document>"


class TestBounds:
    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (wrap_statement(b"x" * 1_100_000), "more than 1 MB"),
            (wrap_statement(b"<a " + b"b" * 1_100_000), "more than 1 MB"),
            (wrap_statement(b"<a>" * 60 + b"</a>" * 60), "nested too deeply"),
            (b"payment,state\n" + b"," * 1_100_000, "more than 1 MB"),
            (b"payment,state\n" + b'"\n",' * 300_000, "more than 1 MB"),
        ],
    )
    def test_refuses_large_pieces(self, content, reason):
        with pytest.raises(InvalidResultsFile, match=reason):
            read_results(content)

    @pytest.mark.parametrize(
        "content",
        [wrap_statement(b"<a/>" * 600), b"payment,state\n" + b"\n" * 1_200],
    )
    def test_counts_rows_and_tags(self, content, monkeypatch):
        monkeypatch.setattr(bounds, "MAX_PIECES", 1_000)
        with pytest.raises(InvalidResultsFile, match="more than 1,000 rows or tags"):
            read_results(content)

    @pytest.mark.parametrize(
        "content",
        [
            wrap_statement(b"<a/>" * 20_000),
            wrap_statement(b"<a><b>c</b></a>" * 10_000),
            b"payment,state\n" + b"\n" * 60_000,
        ],
    )
    def test_keeps_no_row_or_element_that_it_does_not_read(self, content):
        read_results(content)
        tracemalloc.start()
        read_results(content)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < len(content) + 1_000_000

    def test_cuts_long_texts_that_many_payments_share(self):
        xml = (
            b"<Ntry><Sts>BOOK</Sts><CdtDbtInd>CRDT</CdtDbtInd><NtryDtls>"
            + b"<TxDtls><Refs><EndToEndId>pa-0123456789abcdef</EndToEndId></Refs>"
            + b"</TxDtls></NtryDtls><AddtlNtryInf>"
            + (b"x" * 10_000)
            + b"</AddtlNtryInf></Ntry>"
        )
        for result in read_results(wrap_statement(xml)):
            assert len(result.reason) == MAX_TEXT_LENGTH

    def test_finds_a_duplicate_among_many_reasons(self):
        """Only the first one is shown, and its beginning."""
        reason = "<StsRsnInf><AddtlInf>{}</AddtlInf></StsRsnInf>"
        last = "x" * 1_000 + " DU01"
        for reasons in ([*"abc" * 30, last], [last], ["a" * 1_000, "AM05"]):
            texts = "".join(map(reason.format, reasons))
            for level in ("", "{}"):
                group = f"<GrpSts>RJCT</GrpSts>{texts if level else ''}"
                own = f"<TxInfAndSts>{'' if level else texts}</TxInfAndSts>"
                [result] = read_results(wrap_report(group, own).encode())
                assert result.state == "duplicate"
                assert len(result.reason) <= MAX_TEXT_LENGTH

    def test_reads_few_answers_about_one_file(self):
        part = (
            "<OrgnlPmtInfId>pr-AAAABBBBCCCCDDDD-1</OrgnlPmtInfId><PmtInfSts>{}"
            "</PmtInfSts></OrgnlPmtInfAndSts><OrgnlPmtInfAndSts>"
        )
        report = wrap_report("", part.format("ACSC") * 1_000)
        assert len(set(read_results(report.encode()))) == 1
        parts = [part.format(f"S{number}") for number in range(MAX_MESSAGE_ANSWERS + 1)]
        read_results(wrap_report("", "".join(parts[1:])).encode())
        with pytest.raises(InvalidResultsFile, match="has 21 different answers"):
            read_results(wrap_report("", "".join(parts)).encode())


def wrap_report(group: str, part: str) -> str:
    """A pain.002 about one message and one part of it."""
    return (
        "<Document><CstmrPmtStsRpt><OrgnlGrpInfAndSts><OrgnlMsgId>pr-AAAABBBBCCCCDDDD"
        f"</OrgnlMsgId>{group}</OrgnlGrpInfAndSts><OrgnlPmtInfAndSts>{part}"
        "</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>"
    )
