"""Retry of operations whose data changed between reading and writing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import IntegrityError, InterfaceError, OperationalError, connection

from accounts.db_compat import is_missing_row

MAX_ATTEMPTS = 4

Params = ParamSpec("Params")
Result = TypeVar("Result")


class ConcurrentUpdate(Exception):
    """A row was created, changed or deleted concurrently; retry the operation."""


# Interfaces answer 503. Which of them need a repair, `db_compat.is_temporary` says.
UNAVAILABLE_ERRORS = (OperationalError, InterfaceError, ConcurrentUpdate)


def ensure_transaction_usable() -> None:
    """Raise `OperationalError` if what failed could not be undone.

    To be called before an error is recorded in the transaction around it: then it is
    the database that failed.
    """
    if connection.needs_rollback:
        raise OperationalError("a savepoint could not be rolled back")


@contextmanager
def suppress_conflict() -> Iterator[None]:
    """Suppress a `ConcurrentUpdate`, and that a row which was read without a lock is
    deleted before the COMMIT: `prune` deletes old clicks while a call names them."""
    try:
        yield
    except ConcurrentUpdate:
        pass
    except IntegrityError as error:
        if not is_missing_row(error):
            raise


def retry_on_conflict(operation: Callable[Params, Result]) -> Callable[Params, Result]:
    """Call the operation again in a new transaction after what `suppress_conflict`
    suppresses.

    The last of `MAX_ATTEMPTS` calls lets the exception through.
    """

    @wraps(operation)
    def wrapper(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        for _ in range(MAX_ATTEMPTS - 1):
            with suppress_conflict():
                return operation(*args, **kwargs)
        return operation(*args, **kwargs)

    return wrapper
