"""Test databases as copies of one that has all migrations.

Applying them takes seconds of each process that runs tests.
"""

import fcntl
import hashlib
import shutil

from django.db import connection
from django.test.utils import setup_databases

from tests.architecture.syntax_trees import PACKAGES
from tests.command_line import ROOT

FOLDER = ROOT / ".pytest_cache" / "migrated"


def create_test_databases():
    """Return what `teardown_databases` needs."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    template = SQLiteTemplate() if connection.vendor == "sqlite" else Template()
    # One process applies the migrations; those that start beside it wait for its copy.
    with (FOLDER / f"{connection.vendor}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_migrated = template.has_digest()
        name = connection.creation._get_test_db_name()
        if is_migrated:
            template.copy(template.name, name)
        # Django applies what is missing: nothing in a copy.
        old_config = setup_databases(verbosity=0, interactive=False, keepdb=is_migrated)
        if not is_migrated:
            connection.close()
            template.copy(name, template.name)
            template.save_digest()
    return old_config


def calculate_digest() -> str:
    """Return the digest of all files that a new database depends on."""
    digest = hashlib.sha256()
    sources = (path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
    for path in [ROOT / "requirements-dev.txt", *sorted(sources)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


class Template:
    """A database of the server; its comment is the digest."""

    def __init__(self) -> None:
        # Each checkout has its own: they may run at the same time.
        checkout = hashlib.sha256(bytes(ROOT)).hexdigest()[:8]
        self.name = f"test_{checkout}_migrated"
        self.digest = calculate_digest()

    def copy(self, source: str, target: str) -> None:
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{target}"')
            cursor.execute(f'CREATE DATABASE "{target}" TEMPLATE "{source}"')

    def has_digest(self) -> bool:
        query = """SELECT 1 FROM pg_database
            WHERE datname = %s AND shobj_description(oid, 'pg_database') = %s"""
        with connection._nodb_cursor() as cursor:
            return bool(cursor.execute(query, [self.name, self.digest]).fetchone())

    def save_digest(self) -> None:
        with connection._nodb_cursor() as cursor:
            cursor.execute(f"COMMENT ON DATABASE \"{self.name}\" IS '{self.digest}'")


class SQLiteTemplate(Template):
    """A file, and another one with the digest."""

    def __init__(self) -> None:
        self.name = FOLDER / "migrated.sqlite3"
        self.digest = calculate_digest()

    def copy(self, source: str, target: str) -> None:
        if target == self.name:
            (FOLDER / "digest").unlink(missing_ok=True)  # until the copy is whole
        shutil.copyfile(source, target)

    def has_digest(self) -> bool:
        path = FOLDER / "digest"
        return path.exists() and path.read_text() == self.digest

    def save_digest(self) -> None:
        (FOLDER / "digest").write_text(self.digest)
