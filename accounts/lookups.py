"""Look up one row or raise a business error; lock the row of an account."""

from typing import Any, TypeVar

from django.db.models import Manager, Model, QuerySet

from accounts.models.accounts import Account

Row = TypeVar("Row", bound=Model)


def get_or_raise(
    rows: QuerySet[Row] | Manager[Row],
    error: Exception | type[Exception],
    *,
    lock: bool = False,
    **lookup: Any,
) -> Row:
    """Return the first of these rows that matches, or raise `error`.

    With `lock`, the row (without joined rows) is locked until the transaction ends.
    """
    if lock:
        rows = rows.select_for_update(no_key=True, of=("self",))
    row = rows.filter(**lookup).first()
    if row is None:
        raise error
    return row


def lock_account_row(account: Account) -> None:
    """Lock the row of an account: such changes run one at a time.

    Ends with the transaction. Postings and reads do not wait for it.
    """
    Account.objects.select_for_update(no_key=True).only("pk").get(pk=account.pk)
