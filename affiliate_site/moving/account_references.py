"""The columns whose JSON or text names rows by their IDs, which an import may change.

`AttributionRecord.inputs` also names links by the IDs of the time; they are history.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from tracking.attribution import CLAIM
from tracking.services.attribution import serialize_canonical_json

AFFILIATE, PROGRAM, USER = "tracking.Affiliate", "tracking.Program", "accounts.User"
COMMISSION, CONVERSION = "payouts.Commission", "tracking.Conversion"

# Subjects of the audit log: `enrollment:12/34` names a program and an affiliate.
SUBJECTS = {
    "affiliate": (AFFILIATE,),
    "commission": (COMMISSION,),
    "commissiontype": (PROGRAM,),
    "conversion": (CONVERSION,),
    "creative": ("tracking.Creative",),
    "enrollment": (PROGRAM, AFFILIATE),
    "grouprate": ("payouts.CommissionType", "tracking.AffiliateGroup"),
    "level": (PROGRAM,),
}
# Keys of JSON whose whole numbers, alone or in lists, are IDs.
DETAIL_KEYS = {
    "affiliate": AFFILIATE,
    "affiliate_id": AFFILIATE,
    "parent": AFFILIATE,
    "program_id": PROGRAM,
    "user_id": USER,
}
LINE_KEYS = {"commission": COMMISSION}
# What mails are about begins with these IDs; other kinds name an affiliate or text.
MAIL_SUBJECTS = {
    "creative": ("tracking.Creative", AFFILIATE),
    "enrollment": ("tracking.Enrollment",),
    "new_sales": (AFFILIATE,),
    "payout_change": (AFFILIATE,),
    "code_guesses": (AFFILIATE,),
    "email_change": (AFFILIATE,),
    "second_factor_off": (AFFILIATE,),
    "second_factor_on": (AFFILIATE,),
}
# Kinds of objects that were imported from another server.
IMPORTED_KINDS = {
    "affiliate": AFFILIATE,
    "belongings": AFFILIATE,
    "bonus": "payouts.Bonus",
    "commission": COMMISSION,
    "commission_type": "payouts.CommissionType",
    "conversion": CONVERSION,
    "customer": "tracking.Customer",
    "enrollment": "tracking.Enrollment",
    "erased_email": AFFILIATE,
    "group": "tracking.AffiliateGroup",
    "level": "payouts.Level",
    "note": "tracking.Note",
    "opening_balance": "payouts.Transfer",
    "payment": "payouts.Payment",
    "payout_method": "payouts.PayoutMethod",
    "program": PROGRAM,
    "prospect": "tracking.Prospect",
}
ACTORS = (
    "accounts.AuditLogEntry.actor",
    "payouts.Correction.actor",
    "payouts.PayoutRun.confirmed_by",
    "payouts.PayoutRun.created_by",
    "payouts.Refund.actor",
    "payouts.Transfer.actor",
    "payouts.WithheldBalance.created_by",
    "tracking.Question.answered_by",
    "tracking.TableImport.actor",
)
ID = re.compile(r"[0-9]{1,18}")
ACTOR = re.compile(r"(staff|affiliate) ([0-9]{1,18})")
ACTOR_TABLES = {"staff": USER, "affiliate": AFFILIATE}
CALCULATED_AFFILIATE = re.compile(r'("affiliate_id": ?)([0-9]{1,18})')

Shift = Callable[[str, int], int]  # of a table and an ID to the new ID
Values = dict[str, Any]


def shift_references(table: str, values: Values, shift: Shift, slugs: Values) -> None:
    """Replace the IDs in the JSON and texts of a row, and the account's old slug."""
    for column in COLUMNS_BY_TABLE.get(table, ()):
        if value := values[column]:
            values[column] = SHIFTS[f"{table}.{column}"](value, values, shift)
    if table == "accounts.AuditLogEntry":
        values["subject"] = slugs.get(values["subject"], values["subject"])


def _shift_actor(value: str, values: Values, shift: Shift) -> str:
    match = ACTOR.fullmatch(value)
    if match is None:
        return value
    return f"{match[1]} {shift(ACTOR_TABLES[match[1]], int(match[2]))}"


