"""Checks of all rows of a kind at once, with as few queries as possible."""

from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from accounts.email_addresses import fold_email
from accounts.models.accounts import Account
from affiliate_site.moving.tables.kinds import TableKind
from affiliate_site.moving.tables.new_people import (
    choose_ids,
    choose_new_people,
    refuse_erased,
)
from affiliate_site.moving.tables.paid_sales import choose_days, decide_status
from affiliate_site.moving.tables.questions import ADD_UP, CREATE
from affiliate_site.moving.tables.references import (
    FINDERS,
    find_affiliates_by_email,
    find_affiliates_by_id,
    look_up,
    remember_found,
)
from affiliate_site.moving.tables.rows import Row, find_duplicates, list_valid_rows
from affiliate_site.moving.tables.words import LEAVE_OUT
from payouts.payout_details import find_problems
from payouts.services.imported_people import MAX_CODE_LENGTH
from payouts.services.opening_balances import sum_opening_balances
from tracking.money import format_amount
from tracking.services.imports import ImportMap, ImportProblem

SAME_SALE = ("affiliate.id", "amount", "currency", "created_at")


def resolve_references(
    kind: TableKind, imports: ImportMap, rows: list[Row], answers: Mapping[str, str]
) -> None:
    """Replace the texts of references by the IDs of what they name.

    Customers of sales whom nobody knows are new, and so are affiliates if the answer
    is to create them.
    """
    created = {"group"}
    created |= {"customer"} if kind.name == "conversions" else set()
    created |= {"affiliate"} if answers.get("affiliates") == CREATE else set()
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
            elif column.type in created:
                row.set(column.path, text)
                row.values[f"new_{column.type}"] = text
            else:
                row.add_problem(column.name, get_unknown_code(column.type, answers), text)


def get_unknown_code(type_name: str, answers: Mapping[str, str]) -> str:
    """Return the code of a reference to nobody: it may be the answer to leave it out."""
    is_left_out = type_name == "affiliate" and answers.get("affiliates") == LEAVE_OUT
    return "left_out" if is_left_out else f"unknown_{type_name}"


def check_affiliates(imports: ImportMap, rows: list[Row], answers: Mapping[str, str]) -> None:
    """IDs, addresses, codes, payout methods and parents."""
    account = imports.account
    for row in rows:
        split_name(row)
        read_code_of_link(row)
        if not row.problems and not (row.values.get("id") or row.values.get("email")):
            row.add_problem("id", "missing")
        check_enrollment(row)
        check_payout_method(row)
    check_custom_fields(account, rows)
    for row in list_valid_rows(rows):
        row.values["key"] = row.values.get("id") or fold_email(row.values["email"])
    find_duplicates(rows, ("key", "program"), ("id", "email"), code="duplicate_affiliate")
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


def read_code_of_link(row: Row) -> None:
    """Take the code of the link as the code; if there is one, as a further one."""
    code = row.body.pop("link", None)
    if not code or code == row.values.get("code"):
        return
    if not row.values.get("code"):
        row.values["code"] = row.body["code"] = code
        return
    further = row.values.get("further_codes") or []
    if code not in further:
        row.values["further_codes"] = [*further, code]
        row.body["referral_codes"] = [*further, code]


def check_enrollment(row: Row) -> None:
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
    good = list_valid_rows(rows)
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
            row.add_problem("email", "email_in_use", owner[1])
        elif email and address and address != fold_email(email):
            row.add_problem("email", "other_email", address)
        elif known is not None:
            row.body["id"] = known[1]
            row.values["known_pk"] = known[0]
            program = row.body.get("program", {}).get("id")
            pk = imports.find("program", program) if program else None
            row.is_known = pk is None or (known[0], pk) in enrolled
    first: dict[str, Row] = {}
    for row in list_valid_rows(good):
        email = fold_email(row.values.get("email") or "")
        other = first.setdefault(email, row) if email else row
        if other.values["key"] != row.values["key"]:
            row.add_problem("email", "duplicate_address", other.number)


def check_codes(account: Account, rows: list[Row]) -> None:
    codes = (account.referral_codes, account.referral_code_aliases)
    check_unique(rows, {"coupon": "coupon_in_use"}, (account.coupons,))
    columns = {"code": "code_in_use", "further_codes": "code_in_use"}
    check_unique(rows, columns, codes)


