"""Affiliates and customers who are created, and the IDs that they get."""

from collections.abc import Sequence
from itertools import chain, count
from typing import Any

from accounts.email_addresses import fold_email
from accounts.models.accounts import Account
from affiliate_site.moving.tables.references import look_up
from affiliate_site.moving.tables.rows import Row, list_valid_rows
from tracking.services.affiliates import create_slug_base
from tracking.services.imports import ImportMap, find_erased

CODE_WORDS = ("code", "ref", "token", "via")  # in the header of a column of codes


def choose_ids(account: Account, rows: list[Row]) -> None:
    """Give new affiliates without an ID one that is made of the name or address.

    All rows of an affiliate get the same. `slug` is another one if a deleted affiliate
    has the ID, which still names the new one in later tables.
    """
    good = list_valid_rows(rows)
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
            chosen[key] = next(slug for it in numbers if (slug := f"{base}{it}") not in taken)
            taken.add(chosen[key])
        row.values["slug"] = chosen[key]
        row.body["id"] = source_id or chosen[key]


def refuse_erased(imports: ImportMap, rows: list[Row], names: Sequence[str]) -> None:
    """List rows of people who were imported earlier, and erased."""
    cells = [
        (row, name, fold_email(text) if name == "email" else text)
        for row in list_valid_rows(rows)
        for name in names
        if (text := row.values.get(name))
    ]
    erased = find_erased(imports.account, {text for _, _, text in cells})
    for row, name, text in cells:
        if text in erased:
            row.add_problem(name, "erased", text)


def choose_new_people(imports: ImportMap, rows: list[Row]) -> None:
    """Say which affiliates and customers are created with these rows.

    `values["new_customer"]` becomes a body. People who were erased are problems.
    """
    for name in ("affiliate", "customer"):
        new = [row for row in list_valid_rows(rows) if row.values.get(f"new_{name}")]
        erased = find_erased(
            imports.account, {fold_email(row.values[f"new_{name}"]) for row in new}
        ) | find_erased(imports.account, {row.values[f"new_{name}"] for row in new})
        for row in new:
            text = row.values[f"new_{name}"]
            if {text, fold_email(text)} & erased:
                column = "affiliate" if name == "affiliate" else "customer_id"
                row.add_problem(column, "erased", text)
    choose_new_affiliates(imports, list_valid_rows(rows))
    choose_new_customers(list_valid_rows(rows))


def choose_new_affiliates(imports: ImportMap, rows: list[Row]) -> None:
    """Give rows of unknown affiliates a `person`: a row of a table of affiliates."""
    people: dict[tuple[str, str], Row] = {}
    for row in rows:
        text = row.values.get("new_affiliate")
        if not text:
            continue
        key = fold_email(text), row.body.get("program", {}).get("id", "")
        at = row.values.get("created_at")
        if key not in people:
            people[key] = describe_affiliate(row, text)
        person = row.person = people[key]
        if at and at < person.body.get("created_at", at):
            person.body["created_at"] = at
    choose_ids(imports.account, list(people.values()))
    for row in rows:
        if row.person:
            path = "affiliate_id" if "affiliate_id" in row.body else "affiliate.id"
            row.set(path, row.person.body["id"])


def describe_affiliate(row: Row, text: str) -> Row:
    """Return the affiliate whom a row names as a row of its own, who is approved.

    A text without an address is the ID, and the referral code if the column has codes.
    Without a program it is in none, and has no code.
    """
    body: dict[str, Any] = {"approved": True}
    if "program" in row.body:
        body["program"] = dict(row.body["program"])
    if created_at := row.values.get("created_at"):
        body["created_at"] = created_at
    if "@" in text:
        body |= {"email": text, "firstname": text.partition("@")[0]}
    else:
        body |= {"id": text, "firstname": text}
        header = row.headers["affiliate"].casefold()
        if any(word in header for word in CODE_WORDS):
            body["code"] = text
    values = {"key": fold_email(text), "email": body.get("email", "")}
    return Row(row.number, values=values, body=body, headers=row.headers)


def choose_new_customers(rows: list[Row]) -> None:
    """Give rows of unknown customers their body, that of the earliest sale."""
    bodies: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda it: it.values.get("created_at") or ""):
        if text := row.values.get("new_customer"):
            body = {"customer_id": text, "status": "paying"} | {
                name: row.body[name]
                for name in ("program", "affiliate", "created_at")
                if name in row.body
            }
            row.values["new_customer"] = bodies.setdefault(text, body)
