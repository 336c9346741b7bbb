"""Attempts: a known sale and a hasty retry are refused before anything is read."""

from datetime import timedelta

from django.db.models import Exists, Subquery

from accounts.engines import database_now
from accounts.models.accounts import Account
from tracking.errors import DuplicateConversion, TooManyAttempts
from tracking.models.conversions import ConversionAttempt

RETRY_PAUSE = timedelta(seconds=10)


def admit(account: Account, *, source: str, external_id: str) -> bool:
    """Refuse a duplicate, then a retry within ten seconds of a failure.

    Says whether an older failure is remembered, to be forgotten on success.
    """
    conversions = account.conversions.present().filter(external_id=external_id)
    attempts = account.conversion_attempts.filter(
        source=source, external_id=external_id
    )
    known, failed_at = (
        Account.objects.filter(pk=account.pk)
        .values_list(Exists(conversions), Subquery(attempts.values("failed_at")[:1]))
        .get()
    )
    if known:
        raise DuplicateConversion(external_id=external_id)
    if failed_at is not None and database_now() - failed_at < RETRY_PAUSE:
        raise TooManyAttempts(external_id=external_id)
    return failed_at is not None


def refuse_known(account: Account, external_id: str | None) -> None:
    """Stop here if the account has a conversion with this id."""
    if account.conversions.present().filter(external_id=external_id).exists():
        raise DuplicateConversion(external_id=external_id)


def remember_failure(
    account: Account, *, source: str, external_id: str, message: str
) -> None:
    """Make retries of this sale wait ten seconds.

    Call it after the rollback: the memory of a failed attempt has to outlive
    everything that the attempt wrote.
    """
    account.conversion_attempts.bulk_create(
        [
            ConversionAttempt(
                account=account,
                source=source,
                external_id=external_id,
                failed_at=database_now(),
                message=message,
            )
        ],
        update_conflicts=True,
        unique_fields=["account", "source", "external_id"],
        update_fields=["failed_at", "message"],
    )


def forget(account: Account, *, source: str, external_id: str) -> None:
    """The sale succeeded: there is nothing to wait for."""
    account.conversion_attempts.filter(source=source, external_id=external_id).delete()
