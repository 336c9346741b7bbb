"""Notes about rows that can be stored, but may count twice what somebody is owed."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.exact_json import format_decimal
from accounts.models.accounts import Account
from affiliate_site.moving.billed_months import (
    describe_added,
    format_added,
    list_added,
)
from affiliate_site.moving.tables.files import TableRow
from affiliate_site.moving.tables.references import look_up
from affiliate_site.moving.tables.rows import Row, list_valid_rows
from payouts.models.commissions import CommissionStatus
from payouts.services.opening_balances import sum_opening_balances
from tracking.services.imports import ImportMap, read_time

MAX_NAMED = 10
Owed = set[tuple[str, str]]  # IDs of affiliates, and currencies


def list_notes(kind: str, imports: ImportMap, rows: list[Row]) -> list[str]:
    """Return sentences about the rows of a checked table; reads only."""
    new = [row for row in list_valid_rows(rows) if not row.is_known]
    notes = NOTES[kind](imports, new) if new and kind in NOTES else []
    return notes + list_notes_of_months(imports, new)


def list_notes_of_totals(rows: Sequence[TableRow], read: Sequence[TableRow]) -> list[str]:
    numbers = {row.number for row in read}
    left = [f"{row.number}" for row in rows if row.number not in numbers]
    return [f"Lines of totals are left out: row {name_some(left)}."] if left else []


def list_notes_of_months(imports: ImportMap, new: list[Row]) -> list[str]:
    """Who gets money in months that documents have billed already."""
    dated = [
        (
            imports.find("affiliate", slug) or 0,
            read_time(row.body, "date" if "date" in row.body else "created_at", imports.at),
        )
        for row in new
        if (slug := find_earner(row.body))
    ]
    added = list_added(imports.account, dated)
    return [describe_added(name_some([*map(format_added, added)]))] if added else []


def find_earner(body: dict[str, Any]) -> str:
    """Return the ID of the affiliate whose balance a row changes; empty without one."""
    if "affiliate_id" in body:  # an opening balance
        return str(body["affiliate_id"])
    if "commission" in body and not body["commission"]:
        return ""  # a sale that earns nothing
    affiliate = body.get("affiliate") if "amount" in body else None
    return str(affiliate["id"]) if affiliate else ""


def list_notes_of_balances(imports: ImportMap, new: list[Row]) -> list[str]:
    """Who has imported sales that are not paid."""
    wanted = {(it.body["affiliate_id"], it.body["currency"]) for it in new}
    pks = {pk for slug, _ in wanted if (pk := imports.find("affiliate", slug))}
    owed = find_owed_for_sales(imports.account, pks)
    return [
        *describe_new_people(new),
        *list_notes_of_added(imports, new),
        *describe_owed_twice(wanted & owed),
    ]


def list_notes_of_payments(imports: ImportMap, new: list[Row]) -> list[str]:
    """Who is created."""
    return describe_new_people(new)


def list_notes_of_sales(imports: ImportMap, new: list[Row]) -> list[str]:
    """Who has an opening balance, and which payments are too small."""
    wanted = {
        (it.body["affiliate"]["id"], it.body["currency"])
        for it in new
        if it.body.get("commission") and is_unpaid(it)
    }
    slugs = {pk: slug for slug, _ in wanted if (pk := imports.find("affiliate", slug))}
    sums = sum_opening_balances(imports.account, slugs)
    owed = {(slugs[pk], currency) for (pk, currency), amount in sums.items() if amount}
    return [
        *describe_new_people(new),
        *describe_paid(imports.account, new),
        *describe_owed_twice(wanted & owed),
        *list_small_payments(imports, new),
    ]


def describe_new_people(new: list[Row]) -> list[str]:
    """Who is created with the rows."""
    people = {
        it.person.body["id"]: it.person.label or it.person.body["id"] for it in new if it.person
    }
    customers = {
        it.values["new_customer"]["customer_id"] for it in new if it.values.get("new_customer")
    }
    notes = [f"Affiliates who are created: {name_some([*people.values()])}."] if people else []
    if customers:
        notes.append(f"Customers who are created: {len(customers):,}.")
    return notes


def describe_paid(account: Account, new: list[Row]) -> list[str]:
    """How many payments there will be, and how much they are."""
    paid = [it for it in new if it.values.get("paid_at")]
    groups = {
        (
            it.body["affiliate"]["id"],
            it.body["currency"],
            account.get_day(datetime.fromisoformat(it.values["paid_at"])),
        )
        for it in paid
    }
    if not groups:
        return []
    days = sorted(day for *_, day in groups)
    when = f"on {days[0]}" if days[0] == days[-1] else f"from {days[0]} to {days[-1]}"
    return [
        f"Sales that are paid: {len(paid):,}, by {len(groups):,}"
        f" payment{'s' * (len(groups) != 1)} {when}. No"
        " mail is sent and no document is issued for them."
    ]


def list_notes_of_affiliates(imports: ImportMap, new: list[Row]) -> list[str]:
    """Whose old links die."""
    names = [it.label for it in new if "program" in it.values and not it.values.get("code")]
    if not names:
        return []
    return [
        f"Without a referral code: {name_some(names)}. They get new ones, and their old"
        " links count for nobody. Choose the column with the codes or the links."
    ]


def list_notes_of_added(imports: ImportMap, new: list[Row]) -> list[str]:
    """Which opening balances are sums of several rows."""
    texts = [
        f"{it.values['affiliate']} ({it.body['amount']:f} {it.body['currency']}, rows"
        f" {', '.join(map(str, [it.number, *it.added]))})"
        for it in new
        if it.added
    ]
    return [f"Added up: {name_some(texts)}."] if texts else []


def is_unpaid(row: Row) -> bool:
    """Return whether a sale can still be paid."""
    status = row.body.get("status", CommissionStatus.PENDING)
    open_statuses = (CommissionStatus.PENDING, CommissionStatus.APPROVED)
    return status in open_statuses and "payment" not in row.body


def find_owed_for_sales(account: Account, affiliate_ids: Collection[int]) -> Owed:
    """Find affiliates with imported commissions that are not paid."""
    imported = account.imported_objects.filter(kind="commission")
    rows = account.commissions.not_deleted().filter(
        payment=None,
        status__in=(CommissionStatus.PENDING, CommissionStatus.APPROVED),
        pk__in=imported.values("local_id"),
    )
    columns = ("affiliate__slug", "currency")
    return {
        (slug, currency)
        for _, slug, currency in look_up(rows, "affiliate", affiliate_ids, *columns)
    }


def describe_owed_twice(owed: Owed) -> list[str]:
    """Return a note about affiliates who have both."""
    if not owed:
        return []
    names = name_some([f"{slug} ({currency})" for slug, currency in sorted(owed)])
    return [
        "These affiliates have an opening balance and imported sales that are not paid:"
        f" {names}. If the balance includes these sales, they count twice."
    ]


def list_small_payments(imports: ImportMap, new: list[Row]) -> list[str]:
    """Return a note about payments of less than the commissions that they pay."""
    account = imports.account
    sums: dict[int, Decimal] = defaultdict(Decimal)
    for row in new:
        if "payment" in row.body:
            pk = imports.get("payment", row.body["payment"]["id"], "")
            sums[pk] += row.body["commission"]
    stored = account.commissions.not_deleted()
    for pk, amount in look_up(stored, "payment", list(sums), "amount"):
        sums[pk] += amount
    columns = ("public_id", "amount", "currency")
    texts = [
        f"{name} ({format_decimal(amount)} of {format_decimal(sums[pk])} {currency})"
        for pk, name, amount, currency in look_up(account.payments, "pk", sums, *columns)
        if amount < sums[pk]
    ]
    if not texts:
        return []
    return [
        "These payments are smaller than the commissions that they pay:"
        f" {name_some(texts)}. The rest would be owed, and paid by the next payout run."
    ]


def name_some(texts: list[str]) -> str:
    """Return the first texts, and how many more there are."""
    more = len(texts) - MAX_NAMED
    return ", ".join(texts[:MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")


NOTES: dict[str, Callable[[ImportMap, list[Row]], list[str]]] = {
    "affiliates": list_notes_of_affiliates,
    "conversions": list_notes_of_sales,
    "payments": list_notes_of_payments,
    "opening_balances": list_notes_of_balances,
}
