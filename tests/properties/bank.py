"""A bank and PayPal, as payout runs meet them: they pay files and answer later."""

from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from xml.etree import ElementTree as ET

GROUP_STATUS = "<OrgnlGrpInfAndSts><OrgnlMsgId>{id}</OrgnlMsgId>{more}</OrgnlGrpInfAndSts>"


@dataclass
class Transfer:
    """One payment of a file: what the bank has done with it."""

    name: str  # end-to-end id, or the id in PayPal's list
    affiliate: str
    amount: Decimal
    currency: str
    state: str = "received"  # booked, returned or refused


@dataclass
class Bank:
    """Files, what became of their payments, and the answers that were sent.

    A file is paid once: the same message id again is refused as a duplicate.
    """

    dice: Random
    day: str = ""
    files: dict[str, list[Transfer]] = field(default_factory=dict)
    answers: list[bytes] = field(default_factory=list)  # not delivered yet
    delivered: list[bytes] = field(default_factory=list)

    @property
    def transfers(self) -> list[Transfer]:
        return [each for file in self.files.values() for each in file]

    def get_paid(self, affiliate: str, currency: str) -> Decimal:
        """What has arrived, and did not go back."""
        return sum(
            (
                each.amount
                for each in self.transfers
                if (each.affiliate, each.currency, each.state) == (affiliate, currency, "booked")
            ),
            Decimal(0),
        )

    def upload_pain001(self, content: bytes, affiliates: dict[str, str]) -> None:
        """Take a file; `affiliates` are those of its payments."""
        root = ET.fromstring(content)  # noqa: S314 - our own file
        message_id = root.findtext(".//{*}GrpHdr/{*}MsgId")
        if message_id in self.files:
            reason = "<StsRsnInf><Rsn><Cd>{}</Cd></Rsn></StsRsnInf>"
            code = self.dice.choice(["AM05", "DU01"])
            self.answer_group(message_id, "RJCT", reason.format(code))
            return
        self.files[message_id] = [
            Transfer(
                name := each.findtext("{*}PmtId/{*}EndToEndId"),
                affiliates[name],
                Decimal(each.findtext("{*}Amt/{*}InstdAmt")),
                each.find("{*}Amt/{*}InstdAmt").get("Ccy"),
            )
            for each in root.findall(".//{*}CdtTrfTxInf")
        ]

    def upload_paypal(self, name: str, transfers: list[Transfer]) -> None:
        """Take a list; PayPal refuses one that it knows, and sends no answer."""
        self.files.setdefault(name, transfers)

    def process(self) -> None:
        """Pay or refuse a file as a whole, or its payments one by one."""
        open_files = {
            key: file
            for key, file in self.files.items()
            if any(each.state == "received" for each in file)
        }
        if not open_files:
            return
        key = self.dice.choice(sorted(open_files))
        file = open_files[key]
        is_list = key.endswith(".csv")
        if not is_list and self.dice.random() < 0.5:
            state, status = self.dice.choice([("booked", "ACSC"), ("refused", "RJCT")])
            for each in file:
                each.state = state
            self.answer_group(key, status)
            return
        for each in file:
            each.state = "refused" if self.dice.random() < 0.3 else "booked"
        words = {"booked": "Completed", "refused": "Failed"}
        if is_list:
            self.answer_list([(each, words[each.state]) for each in file])
        else:
            self.answer_each(key, file)

    def send_back(self) -> None:
        """Return a payment that had arrived."""
        booked = [each for each in self.transfers if each.state == "booked"]
        if booked:
            each = self.dice.choice(booked)
            each.state = "returned"
            if each.name.startswith("pa_"):
                self.answer_list([(each, "Returned")])
            else:
                self.answer_statement(each)

    def answer_group(self, message_id: str, status: str, more: str = "") -> None:
        group = GROUP_STATUS.format(id=message_id, more=f"<GrpSts>{status}</GrpSts>{more}")
        self.answers.append(self.write_report(group))

    def answer_each(self, message_id: str, file: list[Transfer]) -> None:
        words = {"booked": "ACSC", "refused": "RJCT"}
        statuses = "".join(
            f"<TxInfAndSts><OrgnlEndToEndId>{each.name}</OrgnlEndToEndId>"
            f"<TxSts>{words[each.state]}</TxSts></TxInfAndSts>"
            for each in file
        )
        group = GROUP_STATUS.format(id=message_id, more="<GrpSts>PART</GrpSts>")
        details = f"<OrgnlPmtInfAndSts>{statuses}</OrgnlPmtInfAndSts>"
        self.answers.append(self.write_report(group + details))

    def write_report(self, body: str) -> bytes:
        return (
            '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10">'
            "<CstmrPmtStsRpt><GrpHdr><MsgId>x</MsgId>"
            f"<CreDtTm>{self.day}T10:00:00</CreDtTm></GrpHdr>{body}"
            "</CstmrPmtStsRpt></Document>"
        ).encode()

    def answer_statement(self, each: Transfer) -> None:
        self.answers.append(
            (
                '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08">'
                "<BkToCstmrStmt><GrpHdr><MsgId>s</MsgId></GrpHdr><Stmt><Ntry>"
                f'<Amt Ccy="{each.currency}">{each.amount}</Amt>'
                "<CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>"
                f"<BookgDt><Dt>{self.day}</Dt></BookgDt><NtryDtls><TxDtls><Refs>"
                f"<EndToEndId>{each.name}</EndToEndId></Refs><RtrInf><Rsn><Cd>AC04</Cd>"
                "</Rsn></RtrInf></TxDtls></NtryDtls></Ntry></Stmt></BkToCstmrStmt>"
                "</Document>"
            ).encode()
        )

    def answer_list(self, states: list[tuple[Transfer, str]]) -> None:
        rows = [
            f"{each.name},{word},{each.amount},{each.currency},{self.day}\n"
            for each, word in states
        ]
        header = "Unique ID,Transaction Status,Gross,Currency,Date\n"
        self.answers.append("".join([header, *rows]).encode())
