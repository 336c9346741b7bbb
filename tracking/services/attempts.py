"""Conversion attempts: reject duplicates and early retries before other checks."""

from datetime import timedelta
from typing import Any, NamedTuple

from django.db.models import Exists, Subquery

from accounts.compiled_queries import compiled
from accounts.db_compat import get_database_time
from accounts.models.accounts import Account
from tracking.errors import DuplicateConversion, TooManyConversionAttempts
from tracking.models.conversions import Conversion, ConversionAttempt

MIN_RETRY_INTERVAL = timedelta(seconds=10)


class AllowedAttempt(NamedTuple):
    """What an attempt that is allowed found out.

    An older failure is to be deleted on success. The id is free if neither a fact nor a
    claim has it.
    """

    has_failed_before: bool
    is_id_free: bool


@compiled
def attempt_state(account: Account, origin: str, external_id: str) -> Any:
    """Whether a fact has the id, whether anything has, and when the latest attempt
    failed (None: never)."""
    conversions = Conversion.objects.of(account).not_deleted()
    conversions = conversions.filter(external_id=external_id)
    attempts = ConversionAttempt.objects.of(account).filter(
        origin=origin, external_id=external_id
    )
    return Account.objects.filter(
        pk=account
    ).values_list(  # type: ignore[misc]
        Exists(conversions.filter(claim_status=None)),
        Exists(conversions),
        Subquery(attempts.values("failed_at")[:1]),
    )


def ensure_attempt_allowed(
    account: Account, *, origin: str, external_id: str
) -> AllowedAttempt:
    """Raise for a duplicate or for a retry within ten seconds of a failure.

    A claim is no duplicate: a fact confirms it, another claim contests it. See
    docs/api-contract.md, section 2.2.5.
    """
    ((is_duplicate, is_taken, failed_at),) = attempt_state.all(
        account=account, origin=origin, external_id=external_id
    )
    if is_duplicate:
        raise DuplicateConversion(external_id=external_id)
    if failed_at is not None and get_database_time() - failed_at < MIN_RETRY_INTERVAL:
        raise TooManyConversionAttempts(external_id=external_id)
    return AllowedAttempt(failed_at is not None, is_id_free=not is_taken)


def was_external_id_used(account: Account, external_id: str) -> bool:
    """Did a conversion have this id that is deleted, or has another id by now?"""
    deleted = account.conversions.filter(deleted_at__isnull=False)
    former = account.former_external_ids.filter(external_id=external_id)
    return deleted.filter(external_id=external_id).exists() or former.exists()


def record_failed_attempt(
    account: Account, *, origin: str, external_id: str, message: str
) -> None:
    """Block retries of this conversion for ten seconds.

    Call it after the rollback of the failed attempt, so that the record persists.
    """
    account.conversion_attempts.bulk_create(
        [
            ConversionAttempt(
                account=account,
                origin=origin,
                external_id=external_id,
                failed_at=get_database_time(),
                message=message,
            )
        ],
        update_conflicts=True,
        unique_fields=["account", "origin", "external_id"],
        update_fields=["failed_at", "message"],
    )


def delete_failed_attempt(account: Account, *, origin: str, external_id: str) -> None:
    """Delete the recorded failure after a success."""
    account.conversion_attempts.filter(origin=origin, external_id=external_id).delete()
