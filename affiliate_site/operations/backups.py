"""Backup and restore of the embedded SQLite database (docs/operations.md, section 4).

A backup is one file, readable by its owner only, and beside it `FILE.sha256`, which
`sha256sum --check` accepts. Both functions raise `BackupError`, `sqlite3.Error` and
OSError, and leave no half-written file behind.
"""

import fcntl
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.db.migrations.loader import MigrationLoader

from accounts.errors import Conflict, InvalidInput
from accounts.migration_operations import FORMER_DATABASE, FORMER_MIGRATION
from affiliate_site.env import BASE_DIR

NAME_PATTERN = "????????T??????Z.sqlite3"
TIME_FORMAT = "%Y%m%dT%H%M%SZ"
# Endings of files that SQLite keeps beside a database. SQLite applies them to any
# database file at this path.
COMPANIONS = ("-wal", "-shm", "-journal")
BUSY_MILLISECONDS = 20_000


class BackupError(Conflict):
    """The backup or restore cannot be done; nothing was replaced."""

    message = "{reason}"


class InvalidBackup(InvalidInput):
    """The file is no complete backup of this service."""

    message = "{file} is not a usable backup: {reason}"


@dataclass(frozen=True)
class Backup:
    """A finished backup; `problem` is what `check_ledger` found in it, or empty."""

    file: Path
    bytes: int
    sha256: str
    problem: str


def create_backup(
    database: Path,
    file: Path,
    *,
    force: bool,
    on_step: Callable[[str], object] = lambda _: None,
) -> Backup:
    """Copy a database, which may be in use, as of one moment, and check the copy.

    `on_step` gets what is done next.
    """
    if file in (database, *get_companions(database)):
        raise BackupError(reason=f"{file} belongs to the database: choose another name")
    if not file.name.isprintable():
        raise BackupError(reason=f"{str(file)!r}: choose a name of printable characters")
    if file.exists() and not force:
        raise BackupError(reason=f"{file} exists: choose another name, or add --force")
    with write_aside(file) as partial:
        on_step("copy the database")
        copy_database(database, partial)
        on_step("check the copy")
        check_integrity(partial)
        on_step("check its ledger")
        problem = check_ledger(partial)
        with closing(connect(partial)) as copy:
            # One file: a write-ahead log would be a second one.
            copy.execute("PRAGMA journal_mode=DELETE")
        digest = hash_file(partial)
    with write_aside(get_digest_file(file)) as partial:
        partial.write_text(f"{digest}  {file.name}\n")
    return Backup(file, file.stat().st_size, digest, problem)


def delete_old_backups(directory: Path, *, days: int, at: datetime) -> int:
    """Delete backups whose name is an earlier time than `days` ago; return how many."""
    oldest = (at - timedelta(days=days)).strftime(TIME_FORMAT)
    old = [file for file in directory.glob(NAME_PATTERN) if file.name < oldest]
    for file in old:
        file.unlink()
        get_digest_file(file).unlink(missing_ok=True)
    return len(old)


def restore_backup(file: Path, database: Path, *, force: bool, at: datetime) -> Path | None:
    """Replace the database by a backup; return the path of the previous database.

    No other connection may be open. The caller migrates and checks the ledger.
    """
    check_digest(file)
    ensure_alone(file)
    check_integrity(file)
    check_migrations(file)
    if not force and (count := count_accounts(database)):
        raise BackupError(
            reason=f"The database holds {count} account(s): add --force to replace it."
            " It is kept beside the new one"
        )
    kept = database.with_name(f"{database.name}.before-{at.strftime(TIME_FORMAT)}")
    with write_aside(database) as partial:
        copy_database(file, partial, mode="ro")
        is_replaced = database.exists()
        if is_replaced:
            ensure_unused(database)
            remove_other_names(database)
            # At each moment there is a complete database at the path.
            os.link(database, kept)
        for companion in get_companions(database):
            if companion.exists():  # of a broken or missing database
                suffix = companion.name.removeprefix(database.name)
                companion.rename(kept.with_name(f"{kept.name}{suffix}"))
    return kept if is_replaced else None


@contextmanager
def write_aside(file: Path) -> Iterator[Path]:
    """Yield the path of a private file that replaces `file` at the end of the block.

    Only one process at a time can do this in a directory; others get a BackupError.
    """
    partial = file.with_name(f"{file.name}.partial")
    leftovers = (partial, *get_companions(partial))
    with lock_directory(file.parent) as directory:
        try:
            for leftover in leftovers:  # of a process that was killed
                leftover.unlink(missing_ok=True)
            partial.touch(mode=0o600, exist_ok=False)
            yield partial
            with partial.open("rb") as content:
                os.fsync(content.fileno())
            partial.replace(file)
            os.fsync(directory)
        finally:
            for leftover in leftovers:
                leftover.unlink(missing_ok=True)


