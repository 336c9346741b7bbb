"""Django's `collectstatic`, which collects nothing again that has not changed.

To compress all files takes 16 seconds of CPU, at each start of `make run`.
"""

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.management.commands import collectstatic
from django.core.management.base import CommandError

STAMP = ".collected"  # a fingerprint of what was collected


class Command(collectstatic.Command):
    def handle(self, **options):
        stamp = Path(settings.STATIC_ROOT) / STAMP
        fingerprint = calculate_fingerprint()
        is_default = not any(
            options[name] for name in ("clear", "dry_run", "link", "ignore_patterns")
        )
        try:
            if is_default and stamp.exists() and stamp.read_text() == fingerprint:
                return "The static files are collected already."
            stamp.unlink(missing_ok=True)
            text = super().handle(**options)
            if is_default:
                stamp.write_text(fingerprint)
        except PermissionError as error:
            raise CommandError(describe_owner(Path(error.filename))) from error
        return text


def calculate_fingerprint() -> str:
    """Return a digest of names, sizes and times of all files, and of the storage."""
    digest = hashlib.sha256(repr(settings.STORAGES["staticfiles"]).encode())
    for finder in get_finders():
        for name, storage in finder.list([]):
            found = Path(storage.path(name)).stat()
            digest.update(f"{name}\0{found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def describe_owner(path: Path) -> str:
    """Return who has to write a file that this user cannot write."""
    existing = next(each for each in (path, *path.parents) if each.exists())
    owner = existing.owner()
    return (
        f"{path} cannot be written: {existing} belongs to {owner}. Run this as {owner},"
        f" or give all to the user of the service: chown -R {settings.STATIC_ROOT}"
    )