def check_unique(rows: list[Row], columns: Mapping[str, str], tables: Sequence[Any]) -> None:
    """Refuse codes of these columns that the tables or earlier rows have."""
    wanted = [
        (row, column, code)
        for row in list_valid_rows(rows)
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
    pending = [row for row in list_valid_rows(rows) if row.values.get("parent")]
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
    codes = [(row, find_fault_above(row)) for row in list_valid_rows(pending)]
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


def check_customers(imports: ImportMap, rows: list[Row], answers: Mapping[str, str]) -> None:
    """Customers are known by the shop's ID."""
    find_duplicates(rows, ("customer_id",))
    refuse_erased(imports, rows, ("customer_id",))
    choose_new_people(imports, rows)
    good = list_valid_rows(rows)
    table = imports.account.customers.not_deleted()
    ids = {row.values["customer_id"] for row in good}
    known = {key for (key,) in look_up(table, "customer_id", ids)}
    for row in good:
        row.is_known = row.values["customer_id"] in known


def check_conversions(imports: ImportMap, rows: list[Row], answers: Mapping[str, str]) -> None:
    """Sales are known by their external ID, else by what they are."""
    for row in list_valid_rows(rows):
        decide_status(row)
        values = row.values
        needs_commission = [it for it in ("payment", "status") if values.get(it)]
        if needs_commission and values.get("commission") is None:
            row.add_problem("commission", "missing")
        elif values.get("payment") and values.get("status") not in ("paid", "approved"):
            status = values.get("status") or "pending"
            row.add_problem("status", "status_of_paid_sale", status)
    choose_days(imports.account, rows, answers.get("paid_on", ""))
    choose_new_people(imports, rows)
    sales = imports.account.conversions.not_deleted()
    ids = {row.values.get("external_id") or "" for row in list_valid_rows(rows)}
    known = {key for (key,) in look_up(sales, "external_id", ids)}
    find_known_sales(rows, "external_id", known, sales.filter(external_id=None))
    paid = [row for row in list_valid_rows(rows) if row.body.get("payment")]
    pks = {imports.get("payment", row.body["payment"]["id"], "") for row in paid}
    columns = ("public_id", "affiliate__slug", "currency")
    owners = {
        key: owner for _, key, *owner in look_up(imports.account.payments, "pk", pks, *columns)
    }
    for row in paid:
        name = row.body["payment"]["id"]
        if owners[name] != [row.body["affiliate"]["id"], row.body["currency"]]:
            row.add_problem("payment", "affiliate_of_payment", name)


def check_payments(imports: ImportMap, rows: list[Row], answers: Mapping[str, str]) -> None:
    """Payments are known by their ID, else by what they are."""
    choose_new_people(imports, rows)
    for row in list_valid_rows(rows):
        if not row.values["amount"]:
            row.add_problem("amount", "zero_amount")
    ids = {row.values["id"] for row in list_valid_rows(rows) if row.values.get("id")}
    known = FINDERS["payment"](imports.account, ids) if ids else {}
    find_known_sales(rows, "id", known, imports.account.payments.not_canceled())


def find_known_sales(rows: list[Row], name: str, known: Container[str], nameless: Any) -> None:
    """Find rows that the account has: by ID, or of one affiliate, amount and second."""
    find_duplicates(rows, (name,))
    good = list_valid_rows(rows)
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
    for row in list_valid_rows(good):
        if not row.values.get(name):
            row.is_known = describe_sale(row) in stored


def describe_sale(row: Row) -> tuple[Any, ...]:
    body = row.body
    second = datetime.fromisoformat(body["created_at"]).replace(microsecond=0)
    return body["affiliate"]["id"], body["amount"], body["currency"], second.isoformat()


def join_balances(rows: list[Row], *, can_add: bool) -> None:
    """Add the rows of one affiliate and currency up in the first, or refuse them."""
    by_key: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in list_valid_rows(rows):
        by_key[row.body["affiliate_id"], row.body["currency"]].append(row)
    for first, *others in by_key.values():
        if others and can_add:
            total = sum((it.body["amount"] for it in others), first.body["amount"])
            first.values["amount"] = first.body["amount"] = total
            first.added = [it.number for it in others]
            for it in others:
                rows.remove(it)
            if not total:
                first.add_problem("amount", "zero_amount")
        elif others:
            for row in (first, *others):
                other = others[0] if row is first else first
                row.add_problem("affiliate", "duplicate_balance", other.number)


def check_opening_balances(imports: ImportMap, rows: list[Row], answers: Mapping[str, str]) -> None:
    """An affiliate has one opening balance in a currency.

    Several rows of one are added up in the first, or all of them are problems.
    """
    choose_new_people(imports, rows)
    for row in list_valid_rows(rows):
        if not row.body["amount"]:
            row.add_problem("amount", "zero_amount")
    join_balances(rows, can_add=answers.get("twice") == ADD_UP)
    good = list_valid_rows(rows)
    pks = {row.number: imports.find("affiliate", row.body["affiliate_id"]) or 0 for row in good}
    known = sum_opening_balances(imports.account, set(pks.values()))
    for row in good:
        amount = known.get((pks[row.number], row.body["currency"]))
        row.is_known = amount == row.body["amount"]
        if amount and not row.is_known:
            text = format_amount(amount, row.body["currency"])
            row.add_problem("amount", "other_opening_balance", text)


Check = Callable[[ImportMap, list[Row], Mapping[str, str]], None]
CHECKS: dict[str, Check] = {
    "affiliates": check_affiliates,
    "customers": check_customers,
    "conversions": check_conversions,
    "payments": check_payments,
    "opening_balances": check_opening_balances,
}
# The columns with the dates of entries, by kind.
DATES = {
    "conversions": ("created_at", "paid_at"),
    "payments": ("created_at",),
    "opening_balances": ("date",),
}


def check_rows(
    kind: TableKind, imports: ImportMap, rows: list[Row], answers: Mapping[str, str]
) -> None:
    """Find what is known and what is wrong; reads only.

    Takes out of `rows` those that are part of another one now.
    """
    resolve_references(kind, imports, rows, answers)
    CHECKS[kind.name](imports, rows, answers)
    if kind.name in DATES:
        check_closed_months(imports, rows, DATES[kind.name])


def check_closed_months(imports: ImportMap, rows: list[Row], names: Sequence[str]) -> None:
    """The entries of new rows have no dates in closed months."""
    for row in list_valid_rows(rows):
        for name in names if not row.is_known else ():
            try:
                imports.read_entry_time(row.values, name)
            except ImportProblem as error:
                row.add_problem(error.path, error.code, error.value)
