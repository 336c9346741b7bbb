"""What the rows of a table refer to, looked up for all rows at once."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from accounts.db_compat import split_into_batches
from accounts.email_addresses import fold_email
from accounts.models.accounts import Account
from tracking.models.imports import TABLE_SOURCE_PREFIX
from tracking.services.imports import ImportMap


def look_up(rows: Any, column: str, texts: Iterable[Any], *values: str) -> list[tuple[Any, ...]]:
    found = []
    for batch in split_into_batches(sorted(set(texts))):
        matching = rows.filter(**{f"{column}__in": batch})
        found += list(matching.order_by("pk").values_list(column, *values))
    return found


def find_affiliates(account: Account, texts: Collection[str]) -> dict[str, Any]:
    """Map texts to (primary key, ID): an ID, e-mail address, code, or ID elsewhere.

    A text that names several affiliates, one's ID and another's code, is mapped to
    None.
    """
    owners = ("enrollment__affiliate", "enrollment__affiliate__slug")
    by_code: list[dict[str, Any]] = []
    for table in (account.referral_code_aliases, account.referral_codes):
        codes = table.filter(enrollment__affiliate__deleted_at=None)
        rows = look_up(codes, "code", texts, *owners)
        by_code.append({key: tuple(value) for key, *value in rows})
    by_id = find_affiliates_by_id(account, texts)
    found: dict[str, Any] = {}
    for names in (*by_code, find_affiliates_by_email(account, texts), by_id):
        for text, value in names.items():
            found[text] = value if found.get(text, value) == value else None
    return found


def find_affiliates_by_id(account: Account, texts: Collection[str]) -> dict[str, tuple[int, str]]:
    """Map IDs, here or in earlier tables, to (primary key, ID here)."""
    people = account.affiliates.not_deleted()
    elsewhere = find_imported(account, "affiliate", texts)
    slugs = dict(look_up(people, "pk", elsewhere.values(), "slug"))
    found = {key: (pk, slugs[pk]) for key, pk in elsewhere.items() if pk in slugs}
    own = look_up(people, "slug", texts, "pk", "slug")
    return found | {key: (pk, slug) for key, pk, slug in own}


def find_affiliates_by_email(
    account: Account, texts: Collection[str]
) -> dict[str, tuple[int, str]]:
    """Map e-mail addresses to (primary key, ID)."""
    people = account.affiliates.not_deleted()
    folded = {text: fold_email(text) for text in texts}
    rows = look_up(people, "email_folded", folded.values(), "pk", "slug")
    emails = {key: (pk, slug) for key, pk, slug in rows}
    return {it: emails[key] for it, key in folded.items() if key in emails}


def find_imported(account: Account, kind: str, texts: Collection[str]) -> dict[str, int]:
    """Map the IDs of earlier tables to primary keys."""
    rows = account.imported_objects.filter(kind=kind, source__startswith=TABLE_SOURCE_PREFIX)
    return dict(look_up(rows, "source_id", texts, "local_id"))


def find_programs(account: Account, texts: Collection[str]) -> dict[str, Any]:
    """Map texts to (primary key, ID): the ID or title of a program."""
    rows = list(account.programs.order_by("-pk").values_list("title", "pk", "slug"))
    titles = {title.casefold(): (pk, slug) for title, pk, slug in rows}
    slugs = {slug: (pk, slug) for _, pk, slug in rows}
    found = {text: slugs.get(text) or titles.get(text.casefold()) for text in texts}
    return {text: value for text, value in found.items() if value}


def find_customers(account: Account, texts: Collection[str]) -> dict[str, Any]:
    """Map texts to (primary key, customer ID): a customer ID, or ours."""
    rows = account.customers.not_deleted()
    columns = ("pk", "customer_id")
    found = {key: value for key, *value in look_up(rows, "public_id", texts, *columns)}
    return found | {key: value for key, *value in look_up(rows, "customer_id", texts, *columns)}


def find_payments(account: Account, texts: Collection[str]) -> dict[str, Any]:
    """Map IDs to (primary key, ID) of payments that are not canceled."""
    rows = account.payments.not_canceled()
    elsewhere = find_imported(account, "payment", texts)
    names = dict(look_up(rows, "pk", elsewhere.values(), "public_id"))
    found = {text: [pk, names[pk]] for text, pk in elsewhere.items() if pk in names}
    return found | {
        key: value for key, *value in look_up(rows, "public_id", texts, "pk", "public_id")
    }


def find_groups(account: Account, texts: Collection[str]) -> dict[str, Any]:
    """Map texts to (primary key, ID): the ID or title of a group."""
    rows = account.affiliate_groups
    columns = ("pk", "public_id")
    found = {key: value for key, *value in look_up(rows, "title", texts, *columns)}
    return found | {key: value for key, *value in look_up(rows, "public_id", texts, *columns)}


FINDERS: dict[str, Callable[[Account, Collection[str]], dict[str, Any]]] = {
    "affiliate": find_affiliates,
    "program": find_programs,
    "customer": find_customers,
    "payment": find_payments,
    "group": find_groups,
}


def remember_found(imports: ImportMap, kind: str, found: dict[str, Any]) -> None:
    """Let the importing services find these objects by their IDs."""
    imports.known |= {(kind, it[1]): it[0] for it in found.values() if it}
