"""Backup and restore of the embedded SQLite database (docs/operations.md, section 4).

A backup is one file, readable by its owner only, and beside it `FILE.sha256`, which
`sha256sum --check` accepts. Both functions raise `BackupError` and OSError, and leave
no half-written file behind.
"""

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db.migrations.loader import MigrationLoader

from accounts.errors import Conflict, InvalidInput
from affiliate_site.env import BASE_DIR

NAME_PATTERN = "????????T??????Z.sqlite3"
TIME_FORMAT = "%Y%m%dT%H%M%SZ"


class BackupError(Conflict):
    """The backup or restore cannot be done; nothing was replaced."""

    message = "{reason}"


class InvalidBackup(InvalidInput):
    """The file is no complete backup of this service."""

    message = "{file} is not a usable backup: {reason}"


@dataclass(frozen=True)
class Backup:
    """A finished backup; `is_ledger_consistent` is the result of `check_ledger`."""

    file: Path
    bytes: int
    sha256: str
    is_ledger_consistent: bool


def create_backup(database: Path, file: Path, *, force: bool) -> Backup:
    """Copy a database that is in use as of one moment, and check the copy."""
    if file.exists() and not force:
        raise BackupError(reason=f"{file} exists: choose another name, or add --force")
    with write_aside(file) as partial:
        with closing(connect(database)) as source, closing(connect(partial)) as copy:
            source.backup(copy)
        check_integrity(partial)
        is_consistent = check_ledger(partial)
        with closing(connect(partial)) as copy:
            # One file: a write-ahead log would be a second one.
            copy.execute("PRAGMA journal_mode=DELETE")
        digest = hash_file(partial)
    with write_aside(get_digest_file(file)) as partial:
        partial.write_text(f"{digest}  {file.name}\n")
    return Backup(file, file.stat().st_size, digest, is_consistent)


def delete_old_backups(directory: Path, *, days: int, at: datetime) -> int:
    """Delete the backups that were named by the time and are older; return how many."""
    oldest = (at - timedelta(days=days)).strftime(TIME_FORMAT)
    old = [file for file in directory.glob(NAME_PATTERN) if file.name < oldest]
    for file in old:
        file.unlink()
        get_digest_file(file).unlink(missing_ok=True)
    return len(old)


def restore_backup(
    file: Path, database: Path, *, force: bool, at: datetime
) -> Path | None:
    """Replace the database by a backup; return the path of the previous database.

    No other connection may be open. The caller migrates and checks the ledger.
    """
    check_digest(file)
    check_integrity(file)
    check_migrations(file)
    if not force and (count := count_accounts(database)):
        raise BackupError(
            reason=f"The database holds {count} account(s): add --force to replace it."
            " It is kept beside the new one"
        )
    kept = database.with_name(f"{database.name}.before-{at.strftime(TIME_FORMAT)}")
    with write_aside(database) as partial:
        with closing(connect(file, "ro")) as source, closing(connect(partial)) as copy:
            source.backup(copy)
        if not database.exists():
            return None
        ensure_unused(database)
        # At each moment there is a complete database at the path.
        os.link(database, kept)
    return kept


@contextmanager
def write_aside(file: Path) -> Iterator[Path]:
    """Yield the path of a private file that replaces `file` at the end of the block."""
    partial = file.with_name(f"{file.name}.partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=0o600, exist_ok=False)
    try:
        yield partial
        with partial.open("rb") as content:
            os.fsync(content.fileno())
        partial.replace(file)
        directory = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    finally:
        for name in (partial.name, f"{partial.name}-wal", f"{partial.name}-shm"):
            partial.with_name(name).unlink(missing_ok=True)


def connect(file: Path, mode: str = "rw") -> sqlite3.Connection:
    """Open an existing database without waiting for other connections."""
    address = f"{file.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=0)


def check_digest(file: Path) -> None:
    """Raise InvalidBackup if the file differs from its digest, if it has one."""
    digest_file = get_digest_file(file)
    if digest_file.exists() and digest_file.read_text().split()[:1] != [
        hash_file(file)
    ]:
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


def check_migrations(file: Path) -> None:
    """Raise InvalidBackup if a newer release has written the file."""
    known = set(MigrationLoader(None).disk_migrations)
    apps = {app for app, _ in known}
    with closing(connect(file, "ro")) as copy:
        applied = set(copy.execute("SELECT app, name FROM django_migrations"))
    unknown = sorted(f"{app}.{name}" for app, name in applied - known if app in apps)
    if unknown:
        raise InvalidBackup(
            file=file,
            reason=f"a newer release has written it ({unknown[-1]}); install that one",
        )


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
        return  # no database, or a broken one: it is kept as it is


def check_ledger(file: Path) -> bool:
    """Run `check_ledger` on this database in a process of its own."""
    process = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, str(BASE_DIR / "manage.py"), "check_ledger"],
        env=os.environ
        | {
            "DATABASE_URL": f"sqlite:///{file.absolute()}",
            "SECRET_KEY": settings.SECRET_KEY,
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return process.returncode == 0


def hash_file(file: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def get_digest_file(file: Path) -> Path:
    """Return the path of the file with the digest."""
    return file.with_name(f"{file.name}.sha256")
