"""Retry of operations whose data changed between reading and writing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import IntegrityError, InterfaceError, OperationalError, connection

from accounts.db_compat import is_missing_row, is_temporary

MAX_ATTEMPTS = 4

Params = ParamSpec("Params")
Result = TypeVar("Result")


class ConcurrentUpdate(Exception):
    """A row was created, changed or deleted concurrently; retry the operation."""


# Interfaces answer 503. Which of them need a repair, `db_compat.is_temporary` says.
UNAVAILABLE_ERRORS = (OperationalError, InterfaceError, ConcurrentUpdate)


def is_conflict(error: BaseException | None) -> bool:
    """Whether data changed between reading and writing: a `ConcurrentUpdate`, or a row
    that was read without a lock is deleted before the COMMIT: `prune` deletes old clicks
    while a call names them."""
    is_broken_reference = isinstance(error, IntegrityError) and is_missing_row(error)
    return isinstance(error, ConcurrentUpdate) or is_broken_reference


def is_unavailable(error: BaseException | None) -> bool:
    """Whether the answer is 503: the client may send the same again at once."""
    return isinstance(error, UNAVAILABLE_ERRORS) or is_conflict(error)


def is_worth_a_retry(error: BaseException) -> bool:
    """Whether the same call can succeed later although nobody repairs anything."""
    return isinstance(error, ConcurrentUpdate) or is_temporary(error)


def ensure_transaction_usable() -> None:
    """Raise `OperationalError` if what failed could not be undone.

    To be called before an error is recorded in the transaction around it: then it is
    the database that failed.
    """
    if connection.needs_rollback:
        raise OperationalError("a savepoint could not be rolled back")


@contextmanager
def suppress_conflict() -> Iterator[None]:
    """Suppress what `is_conflict`."""
    try:
        yield
    except (ConcurrentUpdate, IntegrityError) as error:
        if not is_conflict(error):
            raise


def retry_on_conflict(operation: Callable[Params, Result]) -> Callable[Params, Result]:
    """Call the operation again in a new transaction after a conflict (`is_conflict`).

    The last of `MAX_ATTEMPTS` calls lets the exception through.
    """

    @wraps(operation)
    def wrapper(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        for _ in range(MAX_ATTEMPTS - 1):
            with suppress_conflict():
                return operation(*args, **kwargs)
        return operation(*args, **kwargs)

    return wrapper
