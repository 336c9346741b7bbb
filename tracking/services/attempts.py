"""Conversion attempts: reject duplicates and early retries before other checks."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.db import DatabaseError
from django.db.models import Exists, Subquery

from accounts.compiled_queries import compiled
from accounts.db_compat import get_database_time
from accounts.errors import DomainError, get_error_code
from accounts.models.accounts import Account
from tracking.errors import DuplicateConversion, TooManyConversionAttempts
from tracking.models.affiliates import Affiliate
from tracking.models.conversions import Conversion, ConversionAttempt
from tracking.services.concurrency import is_unavailable
from tracking.services.former_ids import CONVERSION, is_former_id

MIN_RETRY_INTERVAL = timedelta(seconds=10)


@compiled
def attempt_state(account: Account, origin: str, external_id: str) -> Any:
    """Whether a fact has the id, whether anything has, and when the latest attempt
    failed (None: never)."""
    conversions = Conversion.objects.of(account).not_deleted()
    conversions = conversions.filter(external_id=external_id)
    attempts = ConversionAttempt.objects.of(account).filter(origin=origin, external_id=external_id)
    return Account.objects.filter(
        pk=account
    ).values_list(  # type: ignore[misc]
        Exists(conversions.filter(claim_status=None)),
        Exists(conversions),
        Subquery(attempts.values("failed_at")[:1]),
    )


class Attempt:
    """One attempt to create a conversion (docs/api-contract.md, section 2.2.5).

    Without an `external_id` nothing is checked or stored.
    """

    def __init__(self, account: Account, *, origin: str, external_id: str | None):
        self.account = account
        self.origin = origin
        self.external_id = external_id
        self.has_failed_before = False
        self.is_id_free = False  # as far as is known; the constraint decides

    def ensure_allowed(self) -> None:
        """Raise for a duplicate, or for a retry within ten seconds of a failure.

        A claim is no duplicate: a fact confirms it, another claim contests it.
        """
        external_id = self.external_id
        if external_id is None:
            return
        ((is_duplicate, is_taken, failed_at),) = attempt_state.all(
            account=self.account, origin=self.origin, external_id=external_id
        )
        if is_duplicate:
            raise DuplicateConversion(external_id=external_id)
        self.has_failed_before, self.is_id_free = failed_at is not None, not is_taken
        if failed_at and get_database_time() - failed_at < MIN_RETRY_INTERVAL:
            raise TooManyConversionAttempts(external_id=external_id)

    def succeed(self) -> None:
        """Delete the stored failure, so that it delays no later attempt."""
        if self.has_failed_before:
            self.account.conversion_attempts.filter(
                origin=self.origin, external_id=self.external_id
            ).delete()

    def fail(self, error: Exception) -> None:
        """Store the error; a database error while doing so is ignored.

        An error that is answered with 503 is not stored: the client may retry at once.
        """
        if self.external_id is None or is_unavailable(error):
            return
        with suppress(DatabaseError):
            record_failed_attempt(
                self.account,
                origin=self.origin,
                external_id=self.external_id,
                error=error,
            )


def was_external_id_used(account: Account, external_id: str) -> bool:
    """Did a conversion have this id that is deleted, or has another or none by now?"""
    deleted = account.conversions.filter(deleted_at__isnull=False)
    former = account.former_external_ids.filter(external_id=external_id)
    return (
        deleted.filter(external_id=external_id).exists()
        or former.exists()
        or is_former_id(account, CONVERSION, external_id)
    )


def find_refused_affiliate(account: Account, error: Exception) -> Affiliate | None:
    """Return the affiliate whom a refusal names, if it names one."""
    slug = error.params.get("affiliate") if isinstance(error, DomainError) else None
    return account.affiliates.filter(slug=slug).first() if slug else None


def record_failed_attempt(
    account: Account,
    *,
    origin: str,
    external_id: str,
    error: Exception,
) -> None:
    """Store why a conversion was refused, and block retries for ten seconds.

    Call it after the rollback of the failed attempt, so that the record persists.
    """
    account.conversion_attempts.bulk_create(
        [
            ConversionAttempt(
                account=account,
                origin=origin,
                external_id=external_id,
                failed_at=get_database_time(),
                reason=get_error_code(error),
                affiliate=find_refused_affiliate(account, error),
            )
        ],
        update_conflicts=True,
        unique_fields=["account", "origin", "external_id"],
        update_fields=["failed_at", "reason", "affiliate"],
    )
