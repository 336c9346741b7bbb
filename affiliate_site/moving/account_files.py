"""The file of an account: JSON lines, compressed if its name ends with `.gz`.

The first line says what follows, each further line is a row, the last line has SHA-256
digests of the rows of each table and of all lines before it. Nothing in the file says
when it was written: the same rows make the same bytes.
"""

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from accounts.errors import InvalidInput
from affiliate_site.moving.account_tables import list_tables

FORMAT = "affiliate account"
VERSION = 2  # raised when stored values change their meaning; 1 had numbers of people
# Of files that are read.
MAX_LINE_BYTES = 64 * 1024**2  # of an image
MAX_ROW_BYTES = 8 * 1024**2
MAX_ROWS = 10**9
MAX_EXPANSION = 200  # bytes of lines per byte of the file; its rows pack to a tenth
MAX_ID = 2**40  # JavaScript reads 2**53
MAX_ID_SPAN = 2**34  # between the first and the last ID of a table
COMPRESSION_LEVEL = 6
GZIP_MAGIC = b"\x1f\x8b"
OTHER_RELEASE = (
    "another release wrote it; bring both installations to the same one and export it again"
)
IMAGES = "images"  # the last table: files of creatives


class InvalidAccountFile(InvalidInput):
    """The file of an account cannot be read, or not into this installation."""

    message = "{file}: {reason}"


class TableSize(NamedTuple):
    """How many rows a table has in a file, and the first and the last of their IDs."""

    rows: int
    first_id: int
    last_id: int


def list_columns() -> dict[str, list[str]]:
    """Return the tables of a file in their order, with their columns."""
    tables = list_tables().values()
    return {it.label: list(it.columns) for it in tables} | {IMAGES: ["name", "content"]}


def serialize(data: Any) -> bytes:
    """Serialize to one line of JSON with sorted keys."""
    try:
        return _dump(data, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair, which SQLite stores in JSON
        return _dump(data, ensure_ascii=True).encode() + b"\n"


def _dump(data: Any, **options: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), **options)


class Digests:
    """Digests of the lines of a file."""

    def __init__(self) -> None:
        self.whole = hashlib.sha256()
        self.tables: dict[str, Any] = {}

    def add(self, line: bytes, table: str = "") -> None:
        """Add a line, which may be a row of a table."""
        self.whole.update(line)
        if table:
            self.tables.setdefault(table, hashlib.sha256()).update(line)

    def serialize(self) -> dict[str, Any]:
        """Return the last line of the file."""
        tables = {name: it.hexdigest() for name, it in self.tables.items()}
        return {"sha256": {"all": self.whole.hexdigest(), "tables": tables}}


@contextmanager
def create_file(path: Path) -> Iterator[BinaryIO]:
    """Create a file that only its owner reads; it is removed if the block fails.

    Raises `FileExistsError`.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.suffix == ".gz":
                with gzip.GzipFile("", "wb", COMPRESSION_LEVEL, file, mtime=0) as part:
                    yield part  # type: ignore[misc]
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


class AccountFileReader:
    """Reads the file of an account, and checks its form; rows are not interpreted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        with closing(self._read_lines()) as lines:
            manifest = self._parse(next(lines, b""))
        self._check_release(manifest)
        try:
            self.slug, self.plan = manifest["account"]["slug"], manifest["plan"]
            self.sizes = {it["table"]: TableSize(*it["ids"]) for it in manifest["tables"]}
            columns = {it["table"]: it["columns"] for it in manifest["tables"]}
        except (KeyError, TypeError) as error:
            raise self.build_error("it is incomplete") from error
        expected = list_columns()
        for table in {**columns, **expected}:
            self._check_columns(table, columns, expected)
        for table, size in self.sizes.items():
            if any(type(it) is not int or not 0 <= it < MAX_ID for it in size):
                raise self.build_error("numbers of rows and IDs are no whole numbers")
            if size.rows > MAX_ROWS or size.last_id - size.first_id >= MAX_ID_SPAN:
                raise self.build_error(f"too many rows or IDs in {table}")

    def build_error(self, reason: str) -> InvalidAccountFile:
        return InvalidAccountFile(file=self.path.name, reason=f"line {self.number}: {reason}")

    def read_rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield table and values of each row; check counts, order and digests."""
        lines, digests = self._read_lines(), Digests()
        digests.add(next(lines, b""))
        for table, size in self.sizes.items():
            last_id = 0
            for number in range(1, size.rows + 1):
                line = next(lines, b"")
                row = self._parse(line, MAX_ROW_BYTES if table != IMAGES else None)
                if row.get("table") != table or type(row.get("row")) is not dict:
                    raise self.build_error(f"a row of {table} expected")
                digests.add(line, table)
                values = row["row"]
                if table != IMAGES:
                    last_id = self._check_id(values.get("id"), number, last_id, size)
                yield table, values
        if self._parse(next(lines, b"")) != digests.serialize():
            raise self.build_error("the digests differ: the file was changed")
        if next(lines, b""):
            raise self.build_error("the file goes on after its last line")

    def _check_id(self, row_id: Any, number: int, before: int, size: TableSize) -> int:
        """Return the ID of a row; they ascend from the first to the last of a table."""
        if type(row_id) is not int or not before < row_id <= size.last_id:
            raise self.build_error("the ID does not follow the one before")
        is_first, is_last = row_id == size.first_id, row_id == size.last_id
        if is_first != (number == 1) or is_last != (number == size.rows):
            raise self.build_error("the first line names other IDs")
        return row_id

    def _read_lines(self) -> Generator[bytes]:
        self.number = 0
        try:
            with self.path.open("rb") as raw:
                is_packed = raw.read(2) == GZIP_MAGIC
                raw.seek(0)
                file: Any = gzip.GzipFile(fileobj=raw) if is_packed else raw
                rest = self.path.stat().st_size * MAX_EXPANSION + MAX_ROW_BYTES
                while line := file.readline(min(rest, MAX_LINE_BYTES) + 1):
                    self.number += 1
                    rest -= len(line)
                    if rest < 0:
                        raise self.build_error("it unpacks to far more than its size")
                    if len(line) > MAX_LINE_BYTES:
                        raise self.build_error(f"longer than {MAX_LINE_BYTES} bytes")
                    yield line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.build_error("the file is damaged or not complete") from error

    def _parse(self, line: bytes, max_bytes: int | None = MAX_ROW_BYTES) -> dict[str, Any]:
        if max_bytes is not None and len(line) > max_bytes:
            raise self.build_error(f"longer than {max_bytes} bytes")
        if not line.endswith(b"\n"):
            raise self.build_error("the file ends too early")
        try:
            data = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise self.build_error("it is not JSON") from error
        if type(data) is not dict:
            raise self.build_error("it is not a JSON object")
        return data

    def _check_release(self, manifest: dict[str, Any]) -> None:
        if manifest.get("format") != FORMAT:
            raise self.build_error("this is not the file of an account")
        if manifest.get("version") != VERSION:
            raise self.build_error(
                f"its format is {manifest.get('version')!r} and not {VERSION}: {OTHER_RELEASE}"
            )

    def _check_columns(
        self, table: str, found: dict[str, Any], expected: dict[str, list[str]]
    ) -> None:
        if table not in expected or table not in found:
            state = "missing" if table in expected else "unknown"
            raise self.build_error(f"table {table} is {state}: {OTHER_RELEASE}")
        if found[table] != expected[table]:
            other = sorted(set(map(str, found[table])) ^ set(expected[table]))
            differing = ", ".join(other)
            raise self.build_error(f"columns of {table} differ ({differing}): {OTHER_RELEASE}")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
