"""Checks that tests run after they have moved money, and what they compare.

The checks skip tables without rows: no invariant can fail there. A query that is only
compiled costs as much as one that finds something.
"""

from contextlib import contextmanager, suppress
from unittest.mock import patch

from django.db import OperationalError, connection
from django.utils import timezone

from payouts.models.commissions import Commission
from payouts.models.ledger import LedgerAccount, Transfer
from payouts.models.payments import Payment
from payouts.services import ledger_invariants, reconciliation

MONEY = (LedgerAccount, Transfer, Commission, Payment)


def assert_ledger_consistent(*accounts):
    """Check all ledger invariants of these accounts; return the report."""
    models = filled_models()
    with (
        patch.object(ledger_invariants, "list_tenant_models", lambda: models),
        patch.object(reconciliation, "list_tenant_models", lambda: models),
    ):
        report = reconciliation.reconcile(accounts, at=timezone.now())
    assert report.discrepancies == []
    return report


def assert_amounts_consistent(*accounts):
    """Check the ledger invariants about amounts of these accounts."""
    if any(model in MONEY for model in filled_models()):
        for account in accounts:
            assert (
                list(ledger_invariants.LedgerInvariants(account).list_amount_discrepancies()) == []
            )


def filled_models():
    """Return the models of tables that hold rows, of whatever account."""
    models = ledger_invariants.list_tenant_models()
    selects = (
        f"SELECT {number} WHERE EXISTS (SELECT 1 FROM {model._meta.db_table})"  # noqa: S608
        for number, model in enumerate(models)
    )
    return [models[number] for (number,) in rows_of(" UNION ALL ".join(selects))]


def snapshot_account(account):
    """Return all stored rows of an account by model, to compare them later."""
    return {
        model.__name__: rows_of(
            f"SELECT * FROM {model._meta.db_table} WHERE account_id = %s ORDER BY id",  # noqa: S608
            account.pk,
        )
        for model in ledger_invariants.list_tenant_models()
    }


@contextmanager
def assert_unchanged(account, snapshot=snapshot_account):
    """Check that the block stores nothing in an account."""
    before = snapshot(account)
    yield
    assert snapshot(account) == before


def rows_of(sql, *parameters):
    """Return the rows of a statement, as the database stores them."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


class InjectedDatabaseError(OperationalError):
    """Raised by `fail_at_statement` in place of a statement."""


@contextmanager
def fail_at_statement(index):
    """Raise in place of the statement with this index, counted from zero.

    Yields the list of statements that were executed or failed.
    """
    queries = []

    def intercept(execute, sql, params, many, context):
        queries.append(sql)
        if len(queries) == index + 1:
            raise InjectedDatabaseError(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(intercept):
        yield queries


def assert_atomic(account, operation, *, least):
    """Check that the operation stores nothing if one of its statements fails.

    It has at least `least` statements. At the end it has run once.
    """
    before, number = snapshot_account(account), 0
    while True:
        with fail_at_statement(number) as queries, suppress(InjectedDatabaseError):
            operation()
        if len(queries) == number:
            break
        assert snapshot_account(account) == before, f"{number}: {queries[number]}"
        number += 1
    assert number >= least
