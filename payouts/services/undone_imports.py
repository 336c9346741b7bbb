"""What undone imports of tables had made: the ledger keeps it, affiliates see none."""

from typing import Any, TypeVar

from django.db.models import QuerySet, Value
from django.db.models.functions import Concat

from accounts.models.accounts import Account
from tracking.models.imports import UNDONE_SOURCE_PREFIX

Rows = TypeVar("Rows", bound=QuerySet[Any, Any])


def hide_undone_transfers(account: Account, rows: Rows) -> Rows:
    """Leave out the transfers of undone imports, and what took them back."""
    balances = _list_ids(account, "opening_balance")
    return (
        rows.exclude(commission__in=_list_commissions(account))
        .exclude(payment__in=_list_ids(account, "payment"))
        .exclude(pk__in=balances)
        .exclude(reversal_of__in=balances)
    )


def hide_undone_commissions(account: Account, rows: Rows) -> Rows:
    """Leave out the commissions of undone imports."""
    return rows.exclude(pk__in=_list_commissions(account))


def hide_undone_payments(account: Account, rows: Rows) -> Rows:
    """Leave out the payments of undone imports."""
    return rows.exclude(pk__in=_list_ids(account, "payment"))


def _list_ids(account: Account, kind: str) -> Any:
    undone = account.table_imports.exclude(undone_at=None)
    source = Concat(Value(UNDONE_SOURCE_PREFIX), "public_id")
    sources = undone.annotate(undone=source).values("undone")
    objects = account.imported_objects.filter(source__in=sources, kind=kind)
    return objects.values("local_id")


def _list_commissions(account: Account) -> Any:
    """Without those whose sale was restored since."""
    pks = _list_ids(account, "commission")
    return account.commissions.filter(pk__in=pks, deleted_at__isnull=False).values("pk")
