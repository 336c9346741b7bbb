"""Read a table of somebody else in a process with limits of memory and time.

Whatever a workbook has too much of (rows, texts, styles), only that process ends.
It knows no secret and no database. A table is read once: pages store what it returns.
"""

import json
import resource
import subprocess
import sys
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from threading import BoundedSemaphore
from typing import Any

from affiliate_site.env import BASE_DIR
from affiliate_site.moving.tables.files import (
    Cell,
    CellError,
    ReadTable,
    TableRow,
    UnreadableTable,
    read_table,
    refuse,
)

TABLE_START = b'{"header":'
LOCK_SECONDS = 1.5
EXTRA_SECONDS = 20  # of the wall over those of the processor, on a busy machine
# Pages have several threads: one after the other reads, in the memory of one, and one
# may wait for it. Others have an answer at once: they serve all accounts.
one_reader = BoundedSemaphore(1)
one_waiting = BoundedSemaphore(1)


@dataclass(frozen=True)
class ReadLimits:
    """What one reading may take; `way_out` is added to the error."""

    memory_bytes: int
    cpu_seconds: int
    table_bytes: int  # of what is returned
    way_out: str = ""


PAGE_LIMITS = ReadLimits(
    *(256 * 2**20, 10, 8 * 2**20),
    way_out=" Or ask your operator to run the command import_table.",
)
COMMAND_LIMITS = ReadLimits(2 * 2**30, 600, 400 * 2**20)


def read_foreign_table(data: bytes, file_name: str, limits: ReadLimits) -> ReadTable:
    """Read a file like `read_table`, within limits; raise `UnreadableTable`."""
    if not acquire_reader():
        raise refuse("Another table is being read: choose the file again in a minute.")
    numbers = (limits.memory_bytes, limits.cpu_seconds, limits.table_bytes)
    try:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", __name__, *map(str, numbers)],
            input=json.dumps(file_name).encode() + b"\n" + data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limits.cpu_seconds + EXTRA_SECONDS,
            cwd=BASE_DIR,
            env={"PYTHONUTF8": "1"},
            check=True,
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise refuse(
            f"{file_name} takes too much memory or time to read, or is damaged: save"
            f" only its cells, as CSV.{limits.way_out}"
        ) from error
    finally:
        one_reader.release()
    if not done.stdout.startswith(TABLE_START):
        raise refuse(json.loads(done.stdout))
    return load_table(done.stdout)


def acquire_reader() -> bool:
    """Wait shortly to be the one that reads, unless another thread waits already."""
    if one_reader.acquire(blocking=False):
        return True
    if not one_waiting.acquire(blocking=False):
        return False
    try:
        return one_reader.acquire(timeout=LOCK_SECONDS)
    finally:
        one_waiting.release()


def main() -> None:
    """Read the name and the content of a file; write the table, or why it is none."""
    memory_bytes, cpu_seconds, table_bytes = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    file_name = json.loads(sys.stdin.buffer.readline())
    try:
        output = dump_table(read_table(sys.stdin.buffer.read(), file_name))
    except UnreadableTable as error:
        output = json.dumps(error.text).encode()
    if len(output) > table_bytes:
        sys.exit(1)
    sys.stdout.buffer.write(output)


def dump_table(table: ReadTable) -> bytes:
    """Return a table as bytes, which `load_table` reads."""
    values = {field.name: getattr(table, field.name) for field in fields(table)}
    return json.dumps(values, default=dump_value, separators=(",", ":")).encode()


def dump_value(value: object) -> dict[str, str]:
    """Return what JSON has no type for; a `CellError` is a list."""
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    return {"number": str(value)}


def load_table(data: bytes) -> ReadTable:
    """Return the table of these bytes."""
    values = json.loads(data, object_hook=load_value)
    values["rows"] = [
        TableRow(
            number,
            list(map(load_cell, cells)),
            error and CellError(*error),
            list(map(load_cell, raw)) or (),
        )
        for number, cells, error, raw in values["rows"]
    ]
    return ReadTable(**values)


def load_value(value: dict[str, Any]) -> object:
    """Return what `dump_value` was given."""
    if "time" in value:
        return datetime.fromisoformat(value["time"])
    return Decimal(value["number"]) if "number" in value else value


def load_cell(value: Any) -> Cell:
    """Return a cell of a row."""
    return CellError(*value) if isinstance(value, list) else value


if __name__ == "__main__":
    main()
