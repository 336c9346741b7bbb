"""Queues in tables: rows with a `due_at` wait for an attempt by a worker.

They are webhook deliveries, mails and events of shops. A claim sets the time of the
next attempt, so that another worker goes on if one stops; a row without one is not
tried again. See docs/reliability.md, section 6.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import models, transaction

from accounts.models.accounts import Account
from accounts.models.queues import QueuedRow

Row = TypeVar("Row", bound=QueuedRow)


def claim_due_rows(
    rows: models.QuerySet[Row],
    *,
    limit: int,
    due_before: datetime,
    next_attempt: datetime | None,
) -> list[Row]:
    """Lease the rows that are due longest to one worker; no other one takes them.

    They are due again at `next_attempt`, unless a result is recorded before; None: they
    are not.
    """
    due = rows.filter(due_at__lte=due_before).order_by("due_at", "id")
    with transaction.atomic():
        locked = due.select_for_update(skip_locked=True, no_key=True, of=("self",))
        claimed = list(locked[:limit])
        pks = [row.pk for row in claimed]
        rows.filter(pk__in=pks).update(due_at=next_attempt)
    for row in claimed:
        row.due_at = next_attempt
    return claimed


def find_retry_time(
    delays: Sequence[timedelta], attempts: int, *, at: datetime, factor: float = 1
) -> datetime | None:
    """Return when to try again after this many attempts; None after the last one."""
    if attempts > len(delays):
        return None
    return at + delays[attempts - 1] * factor


def list_accounts_with_due_rows(model: type[QueuedRow], *, due_before: datetime) -> list[Account]:
    """List the accounts that have rows due, in any order, so that none waits long."""
    due = model.objects.across_accounts().filter(due_at__lte=due_before)
    return list(Account.objects.filter(pk__in=due.values("account")).order_by("?"))


def count_waiting_rows(model: type[QueuedRow]) -> int:
    """Count the rows of all accounts that are due now or later."""
    return model.objects.across_accounts().filter(due_at__isnull=False).count()
