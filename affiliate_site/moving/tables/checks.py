"""Checks of all rows of a kind at once, with as few queries as possible."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain, count
from typing import Any

from accounts.email_addresses import fold_email
from accounts.models.accounts import Account
from affiliate_site.moving.tables.kinds import TableKind
from affiliate_site.moving.tables.references import (
    FINDERS,
    find_affiliates_by_email,
    find_affiliates_by_id,
    look_up,
    remember_found,
)
from affiliate_site.moving.tables.rows import Row, find_duplicates, list_good
from payouts.payout_details import find_problems
from payouts.services.imported_people import MAX_CODE_LENGTH
from payouts.services.opening_balances import sum_opening_balances
from tracking.money import format_amount
from tracking.services.affiliates import create_slug_base
from tracking.services.imports import ImportMap, find_erased

SAME_SALE = ("affiliate.id", "amount", "currency", "created_at")


def resolve_references(kind: TableKind, imports: ImportMap, rows: list[Row]) -> None:
    """Replace the texts of references by the IDs of what they name."""
    for column in kind.columns:
        finder = FINDERS.get(column.type)
        if finder is None or (kind.name, column.name) == ("affiliates", "parent"):
            continue
        texts = {row.values[column.name] for row in rows if column.name in row.values}
        found = finder(imports.account, texts) if texts else {}
        remember_found(imports, column.type, found)
        for row in rows:
            text = row.values.get(column.name)
            if text is None:
                continue
            if found.get(text):
                row.set(column.path, found[text][1])
            elif text in found:
                row.add_problem(column.name, "several_affiliates", text)
            elif column.type == "group":  # it is created
                row.set(column.path, text)
            else:
                row.add_problem(column.name, f"unknown_{column.type}", text)


def check_affiliates(imports: ImportMap, rows: list[Row]) -> None:
    """IDs, addresses, codes, payout methods and parents."""
    account = imports.account
    for row in rows:
        split_name(row)
        if not row.problems and not (row.values.get("id") or row.values.get("email")):
            row.add_problem("id", "missing")
        check_enrollment(row)
        check_payout_method(row)
    check_custom_fields(account, rows)
    for row in list_good(rows):
        row.values["key"] = row.values.get("id") or fold_email(row.values["email"])
    find_duplicates(
        rows, ("key", "program"), ("id", "email"), code="duplicate_affiliate"
    )
    find_known_affiliates(imports, rows)
    check_codes(account, rows)
    check_parents(imports, rows)
    choose_ids(account, rows)


def split_name(row: Row) -> None:
    """Take the last word of a full name as the last name."""
    name = row.body.pop("name", "")
    if name and not row.body.get("firstname"):
        first, _, last = name.rpartition(" ")
        row.body |= {"firstname": first or last, "lastname": last if first else ""}


def check_enrollment(row: Row) -> None:
    """Codes and coupons belong to a program."""
    if "program" not in row.values and not row.problems:
        for name in ("code", "further_codes", "coupon"):
            if name in row.values:
                row.add_problem("program", "missing")
                return


def check_payout_method(row: Row) -> None:
    """A payout method has the details of its kind."""
    method = row.body.get("payout_method", {})
    details = {name: str(value) for name, value in method.get("details", {}).items()}
    if not details and "payout_method" in row.defaulted:
        row.body.pop("payout_method", None)  # nobody said where to pay
        row.values.pop("payout_method", None)
    elif "type" in method:
        problems = find_problems(method["type"], details)
        for name, sentence in problems.items():
            column = f"payout_{name}" if name else "payout_method"
            row.add_problem(column, "invalid_payout_details", sentence)
    elif details and row.headers["payout_method"] not in {
        problem.column for problem in row.problems
    }:
        row.add_problem("payout_method", "missing")


def check_custom_fields(account: Account, rows: list[Row]) -> None:
    """Custom fields are named by ID or title; several options have commas."""
    by_name: dict[str, Any] = {}
    for each in account.field_definitions.order_by("-pk"):
        by_name |= {each.title: each, each.slug: each}
    for row in rows:
        for name, value in row.body.pop("custom_fields", {}).items():
            definition = by_name.get(name)
            if definition is None:
                row.add_problem(f"custom:{name}", "unknown_custom_field", name)
                continue
            several = definition.type == "multiselect"
            values = [each.strip() for each in value.split(",")] if several else value
            row.body.setdefault("custom_fields", {})[definition.slug] = values


def find_known_affiliates(imports: ImportMap, rows: list[Row]) -> None:
    """Find whom the account has, and who is in the program already.

    By ID, without one by address: a code of somebody else says nothing.
    """
    account = imports.account
    refuse_erased(imports, rows, ("id", "email"))
    good = list_good(rows)
    by_id = find_affiliates_by_id(
        account, {row.values["id"] for row in good if row.values.get("id")}
    )
    by_email = find_affiliates_by_email(
        account, {row.values["email"] for row in good if row.values.get("email")}
    )
    for found in (by_id, by_email):
        remember_found(imports, "affiliate", found)
    pks = {pk for found in (by_id, by_email) for pk, _ in found.values()}
    people = look_up(account.affiliates, "pk", pks, "email_folded")
    addresses: dict[Any, Any] = dict(people)  # by primary key, or key of a new one
    enrolled = set(look_up(account.enrollments, "affiliate", pks, "program"))
    for row in good:
        email = row.values.get("email") or ""
        owner = by_email.get(email)
        known = by_id.get(row.values["id"]) if row.values.get("id") else owner
        person = known[0] if known else row.values["key"]
        address = addresses.setdefault(person, fold_email(email))
        if owner not in (None, known):
            row.add_problem("email", "email_in_use", email)
        elif email and address and address != fold_email(email):
            row.add_problem("email", "other_email", address)
        elif known is not None:
            row.body["id"] = known[1]
            row.values["known_pk"] = known[0]
            program = row.body.get("program", {}).get("id")
            pk = imports.find("program", program) if program else None
            row.is_known = pk is None or (known[0], pk) in enrolled
    first: dict[str, Row] = {}
    for row in list_good(good):
        email = fold_email(row.values.get("email") or "")
        other = first.setdefault(email, row) if email else row
        if other.values["key"] != row.values["key"]:
            row.add_problem("email", "duplicate_affiliate", other.number)


def check_codes(account: Account, rows: list[Row]) -> None:
    """Referral codes, further ones too, and coupons are unique in the account."""
    codes = (account.referral_codes, account.referral_code_aliases)
    check_unique(rows, {"coupon": "coupon_in_use"}, (account.coupons,))
    columns = {"code": "code_in_use", "further_codes": "code_in_use"}
    check_unique(rows, columns, codes)


def check_unique(
    rows: list[Row], columns: Mapping[str, str], tables: Sequence[Any]
) -> None:
    """Refuse codes of these columns that the tables or earlier rows have."""
    wanted = [
        (row, column, code)
        for row in list_good(rows)
        if not row.is_known
        for column in columns
        for code in list_codes(row.values.get(column))
    ]
    codes = {code for _, _, code in wanted}
    taken = {code for table in tables for (code,) in look_up(table, "code", codes)}
    for row, column, code in wanted:
        if len(code) > MAX_CODE_LENGTH:
            row.add_problem(column, "too_long", MAX_CODE_LENGTH)
        elif code in taken:
            row.add_problem(column, columns[column], code)
        taken.add(code)


def list_codes(value: str | list[str] | None) -> list[str]:
    """Return the codes of a cell."""
    return [value] if isinstance(value, str) and value else list(value or ())


def check_parents(imports: ImportMap, rows: list[Row]) -> None:
    """Parents are affiliates of the account or of good rows, and nobody is above
    itself."""
    own = list_people_by_name(rows)
    texts = {row.values["parent"] for row in rows if row.values.get("parent")}
    found = FINDERS["affiliate"](imports.account, texts) if texts else {}
    remember_found(imports, "affiliate", found)
    pending = [row for row in list_good(rows) if row.values.get("parent")]
    for row in pending:
        text = row.values["parent"]
        named, known = own.get(fold_email(text), {}), found.get(text)
        people = {person for person, it in named.items() if not it.problems}
        people |= {known[0]} if known else set()
        if len(people) > 1 or (text in found and known is None):
            row.add_problem("parent", "several_affiliates", text)
        elif known:
            row.values["parent_id"] = known[1]
        elif named:
            row.values["parent_row"] = next(iter(named.values()))
        else:
            row.add_problem("parent", "unknown_affiliate", text)
    codes = [(row, find_fault_above(row)) for row in list_good(pending)]
    for row, code in codes:
        if code:
            row.add_problem("parent", code, row.values["parent"])


def list_people_by_name(rows: list[Row]) -> dict[str, dict[Any, Row]]:
    """Map folded codes, addresses and IDs to people, and these to a row, a good one if
    there is one."""
    names: dict[str, dict[Any, Row]] = {}
    for row in sorted(rows, key=lambda row: bool(row.problems)):
        person = row.values.get("known_pk") or row.values.get("key") or row.number
        for column in ("code", "email", "id"):
            if text := row.values.get(column):
                names.setdefault(fold_email(text), {}).setdefault(person, row)
    return names


def find_fault_above(row: Row) -> str:
    """Return the code of a problem if the row is above itself, or below a bad row."""
    seen, above = {row.number}, row.values.get("parent_row")
    while above is not None:
        if above.number in seen:
            return "parent_cycle"
        if above.problems:
            return "unknown_affiliate"
        seen.add(above.number)
        above = above.values.get("parent_row")
    return ""


def choose_ids(account: Account, rows: list[Row]) -> None:
    """Give new affiliates without an ID one that is made of the name or address.

    All rows of an affiliate get the same. `slug` is another one if a deleted affiliate
    has the ID, which still names the new one in later tables.
    """
    good = list_good(rows)
    ids = {row.body["id"] for row in good if row.body.get("id")}
    deleted = account.affiliates.filter(deleted_at__isnull=False)
    gone = {slug for (slug,) in look_up(deleted, "slug", ids)}
    new = [row for row in good if row.body.get("id", "") in {"", *gone}]
    if not new:
        return
    taken = {*account.affiliates.values_list("slug", flat=True), *ids}
    chosen: dict[str, str] = {}
    for row in new:
        key, source_id = row.values["key"], row.body.get("id")
        if key not in chosen:
            names = (row.body.get("firstname", ""), row.body.get("lastname", ""))
            if not any(names):
                names = (row.values.get("email", "").partition("@")[0], "")
            base = source_id or create_slug_base(*names)
            numbers = chain([""], count(2))
            chosen[key] = next(
                slug for it in numbers if (slug := f"{base}{it}") not in taken
            )
            taken.add(chosen[key])
        row.values["slug"] = chosen[key]
        row.body["id"] = source_id or chosen[key]


def refuse_erased(imports: ImportMap, rows: list[Row], names: Sequence[str]) -> None:
    """List rows of people who were imported earlier, and erased."""
    cells = [
        (row, name, fold_email(text) if name == "email" else text)
        for row in list_good(rows)
        for name in names
        if (text := row.values.get(name))
    ]
    erased = find_erased(imports.account, {text for _, _, text in cells})
    for row, name, text in cells:
        if text in erased:
            row.add_problem(name, "erased", text)


def check_customers(imports: ImportMap, rows: list[Row]) -> None:
    """Customers are known by the shop's ID."""
    find_duplicates(rows, ("customer_id",))
    refuse_erased(imports, rows, ("customer_id",))
    good = list_good(rows)
    table = imports.account.customers.not_deleted()
    ids = {row.values["customer_id"] for row in good}
    known = {key for (key,) in look_up(table, "customer_id", ids)}
    for row in good:
        row.is_known = row.values["customer_id"] in known


