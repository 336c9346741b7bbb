"""Around a sale's fields: known and hasty ones are refused before, failures are
remembered after every rollback (contract 2.2.5)."""

from contextlib import suppress

from django.db import DatabaseError
from rest_framework.exceptions import ValidationError

from accounts.engines import waited_too_long
from affiliate_site.api.fields import Text, is_blank
from tracking.errors import DuplicateConversion, TooManyAttempts
from tracking.services.attempts import admit, forget, remember_failure

NO_FAILURE = (DuplicateConversion, TooManyAttempts)


class Attempts:
    """A viewset that makes sales, and the memory of those that failed."""

    source: str
    attempt: str | None = None  # the external_id, once it was let in
    failed_before = False

    def admit_sale(self):
        """The `external_id` that was sent, if this attempt may go on."""
        sent = self.body.get("external_id")
        if sent is None or is_blank(sent):
            return None
        try:
            external_id = Text().to_internal_value(sent)
        except ValidationError as flaw:
            raise ValidationError({"external_id": flaw.detail}) from None
        self.failed_before = admit(
            self.account, source=self.source, external_id=external_id
        )
        self.attempt = external_id
        return external_id

    def forget_failure(self):
        """The sale is stored: an older failure of it delays nobody."""
        if self.failed_before:
            forget(self.account, source=self.source, external_id=self.attempt)

    def handle_exception(self, exc):
        """By now every transaction of the request is gone."""
        if self.attempt is not None:
            if waited_too_long(exc):
                exc = TooManyAttempts(external_id=self.attempt)
            if not isinstance(exc, NO_FAILURE):
                self.remember(exc)
        return super().handle_exception(exc)

    def remember(self, failure):
        """Best effort: when the database is away, the 503 goes out all the same."""
        with suppress(DatabaseError):
            remember_failure(
                self.account,
                source=self.source,
                external_id=self.attempt,
                message=str(failure),
            )
