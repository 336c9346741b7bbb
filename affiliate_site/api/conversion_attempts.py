"""Attempts to create a conversion.

Duplicates, and retries within ten seconds of a failure, are rejected before the request
is validated. Failures are stored after the rollback. Rules: docs/api-contract.md,
section 2.2.5.
"""

from contextlib import suppress
from typing import Any

from django.db import DatabaseError
from rest_framework.exceptions import ValidationError
from rest_framework.views import APIView

from accounts.db_compat import is_lock_timeout
from accounts.models.accounts import Account
from affiliate_site.api.fields import TextField, is_blank
from tracking.errors import DuplicateConversion, TooManyConversionAttempts
from tracking.services.attempts import (
    delete_failed_attempt,
    ensure_attempt_allowed,
    record_failed_attempt,
)

EXTERNAL_ID_FIELD = TextField()


class Attempt:
    """One attempt; without an `external_id` nothing is checked or stored."""

    def __init__(self, account: Account, *, origin: str, external_id: str | None):
        self.account = account
        self.external_id = external_id
        self.lookup = {"origin": origin, "external_id": external_id or ""}
        self.has_failed_before = False
        self.is_id_free = False  # as far as is known; the constraint decides

    def ensure_allowed(self) -> None:
        """Raise DuplicateConversion or TooManyConversionAttempts if not allowed."""
        if self.external_id is not None:
            self.has_failed_before, self.is_id_free = ensure_attempt_allowed(
                self.account, **self.lookup
            )

    def succeed(self) -> None:
        """Delete the stored failure, so that it delays no later attempt."""
        if self.has_failed_before:
            delete_failed_attempt(self.account, **self.lookup)

    def fail(self, error: Exception) -> None:
        """Store the error; a database error while doing so is ignored.

        A lock that was not obtained in time is not stored: the caller shall try again.
        """
        if self.external_id is None or is_lock_timeout(error):
            return
        with suppress(DatabaseError):
            record_failed_attempt(self.account, **self.lookup, message=str(error))


class ConversionAttemptMixin(APIView):
    """Stores failed attempts of a view set that creates conversions of one `origin`."""

    account: Account
    body: Any
    origin: str
    attempt: Attempt | None = None  # None until `start_attempt`

    def start_attempt(self) -> Attempt:
        """Start an attempt, if it is allowed, with the `external_id` of the body."""
        value = self.body.get("external_id")
        external_id = None
        if value is not None and not is_blank(value):
            try:
                external_id = EXTERNAL_ID_FIELD.to_internal_value(value)
            except ValidationError as error:
                raise ValidationError({"external_id": error.detail}) from None
        attempt = Attempt(self.account, origin=self.origin, external_id=external_id)
        attempt.ensure_allowed()
        self.attempt = attempt
        return attempt

    def handle_exception(self, exc):
        """Store the failure; every transaction of the request is closed by now."""
        is_refused = isinstance(exc, DuplicateConversion | TooManyConversionAttempts)
        if self.attempt is not None and not is_refused:
            self.attempt.fail(exc)
        return super().handle_exception(exc)
