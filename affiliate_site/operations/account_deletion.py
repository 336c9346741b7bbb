"""Delete an account with all its rows and files, in batches.

The first transaction marks it (`AccountDeletion`), locks it, ends its keys and sessions
and deactivates its staff, so nothing new comes in, and adds a link to the chain of
digests that counts the rows of the others. What follows may be repeated after a kill:
each batch is a transaction of its own, and only rows of this account are touched.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import IntegrityError, connection, models, transaction

from accounts.append_only import DELETED_WITH_ACCOUNT
from accounts.db_compat import (
    BATCH_SIZE,
    split_into_batches,
    use_snapshot,
    without_statement_timeout,
)
from accounts.errors import Conflict
from accounts.models.accounts import Account, AccountDeletion
from accounts.services.accounts import list_accounts
from affiliate_site.operations.findings import OK, WARNING, Finding
from payouts.models.runs import PayoutLineState, PayoutRunState
from payouts.services.ledger_digests import build_link_without
from payouts.services.payables import get_balance_due
from payouts.services.reconciliation import reconcile_all

READ_SIZE = 100_000  # primary keys in memory
MAX_ROWS_WITHOUT_INDEX = 1000  # of a table that others refer to
INDEX_PREFIX = "of_deletion_"
ENDED_AT_ONCE = (
    *("accounts.ApiKey", "accounts.SigningSecret", "accounts.Invitation"),
    *("tracking.PortalSession", "tracking.PortalLink", "tracking.PortalApplication"),
)
OnRows = Callable[[int], None]


class UnpaidLines(Conflict):
    """The account's books are needed to match what a bank answers."""

    message = (
        "Nothing was deleted: payments of {runs} have no answer yet. Apply the bank's"
        " (import_payout_results), or add --accept-unpaid"
    )


class LedgerInconsistent(Conflict):
    """A deletion begins a new count of all rows, which would hide it."""

    message = (
        "Nothing was deleted: check_ledger finds {number} discrepancies, which have to"
        " be explained first"
    )


class OtherDigestStored(Conflict):
    """Another process has stored a digest since the rows were read."""

    message = "Nothing was deleted: check_ledger ran at the same time; run it again"


class StillInUse(Conflict):
    """Requests or workers go on inserting rows."""

    message = "Rows of the account still come in: stop what writes them, and run it again"


def count_rows(account: Account) -> dict[str, int]:
    """Count the account's rows by table, but for empty tables."""
    counts = {
        model._meta.label: _list_owned_rows(model, account).count() for model in _order_tables()
    }
    return {label: number for label, number in counts.items() if number}


def check_deletions(_at: datetime) -> Finding:
    """An account that is being deleted must not stay so: a check of doctor."""
    slugs = list(Account.objects.exclude(deletions=None).values_list("slug", flat=True))
    if not slugs:
        return Finding(OK, "no account is half deleted")
    return Finding(
        WARNING,
        f"{len(slugs)} account(s) half deleted: {', '.join(sorted(slugs))}",
        "run delete_account ACCOUNT again, unless it runs at present",
    )


def get_due(account: Account) -> dict[str, Decimal]:
    """Return what affiliates are owed, by currency."""
    return dict(get_balance_due(account))


def delete_account(
    account: Account,
    *,
    at: datetime,
    accepts_unpaid: bool = False,
    on_rows: OnRows = lambda _: None,
) -> dict[str, int]:
    """Delete everything of an account; return the number of rows by table.

    Raises `UnpaidLines` unless `accepts_unpaid`, and `LedgerInconsistent`. Goes on with
    a deletion that was interrupted.
    """
    with without_statement_timeout():
        if not account.deletions.exists():
            _start(account, accepts_unpaid=accepts_unpaid, at=at)
        counts: Counter[str] = Counter()
        with _use_indexes(account):
            for _ in range(10):  # an open request may insert rows behind this
                _delete_files(account)
                counts.update(_delete_rows(account, on_rows))
                if _delete_last_rows(account):
                    return dict(counts)
    raise StillInUse


def _start(account: Account, *, accepts_unpaid: bool, at: datetime) -> None:
    if not accepts_unpaid:
        ensure_all_paid(account)
    with use_snapshot():
        discrepancies = reconcile_all(at=at).discrepancies
        if discrepancies:
            raise LedgerInconsistent(number=len(discrepancies))
        others = [each for each in list_accounts() if each.pk != account.pk]
        link = build_link_without(account, others, at=at)
    try:
        with transaction.atomic():
            account.lock_row()
            if not accepts_unpaid:
                ensure_all_paid(account)
            account.deletions.create(started_at=at)
            if link is not None:
                link.save(force_insert=True)
            Account.objects.filter(pk=account.pk).update(locked_at=at)
            users = list(account.staff.values_list("pk", flat=True))
            account.staff.update(is_active=False)
            account.webhook_endpoints.update(disabled_at=at)
            for label in ENDED_AT_ONCE:
                _list_owned_rows(apps.get_model(label), account).delete()
            _delete_sessions({str(pk) for pk in users})
    except IntegrityError as error:
        raise OtherDigestStored from error


def ensure_all_paid(account: Account) -> None:
    """Raise `UnpaidLines` while a bank may still answer about a payment."""
    lines = account.payout_lines.filter(
        run__state__in=(PayoutRunState.CONFIRMED, PayoutRunState.EXPORTED),
        state=PayoutLineState.UNKNOWN,
    )
    runs = sorted(set(lines.values_list("run__public_id", flat=True)))
    if runs:
        raise UnpaidLines(runs=", ".join(runs))


