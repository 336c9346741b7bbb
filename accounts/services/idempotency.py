"""Idempotency keys: execute a request once and store its response with its effect.

There is no state "in progress": the row is inserted first in the transaction of the
request, so a second request waits for the first on the unique index. Then it either
finds the stored response or claims the key itself. See docs/api-contract.md,
section 1.9.
"""

from datetime import datetime, timedelta
from http import HTTPStatus

from django.db.models import QuerySet

from accounts.compiled_queries import compiled
from accounts.errors import IdempotencyKeyReused
from accounts.models.accounts import Account
from accounts.models.api_keys import IdempotencyKey

RESPONSE_RETENTION = timedelta(hours=24)


@compiled
def idempotency_row_by_key(account: Account, key: str) -> QuerySet[IdempotencyKey]:
    """The row of an idempotency key."""
    return IdempotencyKey.objects.of(account).filter(key=key)


def find_stored_response(
    account: Account, *, key: str, fingerprint: str, at: datetime
) -> IdempotencyKey | None:
    """Return the stored response of this request, or None if the key is free.

    Raises `IdempotencyKeyReused` if the key was used for another request.
    """
    row = idempotency_row_by_key.first(account=account, key=key)
    if row is None or is_expired(row, at):
        return None
    if row.fingerprint != fingerprint:
        raise IdempotencyKeyReused
    return row


def claim_key(
    account: Account, *, key: str, fingerprint: str, at: datetime
) -> tuple[IdempotencyKey, bool]:
    """Return the row of this key, and whether this request claimed it.

    Call it within the transaction of the request. It waits for another transaction
    that has claimed the key.
    """
    while True:
        row = IdempotencyKey(account=account, key=key, fingerprint=fingerprint, created_at=at)
        if account.idempotency_keys.insert_or_ignore(row, unique_fields=("account", "key")):
            return row, True
        stored = find_stored_response(account, key=key, fingerprint=fingerprint, at=at)
        if stored is not None:
            return stored, False
        # The key has expired: delete its row, unless a concurrent request did so.
        expired = account.idempotency_keys.filter(key=key, created_at__lte=at - RESPONSE_RETENTION)
        expired.delete()


def claim_submission(account: Account, *, token: str, at: datetime) -> bool:
    """Return whether this is the first submission of a form with this token.

    Call it within the transaction of the submission, whose rollback frees the token.
    The stored key contains a line break, unlike all keys of requests.
    """
    row, is_first = claim_key(account, key=f"page\n{token}", fingerprint="", at=at)
    if is_first:
        store_response(row, status=HTTPStatus.FOUND, body=b"")
    return is_first


def store_response(row: IdempotencyKey, *, status: int, body: bytes) -> None:
    """Store the response, before the transaction commits."""
    row.update_row(status=status, body=body)


def is_expired(row: IdempotencyKey, at: datetime) -> bool:
    """Return whether the response has expired, so that the key is free again."""
    return row.created_at <= at - RESPONSE_RETENTION