def check_conversions(imports: ImportMap, rows: list[Row]) -> None:
    """Sales are known by their external ID, else by what they are."""
    for row in list_good(rows):
        values = row.values
        needs_commission = [it for it in ("payment", "status") if values.get(it)]
        if needs_commission and values.get("commission") is None:
            row.add_problem("commission", "missing")
        elif values.get("payment") and values.get("status") not in ("paid", "approved"):
            status = values.get("status") or "pending"
            row.add_problem("status", "status_of_paid_sale", status)
        elif values.get("status") == "paid" and not (
            values.get("payment") or values.get("created_at")
        ):
            row.add_problem("created_at", "missing")  # of its own payment
    sales = imports.account.conversions.not_deleted()
    ids = {row.values.get("external_id") or "" for row in list_good(rows)}
    known = {key for (key,) in look_up(sales, "external_id", ids)}
    find_known_sales(rows, "external_id", known, sales.filter(external_id=None))
    paid = [row for row in list_good(rows) if row.body.get("payment")]
    pks = {imports.get("payment", row.body["payment"]["id"], "") for row in paid}
    columns = ("public_id", "affiliate__slug", "currency")
    owners = {
        key: owner
        for _, key, *owner in look_up(imports.account.payments, "pk", pks, *columns)
    }
    for row in paid:
        name = row.body["payment"]["id"]
        if owners[name] != [row.body["affiliate"]["id"], row.body["currency"]]:
            row.add_problem("payment", "affiliate_of_payment", name)


