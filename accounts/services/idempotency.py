"""Idempotency keys: a request happens once, and its answer is kept beside its effect.

There is no state "in progress": the row is written first in the transaction of the
effect, so a second request waits for the first on the unique index, and then either
finds an answer or becomes the first.
"""

from datetime import datetime, timedelta

from accounts.errors import IdempotencyKeyReused
from accounts.models.accounts import Account
from accounts.models.keys import IdempotencyKey

KEPT_FOR = timedelta(hours=24)


def answer_kept(
    account: Account, *, key: str, fingerprint: str, at: datetime
) -> IdempotencyKey | None:
    """The kept answer to this very request; None when the key is free.

    Used for another request, the key is refused.
    """
    kept = account.idempotency_keys.filter(key=key).first()
    if kept is None or is_over(kept, at):
        return None
    if kept.fingerprint != fingerprint:
        raise IdempotencyKeyReused
    return kept


def claim(
    account: Account, *, key: str, fingerprint: str, at: datetime
) -> tuple[IdempotencyKey, bool]:
    """The row of this key, and whether this request is the one that happens.

    Within the transaction of the effect. Waits for whoever holds the key.
    """
    while True:
        row = IdempotencyKey(
            account=account, key=key, fingerprint=fingerprint, created_at=at
        )
        if account.idempotency_keys.insert_unless_taken(row, on=("account", "key")):
            return row, True
        kept = answer_kept(account, key=key, fingerprint=fingerprint, at=at)
        if kept is not None:
            return kept, False
        # Over its time: free the key, unless somebody else does so at this moment.
        old = account.idempotency_keys.filter(key=key, created_at__lte=at - KEPT_FOR)
        old.delete()


def keep(row: IdempotencyKey, *, status: int, body: bytes) -> None:
    """Keep the answer, before COMMIT."""
    row.change(status=status, body=body)


def is_over(row: IdempotencyKey, at: datetime) -> bool:
    """Has the key been free again for a while?"""
    return row.created_at <= at - KEPT_FOR