@contextmanager
def lock_directory(directory: Path) -> Iterator[int]:
    """Lock the directory and yield its descriptor; raise BackupError if locked."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise BackupError(
            reason=f"Another backup or restore writes to {directory}: wait for its end"
        ) from error
    except OSError:
        pass  # a network disk, which may have no such locks
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def get_companions(database: Path) -> list[Path]:
    """Return the paths of SQLite's files beside a database, which may not exist."""
    return [database.with_name(f"{database.name}{suffix}") for suffix in COMPANIONS]


def copy_database(source: Path, target: Path, mode: str = "rw") -> None:
    """Copy a database as of one moment; `mode` is for the connection to the source."""
    with closing(connect(source, mode)) as original, closing(connect(target)) as copy:
        # Not without waiting: another process may recover the write-ahead log.
        original.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
        original.backup(copy)


def connect(file: Path, mode: str = "rw") -> sqlite3.Connection:
    """Open an existing database without waiting for other connections."""
    address = f"{file.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=0)


def check_digest(file: Path) -> None:
    digest_file = get_digest_file(file)
    if digest_file.exists() and digest_file.read_text().split()[:1] != [hash_file(file)]:
        raise InvalidBackup(file=file, reason=f"it differs from {digest_file.name}")


def check_integrity(file: Path) -> None:
    """Raise InvalidBackup for a file that SQLite cannot read completely."""
    if not file.is_file():
        raise InvalidBackup(file=file, reason="there is no such file")
    try:
        with closing(connect(file, "ro")) as copy:
            results = [row[0] for row in copy.execute("PRAGMA integrity_check(1)")]
            copy.execute("SELECT 1 FROM accounts_account LIMIT 1")
    except sqlite3.DatabaseError as error:
        raise InvalidBackup(file=file, reason=error) from error
    if results != ["ok"]:
        raise InvalidBackup(file=file, reason=results[0])


def ensure_alone(file: Path) -> None:
    """Raise InvalidBackup if a log is beside the file: it is no part of a backup."""
    for log in get_companions(file):
        if log.exists() and not log.name.endswith("-shm"):
            raise InvalidBackup(
                file=file,
                reason=f"SQLite would apply {log.name} to it: move that away",
            )


def check_migrations(file: Path) -> None:
    """Raise InvalidBackup if this release cannot go on with the file."""
    known = set(MigrationLoader(None).disk_migrations)
    apps = {app for app, _ in known}
    with closing(connect(file, "ro")) as copy:
        applied = set(copy.execute("SELECT app, name FROM django_migrations"))
    if FORMER_MIGRATION in applied:
        raise InvalidBackup(file=file, reason=FORMER_DATABASE)
    unknown = sorted(f"{app}.{name}" for app, name in applied - known if app in apps)
    if unknown:
        raise InvalidBackup(
            file=file,
            reason=f"a newer release has written it ({unknown[-1]}); install that one",
        )


def remove_other_names(database: Path) -> None:
    """Remove hard links `*.before-*` to the database that a killed restore has left.

    They would change with the database instead of keeping the previous one.
    """
    for other in database.parent.iterdir():
        if other.name.startswith(f"{database.name}.before-") and other.samefile(database):
            other.unlink()


def count_accounts(database: Path) -> int:
    """Return the number of accounts in a database that may be missing or empty."""
    if not database.exists():
        return 0
    try:
        with closing(connect(database)) as connection:
            row = connection.execute("SELECT COUNT(*) FROM accounts_account").fetchone()
    except sqlite3.DatabaseError:
        return 0
    return int(row[0])


def ensure_unused(database: Path) -> None:
    """Raise BackupError if another process has the database open.

    SQLite leaves the write-ahead log only when it has the database for itself; the
    file is complete afterwards.
    """
    try:
        with closing(connect(database)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError as error:
        raise BackupError(
            reason=f"The database is in use: stop the service first ({error})"
        ) from error
    except sqlite3.DatabaseError:
        return  # there is no database, or a broken one, which is kept as it is


def check_ledger(file: Path) -> str:
    """Run `check_ledger` on this database in a process of its own; return the problem.

    A database that waits for `migrate` cannot be checked, but is worth a backup.
    """
    process = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, str(BASE_DIR / "manage.py"), "check_ledger", "--json"],
        env=os.environ
        | {
            "DATABASE_URL": f"sqlite:///{quote(str(file.absolute()))}",
            "DATABASE_URL_FILE": "",
            "SECRET_KEY": settings.SECRET_KEY,
            "SECRET_KEY_FILE": "",
            "ENCRYPTION_KEYS": ",".join(settings.ENCRYPTION_KEYS),
            "ENCRYPTION_KEYS_FILE": "",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        is_consistent = json.loads(process.stdout)["ok"]
    except ValueError:
        reason = process.stderr.strip().rpartition("\n")[2]
        return f"its ledger cannot be checked: {reason}"
    return "" if is_consistent else "its ledger is not consistent: run check_ledger"


def hash_file(file: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def get_digest_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")