def check_payments(imports: ImportMap, rows: list[Row]) -> None:
    """Payments are known by their ID, else by what they are."""
    for row in list_good(rows):
        if not row.values["amount"]:
            row.add_problem("amount", "zero_amount")
    ids = {row.values["id"] for row in list_good(rows) if row.values.get("id")}
    known = FINDERS["payment"](imports.account, ids) if ids else {}
    find_known_sales(rows, "id", known, imports.account.payments.not_canceled())


def find_known_sales(
    rows: list[Row], name: str, known: Container[str], nameless: Any
) -> None:
    """Find rows that the account has: by ID, or of one affiliate, amount and second."""
    find_duplicates(rows, (name,))
    good = list_good(rows)
    others: dict[tuple[Any, ...], int] = {}
    for row in good:
        if row.values.get(name):
            row.is_known = row.values[name] in known
        elif "created_at" not in row.body:
            row.add_problem(name, "missing")
        elif (key := describe_sale(row)) in others:
            row.add_problem(name, "duplicate_row", others[key])
        else:
            others[key] = row.number
    if not others:
        return
    times = [datetime.fromisoformat(key[3]) for key in others]
    columns = ("affiliate__slug", "amount", "currency", "created_at")
    stored = {
        (*it[:3], it[3].replace(microsecond=0).isoformat())
        for it in nameless.filter(
            created_at__gte=min(times), created_at__lt=max(times) + timedelta(seconds=1)
        ).values_list(*columns)
    }
    for row in list_good(good):
        if not row.values.get(name):
            row.is_known = describe_sale(row) in stored


