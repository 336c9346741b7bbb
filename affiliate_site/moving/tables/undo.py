"""Undo the import of a table, as long as nothing was built on what it made."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Model, ProtectedError, QuerySet

from accounts.db_compat import split_into_batches
from accounts.errors import Conflict, NotFound
from accounts.lookups import get_or_raise
from accounts.models.accounts import Account
from accounts.services.changes import log_event
from accounts.services.outbox import publish_no_events
from affiliate_site.moving.tables.references import look_up
from payouts.errors import OpeningBalanceNotFound
from payouts.services.conversion_updates import delete_conversions
from payouts.services.ledger import open_ledger_session
from payouts.services.opening_balances import (
    is_standing,
    reverse_opening_balance,
    sum_opening_balances,
)
from payouts.services.payments import cancel_payment
from tracking.models.imports import TableImport
from tracking.services.affiliates import delete_affiliate, lock_hierarchy
from tracking.services.customers import delete_customer

MAX_OBSTACLES = 5  # named
# Of affiliates; whether a balance stands is looked up.
BALANCE_EVENTS = ("opening_balance.posted", "opening_balance.reversed")
# The kinds in `ImportedObject`, and where the account has their rows.
RELATIONS = {
    "affiliate": "affiliates",
    "enrollment": "enrollments",
    "group": "affiliate_groups",
    "customer": "customers",
    "conversion": "conversions",
    "commission": "commissions",
    "payment": "payments",
    "opening_balance": "transfers",
}
# What the ledger keeps when it is undone, and affiliates are not shown.
HIDDEN_KINDS = ("commission", "payment", "opening_balance")
# What is built on rows: the relation, the column that names the row, and its kind.
DEPENDENTS = (
    ("conversions", "customer", "customer"),
    ("commissions", "conversion", "conversion"),
    ("shop_orders", "conversion", "conversion"),
    ("commissions", "payment", "payment"),
    ("documents", "payment", "payment"),
)

Made = dict[str, dict[int, Any]]  # rows by kind and primary key


class TableImportNotFound(NotFound):
    """The account has no import with this ID."""

    message = "Import {id} not found"


class TableImportUndone(Conflict):
    """The import was undone before."""

    message = "Import {id} was undone already"


class TableImportBuiltUpon(Conflict):
    """What the import made is used by now."""

    message = "Import {id} cannot be undone: {obstacles}"


def get_table_import(account: Account, public_id: str, *, lock: bool = False) -> TableImport:
    """Return an import; raise `TableImportNotFound`."""
    error = TableImportNotFound(id=public_id)
    rows = account.table_imports
    found: TableImport = get_or_raise(rows, error, lock=lock, public_id=public_id)
    return found


def undo_table_import(account: Account, *, public_id: str, at: datetime) -> dict[str, int]:
    """Remove all that an import made; return the numbers of rows by kind.

    Sales are deleted, payments canceled and opening balances taken back, which only
    staff still see. Affiliates and their groups are gone; those whom entries of the
    ledger name are deleted as staff delete them. Raises `TableImportNotFound`,
    `TableImportUndone` and `TableImportBuiltUpon`, which names the first obstacles.
    """
    try:
        with publish_no_events(), transaction.atomic():
            lock_hierarchy(account)
            table_import = get_table_import(account, public_id, lock=True)
            if table_import.undone_at is not None:
                raise TableImportUndone(id=public_id)
            made = load_rows(account, table_import)
            obstacles = list(islice(iterate_obstacles(account, table_import, made), MAX_OBSTACLES))
            if obstacles:
                texts = "; ".join(obstacles)
                raise TableImportBuiltUpon(id=public_id, obstacles=texts)
            lock_rows(account, made, at=at)
            remove_rows(account, made, at=at)
            forget_objects(account, table_import)
            table_import.update_row(undone_at=at)
            log_event(account, "table_import.undone", table_import, at=at)
    except ProtectedError as error:
        used = islice(error.protected_objects, MAX_OBSTACLES)
        texts = "; ".join(f"{describe(row)} uses it" for row in used)
        raise TableImportBuiltUpon(id=public_id, obstacles=texts) from None
    except (IntegrityError, OpeningBalanceNotFound):
        obstacles_text = "somebody uses it just now"
        raise TableImportBuiltUpon(id=public_id, obstacles=obstacles_text) from None
    return {kind: len(rows) for kind, rows in made.items()}


def forget_objects(account: Account, table_import: TableImport) -> None:
    """Let a later import store the rows again; remember what affiliates do not see."""
    objects = account.imported_objects.filter(source=table_import.source)
    objects.exclude(kind__in=HIDDEN_KINDS).delete()
    objects.update(source=table_import.undone_source, fingerprint="")


def describe(row: Model) -> str:
    """Return the kind of a row and its ID."""
    return f"{row._meta.verbose_name} {row}"


def load_rows(account: Account, table_import: TableImport) -> Made:
    """Return the rows that an import made."""
    pks = defaultdict(list)
    objects = account.imported_objects.filter(source=table_import.source)
    for kind, pk in objects.order_by("pk").values_list("kind", "local_id"):
        pks[kind].append(pk)
    made: Made = {}
    for kind, values in pks.items():
        rows = getattr(account, RELATIONS[kind])
        if kind == "enrollment":
            rows = rows.select_related("program", "affiliate")  # which name it
        found = [rows.in_bulk(list(batch)) for batch in split_into_batches(values)]
        made[kind] = {pk: row for batch in found for pk, row in batch.items()}
    return made


def iterate_obstacles(account: Account, table_import: TableImport, made: Made) -> Iterator[str]:
    """Say what was built on these rows, and what has changed them since."""
    for relation, column, kind in DEPENDENTS:
        rows = getattr(account, relation).select_related(column)
        own = made.get(relation.removesuffix("s"), {})
        for row in list_where(rows, column, made.get(kind, {})):
            is_removed = getattr(row, "deleted_at", None) is not None
            if row.pk not in own and not is_removed:
                yield f"{describe(row)} uses {describe(getattr(row, column))}"
    subjects = {
        f"{row._meta.model_name}:{getattr(row, 'log_id', row)}": row
        for rows in made.values()
        for row in rows.values()
    }
    yield from iterate_people_in_use(account, made)
    later = account.audit_log.filter(created_at__gt=table_import.created_at)
    later = later.exclude(kind__in=BALANCE_EVENTS)
    for subject, event in look_up(later, "subject", subjects, "kind"):
        yield f"{describe(subjects[subject])} has changed since ({event})"
    for transfer in made.get("opening_balance", {}).values():
        affiliate = transfer.debit.affiliate or transfer.credit.affiliate
        if not is_standing(transfer):
            yield f"the balance of {describe(affiliate)} was taken back since"
        payments = account.payments.not_canceled().filter(
            affiliate=affiliate,
            currency=transfer.currency,
            created_at__gt=table_import.created_at,
        )
        for payment in payments[:1]:
            yield f"{describe(payment)} may pay the balance of {describe(affiliate)}"


def iterate_people_in_use(account: Account, made: Made) -> Iterator[str]:
    """Say what affiliates have that is not undone, deleted or canceled."""
    affiliates = made.get("affiliate", {})
    relations: dict[str, QuerySet[Any]] = {
        "enrollment": account.enrollments.all(),
        "customer": account.customers.not_deleted(),
        "conversion": account.conversions.not_deleted(),
        "commission": account.commissions.not_deleted(),
        "payment": account.payments.not_canceled(),
        "click": account.clicks.all(),
        "pruned_click_count": account.pruned_click_counts.all(),
    }
    for kind, rows in relations.items():
        own = made.get(kind, {})
        people = rows.select_related("affiliate")
        for row in list_where(people, "affiliate", affiliates):
            if row.pk not in own:
                yield f"{describe(row)} uses {describe(row.affiliate)}"
    own_balances = {
        (row.debit.affiliate_id or row.credit.affiliate_id, row.currency)
        for row in made.get("opening_balance", {}).values()
    }
    for (pk, currency), amount in sum_opening_balances(account, set(affiliates)).items():
        if amount and (pk, currency) not in own_balances:
            yield f"{describe(affiliates[pk])} has an opening balance in {currency}"


def list_where(rows: QuerySet[Any], column: str, pks: Any) -> Iterator[Any]:
    """Return the rows whose column is one of these primary keys."""
    for batch in split_into_batches(sorted(pks)):
        yield from rows.filter(**{f"{column}__in": batch}).order_by("pk")


def lock_rows(account: Account, made: Made, *, at: datetime) -> None:
    """Lock all that the services lock, in the order of docs/architecture.md.

    Customers have only their deleted sales beside those of the import.
    """
    customers = made.get("customer", {})
    pks = set(made.get("conversion", {}))
    pks |= {row.pk for row in list_where(account.conversions.all(), "customer", customers)}
    for relation, own in (
        ("affiliates", set(made.get("affiliate", {}))),
        ("customers", set(customers)),
        ("conversions", pks),
    ):
        for batch in split_into_batches(sorted(own)):
            rows = getattr(account, relation).filter(pk__in=batch).order_by("pk")
            list(rows.select_for_update(no_key=True).values_list("pk"))
    keys = {row.balance_key for row in made.get("commission", {}).values()}
    keys |= {(row.affiliate_id, row.currency) for row in made.get("payment", {}).values()}
    for row in made.get("opening_balance", {}).values():
        affiliate_id = row.debit.affiliate_id or row.credit.affiliate_id
        keys.add((affiliate_id, row.currency))
    with open_ledger_session(account, keys, at=at) as ledger:
        ledger.lock_balances()


def remove_rows(account: Account, made: Made, *, at: datetime) -> None:
    """Remove the rows of an import, those first that use others."""
    for row in made.get("payment", {}).values():
        cancel_payment(account, payment_id=row.public_id, at=at, reason="import undone")
    for batch in split_into_batches(sorted(made.get("conversion", {}))):
        rows = account.conversions.select_related("program", "affiliate")
        delete_conversions(list(rows.filter(pk__in=batch).order_by("pk")), at=at)
    for row in made.get("customer", {}).values():
        delete_customer(account, public_id=row.public_id, at=at)
    for row in made.get("opening_balance", {}).values():
        affiliate = row.debit.affiliate or row.credit.affiliate
        reverse_opening_balance(
            account,
            affiliate_id=affiliate.slug,
            currency=row.currency,
            at=at,
            transfer=row,
        )
    remove_people(account, made, at=at)
    delete_where(account, "affiliate_groups", "pk", list(made.get("group", {})))


def remove_people(account: Account, made: Made, *, at: datetime) -> None:
    """Remove affiliates and enrollments; delete those whom entries still name."""
    enrollments = list(made.get("enrollment", {}))
    for relation in ("coupons", "referral_codes", "referral_code_aliases"):
        delete_where(account, relation, "enrollment", enrollments)
    people = made.get("affiliate", {})
    delete_where(account, "payout_methods", "affiliate", list(people))
    for batch in split_into_batches(list(people)):
        account.affiliates.filter(pk__in=batch).update(parent=None, group=None)
    known = find_people_with_history(account, people)
    for pk in sorted(known):
        delete_affiliate(account, affiliate_id=people[pk].slug, at=at)
    affiliates = [pk for pk in people if pk not in known]
    enrolled = made.get("enrollment", {}).values()
    own = [row.pk for row in enrolled if row.affiliate_id not in known]
    delete_where(account, "enrollments", "pk", own)
    for relation in ("sources", "search_suffixes"):
        delete_where(account, relation, "affiliate", affiliates)
    delete_where(account, "affiliates", "pk", affiliates)


def find_people_with_history(account: Account, pks: Iterable[int]) -> set[int]:
    """Return the affiliates whom rows name that stay when they are undone."""
    found = set()
    for rows in (account.ledger_accounts, account.conversions, account.customers):
        found |= {row.affiliate_id for row in list_where(rows.all(), "affiliate", pks)}
    return found


def delete_where(account: Account, relation: str, column: str, pks: Sequence[int]) -> None:
    """Delete the rows whose column is one of these primary keys."""
    for batch in split_into_batches(pks):
        getattr(account, relation).filter(**{f"{column}__in": batch}).delete()
