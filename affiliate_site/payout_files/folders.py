"""Payout files in a folder: private, and there only if their payments are stored."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from affiliate_site.env import open_private_file
from affiliate_site.payout_files.writing import WrittenFile


@contextmanager
def write_into_folder(directory: Path) -> Iterator[Callable[[WrittenFile], Path]]:
    """Yield a function that writes a file, and returns the path that it will have.

    The files get their names at the end of the block. An error in it, such as one of a
    transaction, leaves none. Raises OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written: dict[Path, Path] = {}

    def write(file: WrittenFile) -> Path:
        path = directory / file.name
        partial = path.with_name(f".{path.name}.partial")
        partial.unlink(missing_ok=True)  # of a process that was killed
        written[partial] = path
        with open(partial, "xb", opener=open_private_file) as stream:
            stream.write(file.content)
            stream.flush()
            os.fsync(stream.fileno())
        return path

    try:
        yield write
        for partial, path in written.items():
            partial.replace(path)
    finally:
        for partial in written:
            partial.unlink(missing_ok=True)
