"""What undone imports of tables had made: the ledger keeps it, affiliates see none."""

from typing import Any, TypeVar

from django.db.models import QuerySet

from accounts.models.accounts import Account

Rows = TypeVar("Rows", bound=QuerySet[Any, Any])


def hide_undone_transfers(account: Account, rows: Rows) -> Rows:
    """Leave out the transfers of undone imports, and what took them back."""
    sources = _list_sources(account)
    if not sources:
        return rows
    balances = _list_ids(account, sources, "opening_balance")
    return (
        rows.exclude(commission__in=_list_commissions(account, sources))
        .exclude(payment__in=_list_ids(account, sources, "payment"))
        .exclude(pk__in=balances)
        .exclude(reversal_of__in=balances)
    )


def hide_undone_commissions(account: Account, rows: Rows) -> Rows:
    """Leave out the commissions of undone imports."""
    sources = _list_sources(account)
    return rows.exclude(pk__in=_list_commissions(account, sources)) if sources else rows


def hide_undone_payments(account: Account, rows: Rows) -> Rows:
    """Leave out the payments of undone imports."""
    sources = _list_sources(account)
    return (
        rows.exclude(pk__in=_list_ids(account, sources, "payment")) if sources else rows
    )


def _list_sources(account: Account) -> list[str]:
    return [it.undone_source for it in account.table_imports.exclude(undone_at=None)]


def _list_ids(account: Account, sources: list[str], kind: str) -> Any:
    objects = account.imported_objects.filter(source__in=sources, kind=kind)
    return objects.values("local_id")


def _list_commissions(account: Account, sources: list[str]) -> Any:
    """Without those whose sale was restored since."""
    pks = _list_ids(account, sources, "commission")
    return account.commissions.filter(pk__in=pks, deleted_at__isnull=False).values("pk")