def describe_sale(row: Row) -> tuple[Any, ...]:
    """Return affiliate, amount, currency and second of a row without an ID."""
    body = row.body
    second = datetime.fromisoformat(body["created_at"]).replace(microsecond=0)
    return body["affiliate"]["id"], body["amount"], body["currency"], second.isoformat()


def check_opening_balances(imports: ImportMap, rows: list[Row]) -> None:
    """An affiliate has one opening balance in a currency."""
    for row in list_good(rows):
        row.values["affiliate"] = row.body["affiliate_id"]
        if not row.body["amount"]:
            row.add_problem("amount", "zero_amount")
    find_duplicates(rows, ("affiliate", "currency"), code="duplicate_balance")
    good = list_good(rows)
    pks = {
        row.number: imports.get("affiliate", row.body["affiliate_id"], "")
        for row in good
    }
    known = sum_opening_balances(imports.account, set(pks.values()))
    for row in good:
        amount = known.get((pks[row.number], row.body["currency"]))
        row.is_known = amount == row.body["amount"]
        if amount and not row.is_known:
            text = format_amount(amount, row.body["currency"])
            row.add_problem("amount", "other_opening_balance", text)


CHECKS: dict[str, Callable[[ImportMap, list[Row]], None]] = {
    "affiliates": check_affiliates,
    "customers": check_customers,
    "conversions": check_conversions,
    "payments": check_payments,
    "opening_balances": check_opening_balances,
}


def check_rows(kind: TableKind, imports: ImportMap, rows: Iterable[Row]) -> None:
    """Find what is known and what is wrong; reads only."""
    rows = list(rows)
    resolve_references(kind, imports, rows)
    CHECKS[kind.name](imports, rows)
