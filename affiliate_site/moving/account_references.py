"""The columns of JSON and text that name rows by their IDs, which an import may change.

These are the rows whose number is their ID in the API. `AttributionRecord.inputs` also
names links by the IDs of the time; they are history.
"""

import json
from collections.abc import Callable
from typing import Any

AFFILIATE = "tracking.Affiliate"
RISK_CASE = "payouts.RiskCase"
COMMISSION, CONVERSION = "payouts.Commission", "tracking.Conversion"

# Subjects of the audit log that are called by their number: `conversion:84`.
SUBJECTS = {
    "commission": COMMISSION,
    "conversion": CONVERSION,
    "creative": "tracking.Creative",
    "riskcase": RISK_CASE,
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
    "program": "tracking.Program",
    "prospect": "tracking.Prospect",
}

Shift = Callable[[str, int], int]  # of a table and an ID to the new ID
Values = dict[str, Any]


def shift_references(table: str, values: Values, shift: Shift, slugs: Values) -> None:
    """Replace the IDs in the JSON and texts of a row, and the account's old slug."""
    for column, change in SHIFTS.get(table, {}).items():
        if value := values[column]:
            values[column] = change(value, values, shift)
    if table == "accounts.AuditLogEntry":
        values["subject"] = slugs.get(values["subject"], values["subject"])


def _shift_subject(value: str, values: Values, shift: Shift) -> str:
    kind, _, name = value.partition(":")
    return f"{kind}:{shift(SUBJECTS[kind], int(name))}" if kind in SUBJECTS else value


def _shift_imported(value: int, values: Values, shift: Shift) -> int:
    table = IMPORTED_KINDS.get(values["kind"])
    return shift(table, value) if table else value


def _shift_calculation(value: str, values: Values, shift: Shift) -> str:
    """Replace the affiliate that earns the commission; a bonus names none."""
    data = json.loads(value)
    if "affiliate_id" in data:
        data["affiliate_id"] = shift(AFFILIATE, data["affiliate_id"])
    return json.dumps(data, sort_keys=True)


def _shift_lines(value: Any, values: Values, shift: Shift) -> Any:
    return [line | {"commission": shift(COMMISSION, line["commission"])} for line in value]


def _shift_suspended(value: Any, values: Values, shift: Shift) -> Any:
    return [shift(COMMISSION, pk) for pk in value]


SHIFTS: dict[str, dict[str, Callable[[Any, Values, Shift], Any]]] = {
    "accounts.AuditLogEntry": {"subject": _shift_subject},
    "payouts.Commission": {"calculation": _shift_calculation},
    "payouts.Refund": {"lines": _shift_lines},
    "tracking.ImportedObject": {"local_id": _shift_imported},
    "tracking.ShopOrder": {"suspended": _shift_suspended, "lines": _shift_lines},
}
