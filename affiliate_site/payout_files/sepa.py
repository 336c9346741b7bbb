"""SEPA credit transfers: pain.001.001.09, the same bytes each time.

Banks take letters without accents, digits and few signs (EPC217-08); the page of a run
lists what is written otherwise than it is called.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any

from schwifty import BIC, IBAN
from schwifty.exceptions import SchwiftyException
from sepaxml import SepaTransfer
from sepaxml.validation import ValidationError, try_valid_xml
from text_unidecode import unidecode

from payouts.errors import InvalidPayoutFile, PayerIncomplete
from payouts.models.runs import PayoutLine, PayoutRun
from payouts.services.payout_files import SEPA_CURRENCY, format_bank_reference, is_sepa_line
from payouts.services.payout_settings import get_payer

SCHEMA = "pain.001.001.09"
OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9/?:().,'+ -]+")
MAX_NAME_LENGTH = 70
# The elements of an address with their limits, and the names that the library gives.
ADDRESS_PARTS = {
    "street": ("street_name", 70),
    "building": ("building_number", 16),
    "postal_code": ("postcode", 16),
    "city": ("town", 35),
    "country": ("country", 2),
}


def transliterate(text: str, limit: int = MAX_NAME_LENGTH) -> str:
    """A text in the characters that all banks accept."""
    latin = unidecode(text).replace("&", "+")
    return " ".join(OTHER_CHARACTERS.sub(" ", latin).split())[:limit].strip()


def get_receiver_name(line: PayoutLine) -> str:
    """Who holds the account: as the payout method says, else the affiliate."""
    details = line.receiver.get("details", {})
    return details.get("account_holder") or line.receiver.get("name") or ""


def write_receiver_name(line: PayoutLine) -> str:
    """The name as the bank gets it; the affiliate's ID if nothing of it is left."""
    return transliterate(get_receiver_name(line)) or transliterate(str(line.affiliate))


def explain_unfit(line: PayoutLine) -> str:
    """Why a line in euros is no SEPA credit transfer; empty if it is one."""
    if not is_sepa_line(line):
        return "no IBAN"
    try:
        iban = IBAN(line.receiver["details"]["iban"])
    except SchwiftyException as error:
        return f"the IBAN is not valid: {error}"
    return "" if iban.in_sepa_zone else "the account is outside of SEPA"


def write_pain001(run: PayoutRun, lines: Sequence[PayoutLine], message_id: str) -> bytes:
    """One message with one payment information. Raises `PayerIncomplete` without a
    payer, and `InvalidPayoutFile` if the schema refuses it."""
    content = set_identification(export_message(run, lines), run, message_id)
    try:
        try_valid_xml(content, SCHEMA)
    except ValidationError as error:
        raise InvalidPayoutFile(format=SCHEMA, reason=error.__cause__) from error
    return content


def export_message(run: PayoutRun, lines: Sequence[PayoutLine]) -> bytes:
    """The message as the library writes it."""
    payer = get_payer(run)
    if not (payer.get("name") and payer.get("iban")) or run.confirmed_at is None:
        raise PayerIncomplete
    config = {
        "name": transliterate(payer["name"]),
        "IBAN": IBAN(payer["iban"]).compact,
        "currency": SEPA_CURRENCY,
        "batch": True,
        "address": build_address(payer),
        **build_bic(payer),
    }
    day = run.account.get_day(run.confirmed_at)
    message = SepaTransfer(config, schema=SCHEMA)
    for line in lines:
        details = line.receiver["details"]
        reference = format_bank_reference(str(line.payment))
        message.add_payment(
            {
                "name": write_receiver_name(line),
                "IBAN": IBAN(details["iban"]).compact,
                "amount": int(line.net_amount.scaleb(2)),
                "execution_date": day,
                "description": f"{reference} {config['name']}",
                "endtoend_id": reference,
                "address": build_address(line.receiver.get("address", {})),
                **build_bic(details),
            }
        )
    return message.export(validate=False)


def set_identification(content: bytes, run: PayoutRun, message_id: str) -> bytes:
    """Replace what the library makes of chance and time by what the run says."""
    moment = run.confirmed_at and run.confirmed_at.astimezone(UTC)
    texts = {
        "MsgId": message_id,
        "CreDtTm": f"{moment:%Y-%m-%dT%H:%M:%S}",
        "PmtInfId": f"{message_id}-1",
    }
    for name, text in texts.items():
        pattern = f"<{name}>[^<]*</{name}>".encode()
        content = re.sub(pattern, f"<{name}>{text}</{name}>".encode(), content)
    return content


def build_address(address: Mapping[str, Any]) -> dict[str, str]:
    """The parts of an address; none without city and country, which SEPA demands."""
    parts = dict(iterate_parts(address))
    return parts if {"town", "country"} <= parts.keys() else {}


def iterate_parts(address: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The names of the library with the texts, as far as there are any."""
    for name, (library_name, limit) in ADDRESS_PARTS.items():
        if text := transliterate(str(address.get(name) or ""), limit):
            yield library_name, text


def build_bic(details: Mapping[str, Any]) -> dict[str, str]:
    """The BIC, if it is one: an IBAN suffices within the EEA."""
    try:
        return {"BIC": BIC(details["bic"]).compact} if details.get("bic") else {}
    except SchwiftyException:
        return {}