def _delete_sessions(users: set[str]) -> None:
    for session in Session.objects.iterator():
        if session.get_decoded().get(SESSION_KEY) in users:
            session.delete()


def _delete_files(account: Account) -> None:
    directory = settings.CREATIVES_DIR / account.slug
    if directory.exists():
        shutil.rmtree(directory)


def _delete_rows(account: Account, on_rows: OnRows) -> Counter[str]:
    counts: Counter[str] = Counter()
    for model in _order_tables():
        rows = _list_owned_rows(model, account).order_by("-pk")
        for key in _list_references_to_itself(model):
            _detach(rows, key)
        while keys := list(rows.values_list("pk", flat=True)[:READ_SIZE]):
            for batch in split_into_batches(keys):
                number = _delete_batch(model, batch)
                counts[model._meta.label] += number
                on_rows(number)
    return counts


def _delete_batch(model: type[models.Model], keys: Sequence[Any]) -> int:
    """Delete rows by one statement: Django would first look for all that refer to them.

    The last rows of a table are deleted first, because they refer to earlier ones.
    """
    column: Any = model._meta.pk
    values = [column.get_db_prep_value(key, connection) for key in keys]
    marks = ", ".join(["%s"] * len(values))
    table = model._meta.db_table
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM {table} WHERE {column.column} IN ({marks})",  # noqa: S608
            values,
        )
        number: int = cursor.rowcount
    return number


def _detach(rows: models.QuerySet[Any], key: str) -> None:
    """Clear references between rows of a table."""
    others = rows.filter(**{f"{key}__isnull": False}).values_list("pk", flat=True)
    while keys := list(others[:BATCH_SIZE]):
        rows.model._base_manager.filter(pk__in=keys).update(**{key: None})


def _delete_last_rows(account: Account) -> bool:
    """Delete mark and account; False if rows have come in since."""
    try:
        with transaction.atomic():
            account.deletions.all().delete()
            Account.objects.filter(pk=account.pk).delete()
    except IntegrityError:
        return False
    return True


def _order_tables() -> list[type[models.Model]]:
    """List the tables with rows of accounts, each before those that it refers to."""
    owned = _list_owned()
    tables = owned | {
        model
        for model in apps.get_models(include_auto_created=True)
        if any(key.related_model in owned for key in _list_keys(model))
    }
    ordered: list[type[models.Model]] = []

    def add(model: type[models.Model]) -> None:
        if model not in tables:
            return
        tables.remove(model)
        for other in sorted(tables, key=lambda it: it._meta.label):
            if any(key.related_model is model for key in _list_keys(other)):
                add(other)
        ordered.append(model)

    for model in sorted(tables, key=lambda it: it._meta.label):
        add(model)
    return ordered


def _list_owned() -> set[type[models.Model]]:
    """The models whose rows name their account, but for its mark."""
    found = {
        model
        for model in apps.get_models(include_auto_created=True)
        for column in model._meta.concrete_fields
        if column.related_model is Account
    }
    return found - {AccountDeletion}


def _list_keys(model: type[models.Model]) -> list[models.ForeignKey[Any, Any]]:
    return [
        column
        for column in model._meta.concrete_fields
        if isinstance(column, models.ForeignKey) and column.related_model is not Account
    ]


def _list_references_to_itself(model: type[models.Model]) -> list[str]:
    if model._meta.db_table in DELETED_WITH_ACCOUNT:
        return []  # no updates; such a row refers to an earlier one
    keys = _list_keys(model)
    return [key.name for key in keys if key.related_model is model]


def _list_owned_rows(model: type[models.Model], account: Account) -> models.QuerySet[Any, Any]:
    """Return the account's rows, also of tables of packages, such as second factors."""
    owned = _list_owned()
    if model in owned:
        return model._base_manager.filter(account=account)
    (key,) = (key for key in _list_keys(model) if key.related_model in owned)
    return model._base_manager.filter(**{f"{key.name}__account": account})


@contextmanager
def _use_indexes(account: Account) -> Iterator[None]:
    """Index what refers to large tables, for the time of the deletion.

    For each row that is deleted, the database looks for rows that refer to it; without
    an index that begins with the column it would read their whole table.
    """
    indexes = [
        (f"{INDEX_PREFIX}{model._meta.db_table}_{key.column}"[:60], model, key)
        for target in _order_tables()
        if _list_owned_rows(target, account)[MAX_ROWS_WITHOUT_INDEX:].exists()
        for model in _order_tables()
        for key in _list_keys(model)
        if key.related_model is target and not _is_indexed(model, key)
    ]
    concurrently = "CONCURRENTLY" if connection.vendor == "postgresql" else ""
    for name, model, key in indexes:
        table, column = model._meta.db_table, key.column
        _execute(f"DROP INDEX {concurrently} IF EXISTS {name}")
        _execute(f"CREATE INDEX {concurrently} {name} ON {table} ({column})")
    try:
        yield
    finally:
        for name, _, _ in indexes:
            _execute(f"DROP INDEX {concurrently} IF EXISTS {name}")


def _is_indexed(model: type[models.Model], key: Any) -> bool:
    begun_by = [index.fields[0] for index in model._meta.indexes if index.fields]
    return bool(key.db_index) or key.name in begun_by


def _execute(statement: str) -> None:
    """Run a statement that waits for all open transactions, without a time limit."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET lock_timeout = 0")
        cursor.execute(statement)
        if connection.vendor == "postgresql":
            cursor.execute("RESET lock_timeout")
