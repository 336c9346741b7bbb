"""pain.002, camt.053 and camt.054 of all versions, read by the names of their elements.

Only a booked debit, or a status that says so, settles a payment: accepted, in process
and pending are no news.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from affiliate_site.payout_files.results.bounds import (
    MAX_TEXT_LENGTH,
    BoundedFile,
    read_amount,
)
from payouts.errors import InvalidResultsFile
from payouts.services.payout_answers import (
    NOT_ARRIVED,
    Booking,
    PayoutResult,
    ResultState,
    find_duplicate,
    find_payment_id,
    names_duplicate,
)

PAIN002, CAMT = XML_FORMATS = ("pain002", "camt")
MESSAGES = {
    "CstmrPmtStsRpt": PAIN002,
    "BkToCstmrStmt": CAMT,
    "BkToCstmrDbtCdtNtfctn": CAMT,
}
STATES = {
    "ACSC": ResultState.SETTLED,
    "ACCC": ResultState.SETTLED,
    "RJCT": ResultState.FAILED,
    "CANC": ResultState.FAILED,
}
REASONS = {
    "AC01": "account number incorrect",
    "AC04": "account closed",
    "AC06": "account blocked",
    "AG01": "transaction forbidden on this account",
    "AG02": "operation code not valid",
    "AM04": "insufficient funds",
    "AM05": "duplicate",
    "BE01": "name and account do not belong together",
    "BE04": "creditor's address missing",
    "CUST": "requested by the customer",
    "DU01": "message duplicate",
    "DU02": "payment information duplicate",
    "DU03": "transaction duplicate",
    "DU04": "reference duplicate",
    "DU05": "instruction duplicate",
    "DUPL": "duplicate",
    "FOCR": "returned after a recall",
    "MD07": "account holder deceased",
    "MS02": "refused by the creditor",
    "MS03": "reason not given",
    "RC01": "BIC incorrect",
    "RR04": "regulatory reason",
}
AMOUNT_PATHS = ("AmtDtls/InstdAmt/Amt", "AmtDtls/TxAmt/Amt", "Amt")
# The id of a payment information is the message id with a number.
MESSAGE_PATTERN = re.compile(r"([a-z]+-[A-Za-z0-9]{16}(?:\.[0-9]+)?)(-1)?", re.ASCII)
MESSAGE_DEPTH = 2  # of the element that names the kind of message
MAX_DEPTH = 50
# Elements that are read when they end; all others are dropped then.
WHOLE_ELEMENTS = {"TxInfAndSts", "StsRsnInf", "Ntry"}


def read_xml(content: bytes, format_name: str | None) -> list[PayoutResult]:
    """Return the answers of a message of this format, or of any."""
    try:
        return list(iterate_results(content, format_name))
    except DefusedXmlException:
        reason = "The file has a document type or entities, which no bank sends"
    except ParseError as error:
        reason = f"The XML is damaged or incomplete: {error}"
    except (LookupError, ValueError) as error:  # an encoding
        reason = f"The XML cannot be read: {error}"
    raise InvalidResultsFile(reason=reason)


def iterate_results(content: bytes, format_name: str | None) -> Iterator[PayoutResult]:
    """Read one transaction after the other, in little memory."""
    kind, report = "", StatusReport()
    for depth, name, element in iterate_elements(content):
        if element is None:
            if depth == MESSAGE_DEPTH:
                kind = get_kind(name, format_name)
            report.begin(name)
        elif kind == PAIN002:
            yield from report.read(name, element)
        elif kind == CAMT and name == "Ntry":
            yield from read_entry(element)
    if not kind:
        raise InvalidResultsFile(reason="The file is no pain.002, camt.053 or camt.054")
    yield from report.read_whole_message()


def iterate_elements(content: bytes) -> Iterator[tuple[int, str, Element | None]]:
    """Yield depth and name of each element at its begin, and once more with the element
    at its end; then it is dropped, unless it is in one of `WHOLE_ELEMENTS`."""
    file = BoundedFile(content)
    events = iterparse(file, events=("start", "end"), forbid_dtd=True)
    path: list[Element] = []
    whole: Element | None = None
    for event, element in file.iterate(events):
        name = element.tag.rpartition("}")[2]
        if event == "start":
            path.append(element)
            if len(path) > MAX_DEPTH:
                raise InvalidResultsFile(reason="Its elements are nested too deeply")
            if whole is None and name in WHOLE_ELEMENTS:
                whole = element
            yield len(path), name, None
            continue
        yield len(path), name, element
        path.pop()
        if whole is element:
            whole = None
        if whole is None and path:
            path[-1].remove(element)


def get_kind(name: str, format_name: str | None) -> str:
    """The format of a message; raises `InvalidResultsFile` for another."""
    kind = MESSAGES.get(name, "")
    if not kind or format_name not in (None, kind):
        wanted = format_name or "pain.002, camt.053 or camt.054"
        raise InvalidResultsFile(reason=f"The file is no {wanted}: it has {name}")
    return kind


def find_text(element: Element, *paths: str) -> str:
    """The text of the first of these paths that has one, in any namespace."""
    for path in paths:
        steps = "/".join(f"{{*}}{step}" for step in path.split("/"))
        if text := (element.findtext(steps) or "").strip():
            return text
    return ""


def parse_bank_day(text: str) -> date | None:
    """The day of `2026-11-05` or `2026-11-05T10:00:00`."""
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def find_amount(element: Element, *paths: str) -> tuple[Decimal | None, str]:
    """The amount and currency at the first of these paths."""
    for path in paths:
        found = element.find("/".join(f"{{*}}{step}" for step in path.split("/")))
        if found is not None:
            return read_amount((found.text or "").strip()), found.get("Ccy", "")
    return None, ""


@dataclass(frozen=True)
class Reasons:
    """What a bank says of one thing, cut: `AC04: account closed`; whether a reason, in
    full, is that of a duplicate."""

    text: str = ""
    names_duplicate: bool = False


def read_reasons(elements: Iterable[Element]) -> Reasons:
    """All reasons of one thing."""
    text = "; ".join(filter(None, map(describe_reason, elements)))
    return Reasons(text[:MAX_TEXT_LENGTH], names_duplicate(text))


def describe_reason(element: Element) -> str:
    """The code of one reason, what it means, and what the bank adds."""
    code = find_text(element, "Rsn/Cd", "Rsn/Prtry")
    more = " ".join(it.text or "" for it in element.findall("{*}AddtlInf")).strip()
    return ": ".join(filter(None, (code, REASONS.get(code, ""), more)))


@dataclass
class Whole:
    """What a pain.002 says of a message, or of one payment information in it."""

    name: str = ""
    status: str = ""
    count: int | None = None
    amount: Decimal | None = None
    reasons: Reasons = Reasons()

    def read(self, name: str, element: Element) -> None:
        """Read one of its elements that has ended."""
        text = (element.text or "").strip()[:MAX_TEXT_LENGTH]
        if name in ("OrgnlMsgId", "OrgnlPmtInfId"):
            self.name = text
        elif name in ("GrpSts", "PmtInfSts"):
            self.status = text
        elif name == "OrgnlNbOfTxs":
            self.count = int(text) if text.isdecimal() else -1  # which agrees with none
        elif name == "OrgnlCtrlSum":
            self.amount = read_amount(text)
        elif name == "StsRsnInf":
            found = read_reasons([element])
            self.reasons = Reasons(
                self.reasons.text or found.text,
                self.reasons.names_duplicate or found.names_duplicate,
            )


class StatusReport:
    """A pain.002: the statuses of a message, of its parts and of transactions."""

    def __init__(self) -> None:
        self.message, self.part = Whole(), Whole()
        self.present: Whole | None = None
        self.day: date | None = None
        self.has_transactions = self.has_parts = False

    def begin(self, name: str) -> None:
        """Notice the beginning of an element."""
        if name == "OrgnlGrpInfAndSts":
            self.present = self.message
        elif name == "OrgnlPmtInfAndSts":
            self.present = self.part = Whole()
            self.has_transactions = False
        elif name == "TxInfAndSts":
            self.present = None  # its reasons are its own

    def read(self, name: str, element: Element) -> Iterator[PayoutResult]:
        """Read an element that has ended."""
        if name == "CreDtTm":
            self.day = self.day or parse_bank_day(element.text or "")
        elif name == "TxInfAndSts":
            self.has_transactions = self.has_parts = True
            yield self.read_transaction(element)
        elif name == "OrgnlPmtInfAndSts":
            self.present = None
            if self.part.status and not self.has_transactions:
                self.has_parts = True
                yield self.read_whole(self.part)
        elif self.present is not None:
            self.present.read(name, element)

    def read_transaction(self, element: Element) -> PayoutResult:
        """One transaction; without a status it has that of its part or message."""
        status = find_text(element, "TxSts") or self.part.status or self.message.status
        own = read_reasons(element.findall("{*}StsRsnInf"))
        reasons = (own, self.part.reasons, self.message.reasons)
        amount, currency = find_amount(element, "OrgnlTxRef/Amt/InstdAmt")
        return PayoutResult(
            name=find_text(element, "OrgnlEndToEndId", "OrgnlInstrId") or "(no name)",
            state=get_state(status, reasons),
            amount=amount,
            currency=currency,
            reference=find_text(element, "AcctSvcrRef", "StsId"),
            reason=describe_answer(status, reasons),
            day=self.day,
        )

    def read_whole_message(self) -> Iterator[PayoutResult]:
        """The status of a message of whose parts none has one."""
        if self.message.name and self.message.status and not self.has_parts:
            yield self.read_whole(self.message)

    def read_whole(self, whole: Whole) -> PayoutResult:
        """The status of a message or of a part, whose transactions are not listed."""
        match = MESSAGE_PATTERN.fullmatch(whole.name)
        reasons = (whole.reasons, self.message.reasons)
        return PayoutResult(
            name=match[1] if match else whole.name,
            state=get_state(whole.status, reasons),
            amount=whole.amount,
            reason=describe_answer(whole.status, reasons),
            day=self.day,
            is_message=True,
            count=whole.count,
        )


def get_state(status: str, levels: Iterable[Reasons]) -> ResultState:
    """What a status of pain.002 says, with the reasons of all its levels."""
    state = STATES.get(status, ResultState.UNKNOWN)
    is_duplicate = any(reasons.names_duplicate for reasons in levels)
    return ResultState.DUPLICATE if is_duplicate and state in NOT_ARRIVED else state


def describe_answer(status: str, levels: Iterable[Reasons]) -> str:
    """The first reason, else a status that is no settlement; empty for one that is."""
    if text := next(filter(None, (reasons.text for reasons in levels)), ""):
        return text
    if STATES.get(status) == ResultState.SETTLED:
        return ""
    return f"status {status[:MAX_TEXT_LENGTH] or 'not given'}"


@dataclass(frozen=True)
class Entry:
    """What a booking says of all of its transactions."""

    element: Element
    status: str
    direction: str
    reference: str
    number: str  # of the message: `NtryRef`
    text: str
    day: date | None
    is_reversal: bool

    @classmethod
    def read(cls, element: Element) -> "Entry":
        """Read it once: it may have many transactions, and many other elements."""
        return cls(
            element,
            status=find_text(element, "Sts/Cd", "Sts")[:MAX_TEXT_LENGTH],
            direction=find_text(element, "CdtDbtInd"),
            reference=find_text(element, "AcctSvcrRef")[:MAX_TEXT_LENGTH],
            number=find_text(element, "NtryRef")[:MAX_TEXT_LENGTH],
            text=find_text(element, "AddtlNtryInf")[:MAX_TEXT_LENGTH],
            day=parse_bank_day(find_text(element, "BookgDt/Dt", "BookgDt/DtTm")),
            is_reversal=find_text(element, "RvslInd") in ("true", "1"),
        )


def read_entry(element: Element) -> Iterator[PayoutResult]:
    """The transactions of one booking; others than payouts are passed over."""
    details = element.findall("{*}NtryDtls/{*}TxDtls")
    entry = Entry.read(element)
    yield from filter(None, (read_detail(entry, it, len(details)) for it in details))
    batch = element.find("{*}NtryDtls/{*}Btch")
    if details or batch is None:
        return
    match = MESSAGE_PATTERN.fullmatch(find_text(batch, "PmtInfId", "MsgId"))
    if match is not None:
        amount, currency = find_amount(element, "Amt")
        count = find_text(batch, "NbOfTxs")
        result = build_result(entry, batch, match[1], amount, currency, is_named=True)
        yield replace(result, is_message=True, count=int(count) if count.isdecimal() else None)


def read_detail(entry: Entry, detail: Element, count: int) -> PayoutResult | None:
    """One transaction of a booking, if it names a payment."""
    end_to_end_id = find_text(detail, "Refs/EndToEndId")
    texts = [each.text or "" for each in detail.findall("{*}RmtInf/{*}Ustrd")]
    name = find_payment_id(end_to_end_id) or find_payment_id(" ".join(texts))
    if not name:
        return None
    amount, currency = find_amount(detail, *AMOUNT_PATHS)
    if amount is None and count == 1:
        amount, currency = find_amount(entry.element, "Amt")
    is_named = bool(find_payment_id(end_to_end_id))
    return build_result(entry, detail, name, amount, currency, is_named=is_named)


def build_result(
    entry: Entry,
    detail: Element,
    name: str,
    amount: Decimal | None,
    currency: str,
    *,
    is_named: bool,
) -> PayoutResult:
    """What a booking says of a payment.

    A credit that only mentions it in a text, `is_named` false, is nobody's return.
    """
    is_return = detail.find("{*}RtrInf") is not None
    direction = find_text(detail, "CdtDbtInd") or entry.direction
    state, reason, booking = ResultState.UNKNOWN, "", Booking.NONE
    transaction = find_text(detail, "Refs/AcctSvcrRef")
    if entry.status != "BOOK":
        reason = f"not booked yet: {entry.status or 'no status'}"
    elif direction == "DBIT" and not entry.is_reversal and not is_return:
        state = ResultState.SETTLED
        if transaction or entry.reference:
            booking = Booking.TRANSACTION if transaction else Booking.ENTRY
    elif direction == "DBIT":
        booking, reason = Booking.REVERSAL, "a return that was taken back"
    elif direction == "CRDT" and (is_named or entry.is_reversal or is_return):
        reason = "; ".join(map(describe_reason, detail.findall("{*}RtrInf")))
        state = find_duplicate(ResultState.RETURNED, reason)
        reason = reason or find_text(detail, "AddtlTxInf") or entry.text or "returned"
    else:
        reason = "a booking that is neither a payment nor its return"
    return PayoutResult(
        name=name,
        state=state,
        amount=amount,
        currency=currency,
        reference=transaction or entry.reference or entry.number,
        reason=reason[:MAX_TEXT_LENGTH],
        day=entry.day,
        booking=booking,
    )
