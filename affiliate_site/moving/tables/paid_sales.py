"""Sales that were paid elsewhere: one payment for each affiliate and day."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from accounts.models.accounts import Account
from affiliate_site.moving.tables.rows import Row, list_valid_rows
from payouts.services import imported_sales as sales
from payouts.services.ledger import LedgerSession
from tracking.services.imports import ImportMap

APPROVALS = {True: "approved", None: "pending", False: "disapproved"}


def decide_status(row: Row) -> None:
    """Make one status of the columns status, approved, paid and day of payment.

    What they say must fit: a problem is listed otherwise.
    """
    values = row.values
    status, is_paid = decide_approval(row), values.get("paid")
    name = "paid" if is_paid else "paid_at"
    if is_paid is False and (status == "paid" or values.get("paid_at")):
        row.add_problem("paid", "contradiction", "paid")
    elif is_paid or values.get("paid_at"):
        if status in (None, "approved", "paid"):
            status = "paid"
        else:
            row.add_problem(name, "status_of_paid_sale", status)
    if status is not None:
        values["status"] = row.body["status"] = status


def decide_approval(row: Row) -> str | None:
    """Make one status of the columns status and approved.

    What a cell says counts more than what empty cells of the other column mean.
    """
    values = row.values
    status = values.get("status")
    if "approved" not in values and "approved" not in row.defaulted:
        return status
    decision = APPROVALS[values.get("approved")]
    if status is None or status.replace("paid", "approved") == decision:
        return status or decision
    defaulted = row.defaulted & {"status", "approved"}
    if defaulted == {"status"}:
        return decision
    if defaulted == {"approved"}:
        values.pop("approved", None)
    elif "approved" in values:
        row.add_problem("approved", "contradiction", status)
    return status


def needs_payment(row: Row) -> bool:
    """Return whether a sale is paid, and names no payment."""
    values = row.values
    is_paid = values.get("status") == "paid" and not values.get("payment")
    return is_paid and bool(values.get("commission"))


def choose_days(account: Account, rows: list[Row], day: str) -> None:
    """Give paid sales without a day of payment this one, else that of the latest."""
    open_rows = [
        row for row in list_valid_rows(rows) if needs_payment(row) and not row.values.get("paid_at")
    ]
    times = [it.values["created_at"] for it in open_rows if it.values.get("created_at")]
    latest = max(map(datetime.fromisoformat, times), default=None)
    at = latest
    if day:
        chosen = date.fromisoformat(day)
        if latest is None or account.get_day(latest) != chosen:
            at = datetime.combine(chosen, time(), account.zone)
    for row in open_rows:
        if at is None:
            row.add_problem("created_at", "missing")
        else:
            row.values["paid_at"] = at.isoformat()


def store_payments(imports: ImportMap, rows: Iterable[Row]) -> LedgerSession:
    """Store the payments of these stored sales, one per affiliate, currency and day.

    `values` has the ID of the commission as `commission_pk`. Returns what has to be
    posted.
    """
    account = imports.account
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        at = datetime.fromisoformat(row.values["paid_at"])
        body = row.body
        key = body["affiliate"]["id"], body["currency"], account.get_day(at)
        groups[key].append(row)
    ledger = LedgerSession(account, [], [], imports.at)
    for (affiliate, currency, day), paid in groups.items():
        body = {
            "affiliate": {"id": affiliate},
            "currency": currency,
            "amount": sum((row.body["commission"] for row in paid), Decimal(0)),
            "created_at": max(row.values["paid_at"] for row in paid),
        }
        pks = [row.values["commission_pk"] for row in paid]
        payment = sales.import_payment_of(imports, body, pks, ledger)
        imports.remember("payment", f"{affiliate} {currency} {day}", payment, body)
    return ledger
