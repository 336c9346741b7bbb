"""Run `manage.py`: a failure of the environment is one line and exit code 1, or 78 if
a variable is invalid.

Such failures are a database that is away, not migrated or read-only, an invalid
variable, a file that cannot be written, a closed pipe, and Ctrl+C. Errors of the code
keep their traceback.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import DatabaseError, InterfaceError, OperationalError
from django.utils.module_loading import import_string

MIGRATE = "the database does not fit this release, run manage.py migrate"
READ_ONLY = "the database is read-only"
OTHER_MIGRATIONS = (
    "the database has migrations that this release has under other names, see docs/upgrading.md"
)
# Reasons by SQLSTATE (PostgreSQL) or by a part of the message (SQLite).
DATABASE_FAILURES = {
    "42P01": MIGRATE,  # undefined table
    "42703": MIGRATE,  # undefined column
    "no such table": MIGRATE,
    "no such column": MIGRATE,
    "has no column": MIGRATE,
    "42P07": OTHER_MIGRATIONS,  # table exists
    "42701": OTHER_MIGRATIONS,  # column exists
    "already exists": OTHER_MIGRATIONS,
    "duplicate column name": OTHER_MIGRATIONS,
    "25006": READ_ONLY,
    "readonly database": READ_ONLY,
    "42501": "the database refuses this role",
    "invalid connection option": "DATABASE_URL has an unknown option",
    "bad value for": "DATABASE_URL has an invalid option",
    "file is not a database": "Database unavailable",
    "malformed": "Database unavailable",
}
EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_CONFIGURATION = 78  # with which systemd does not start a service again


def run_command_line(arguments: Sequence[str]) -> None:
    """Run one command; `arguments` are `sys.argv`.

    Raises SystemExit with 1 after a failure, with 2 after wrong arguments.
    """
    replace_closed_output()
    for number, argument in enumerate(arguments):
        if not is_utf8(argument):
            print_error(f"argument {number} is not valid UTF-8: {argument!a}")
            sys.exit(EXIT_USAGE)
    try:
        load_settings()
        try:
            execute_from_command_line(list(arguments))
        finally:
            sys.stdout.flush()
    except (KeyboardInterrupt, Exception) as error:
        reason = describe_failure(error)
        if reason is None:
            report_failure(error, " ".join(arguments[1:2]))
        if reason is None or "--traceback" in arguments:
            raise
        if isinstance(error, OSError):
            discard_output()
        print_error(reason)
        is_configuration = isinstance(error, ImproperlyConfigured)
        sys.exit(EXIT_CONFIGURATION if is_configuration else EXIT_FAILURE)


def report_failure(error: BaseException, command: str) -> None:
    """Report an error of the code to the service that the settings name, if any."""
    if settings.configured and settings.COMMAND_FAILURE_REPORTER:
        import_string(settings.COMMAND_FAILURE_REPORTER)(error, command)


def load_settings() -> None:
    """Read the settings; an unknown module of settings is named."""
    try:
        _ = settings.INSTALLED_APPS
    except ModuleNotFoundError as error:
        module = os.environ["DJANGO_SETTINGS_MODULE"]
        if error.name is None or not module.startswith(error.name):
            raise
        raise ImproperlyConfigured(f"DJANGO_SETTINGS_MODULE: {error}") from error


def describe_failure(error: BaseException) -> str | None:
    """Return one line about a failure of the environment; None for any other error."""
    if isinstance(error, DatabaseError | InterfaceError):
        return describe_database_failure(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, BrokenPipeError):
        return "the output was closed before everything was written"
    if isinstance(error, EOFError):
        return "the input ended too early"
    if isinstance(error, OSError):
        text = error.strerror or str(error)
        return f"{error.filename}: {text}" if error.filename else text
    return format_on_one_line(error) if isinstance(error, ImproperlyConfigured) else None


def describe_database_failure(error: DatabaseError | InterfaceError) -> str | None:
    """Return one line about a database that cannot be used; None for a refused row."""
    if reason := find_lasting_failure(error):
        return f"{reason}: {format_on_one_line(error)}"
    if isinstance(error, OperationalError | InterfaceError):
        return f"Database unavailable: {format_on_one_line(error)}"
    return None


def find_lasting_failure(error: BaseException) -> str:
    """Return why a database refuses every such statement, as one that is read-only
    does; empty if another one may succeed."""
    state = getattr(error.__cause__, "sqlstate", None)
    return next(
        (
            reason
            for sign, reason in DATABASE_FAILURES.items()
            if sign == state or (state is None and sign in str(error))
        ),
        "",
    )


def format_on_one_line(error: BaseException) -> str:
    """Return the text of an error as one line."""
    return " ".join(str(error).split())


def is_utf8(text: str) -> bool:
    """Return whether a text from outside can be encoded: it holds no lone bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def print_error(text: str) -> None:
    """Print one line to standard error, which may be closed."""
    with suppress(OSError):
        print(f"CommandError: {text}", file=sys.stderr, flush=True)  # noqa: T201


def replace_closed_output() -> None:
    """Open streams that were closed by the caller (`>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - stays open


def discard_output() -> None:
    """Discard what is written to standard output from now on: nobody can read it."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