def _shift_leading(text: str, tables: tuple[str, ...], sign: str, shift: Shift) -> str:
    """Replace the IDs at the beginning of a text, which are separated by a sign."""
    parts = text.split(sign, len(tables))
    for number, table in enumerate(tables[: len(parts)]):
        if ID.fullmatch(parts[number]):
            parts[number] = str(shift(table, int(parts[number])))
    return sign.join(parts)


def _shift_subject(value: str, values: Values, shift: Shift) -> str:
    kind, colon, name = value.partition(":")
    return kind + colon + _shift_leading(name, SUBJECTS.get(kind, ()), "/", shift)


def _shift_mail(value: str, values: Values, shift: Shift) -> str:
    tables = MAIL_SUBJECTS.get(values["kind"], ())
    return _shift_leading(value, tables, "-", shift) if tables else value


def _shift_imported(value: int, values: Values, shift: Shift) -> int:
    table = IMPORTED_KINDS.get(values["kind"])
    return shift(table, value) if table else value


def _shift_calculation(value: str, values: Values, shift: Shift) -> str:
    """Replace the affiliates in a stored calculation, whose other digits stay."""
    return CALCULATED_AFFILIATE.sub(
        lambda match: match[1] + str(shift(AFFILIATE, int(match[2]))), value
    )


def _shift_keys(data: Any, keys: dict[str, str], shift: Shift) -> Any:
    """Replace the whole numbers below some keys of JSON."""
    if isinstance(data, list):
        return [_shift_keys(each, keys, shift) for each in data]
    if not isinstance(data, dict):
        return data
    return {
        name: _shift_ids(value, keys[name], shift)
        if name in keys
        else _shift_keys(value, keys, shift)
        for name, value in data.items()
    }


def _shift_ids(value: Any, table: str, shift: Shift) -> Any:
    if isinstance(value, list):
        return [_shift_ids(each, table, shift) for each in value]
    return shift(table, value) if type(value) is int else value


def _shift_details(value: Any, values: Values, shift: Shift) -> Any:
    return _shift_keys(value, DETAIL_KEYS, shift)


def _shift_lines(value: Any, values: Values, shift: Shift) -> Any:
    return _shift_keys(value, LINE_KEYS, shift)


def _shift_held(value: Any, values: Values, shift: Shift) -> Any:
    return _shift_ids(value, COMMISSION, shift)


def _shift_attribution(value: str, values: Values, shift: Shift) -> str:
    """Replace the conversion that a claim stands for; the text stays canonical."""
    if f'"{CLAIM}"' not in value:
        return value
    return serialize_canonical_json(_shift_claims(json.loads(value), shift))


def _shift_claims(data: Any, shift: Shift) -> Any:
    if isinstance(data, list):
        return [_shift_claims(each, shift) for each in data]
    if not isinstance(data, dict):
        return data
    data = {name: _shift_claims(value, shift) for name, value in data.items()}
    value = data.get("value")
    if data.get("parameter") == CLAIM and ID.fullmatch(str(value)):
        data["value"] = str(shift(CONVERSION, int(value)))
    return data


def _shift_stored_attribution(value: Any, values: Values, shift: Shift) -> Any:
    return {
        name: _shift_attribution(each, values, shift) if name in ("inputs", "outcome") else each
        for name, each in value.items()
    }


SHIFTS: dict[str, Callable[[Any, Values, Shift], Any]] = {
    **dict.fromkeys(ACTORS, _shift_actor),
    "accounts.AuditLogEntry.details": _shift_details,
    "accounts.AuditLogEntry.subject": _shift_subject,
    "payouts.Commission.calculation": _shift_calculation,
    "payouts.Refund.lines": _shift_lines,
    "tracking.AttributionRecord.inputs": _shift_attribution,
    "tracking.AttributionRecord.outcome": _shift_attribution,
    "tracking.ConversionClaim.attribution": _shift_stored_attribution,
    "tracking.ImportedObject.local_id": _shift_imported,
    "tracking.Mail.about": _shift_mail,
    "tracking.ShopOrder.held": _shift_held,
    "tracking.ShopOrder.lines": _shift_lines,
}
COLUMNS_BY_TABLE: dict[str, list[str]] = {}
for _name in SHIFTS:
    _table, _, _column = _name.rpartition(".")
    COLUMNS_BY_TABLE.setdefault(_table, []).append(_column)
