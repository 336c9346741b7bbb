"""Tables that are made to fill memory, read in a process with limits."""

import io
import sys
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from affiliate_site.moving.tables import limited
from affiliate_site.moving.tables.files import (
    CellError,
    ReadTable,
    TableRow,
    UnreadableTable,
    read_table,
)
from affiliate_site.moving.tables.limited import (
    COMMAND_LIMITS,
    PAGE_LIMITS,
    dump_table,
    load_table,
    read_foreign_table,
)
from affiliate_site.moving.tables.uploads import decode_again
from tests.affiliate_site.moving.tables.test_files import (
    SHEET,
    STRINGS,
    build_xlsx,
    replace_part,
)

SMALL = replace(PAGE_LIMITS, memory_bytes=128 * 2**20)
TABLE = ReadTable(
    ["ID", "Name"],
    [
        TableRow(2, ["1", Decimal("1.50")]),
        TableRow(3, [datetime(2026, 3, 4, tzinfo=UTC), CellError("formula", "=1")]),
        TableRow(4, [None, True], CellError("wrong_number_of_cells", "3"), ["a"] * 3),
    ],
    notes=["Only the first sheet was read."],
)


def fill(part, before, piece, count):
    """A workbook of which one part has something too often."""
    data = build_xlsx(["ID", "Name"], ["1", "x"])
    changed = replace_part(data, part, lambda xml: xml.replace(before, piece * count + before, 1))
    assert len(changed) > len(data)
    return changed


def test_keep_a_table_as_bytes():
    assert load_table(dump_table(TABLE)) == TABLE


@pytest.mark.parametrize("name", ["people.csv", "Zoë\x00\n.csv"])
def test_read_a_table_like_the_reader_itself(name):
    data = "ID,Name\n1,Zoë\n2,=1\n3\n".encode()
    for limits in (PAGE_LIMITS, COMMAND_LIMITS):
        assert read_foreign_table(data, name, limits) == read_table(data, name)


def test_pass_on_why_a_file_is_no_table():
    with pytest.raises(UnreadableTable, match="has a header, but no rows"):
        read_foreign_table(b"ID,Name\n", "people.csv", PAGE_LIMITS)


@pytest.mark.parametrize(
    ("part", "before", "piece"),
    [
        (SHEET, b"</row></sheetData>", b"<c/>"),
        (STRINGS, b"</sst>", b"<si><t>a</t></si>"),
        ("xl/styles.xml", b"</cellXfs>", b'<xf numFmtId="0"/>'),
        ("xl/workbook.xml", b"<calcPr", b'<definedName name="a">A1</definedName>'),
    ],
)
def test_read_no_workbook_beyond_the_limits(part, before, piece):
    data = fill(part, before, piece, 3_000_000)
    tracemalloc.start()
    with pytest.raises(UnreadableTable, match="run the command import_table"):
        read_foreign_table(data, "people.xlsx", SMALL)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * len(data) + 1_000_000


@pytest.mark.parametrize(
    "limits",
    [
        replace(PAGE_LIMITS, memory_bytes=2**20),
        replace(PAGE_LIMITS, cpu_seconds=0),
        replace(PAGE_LIMITS, table_bytes=10),
    ],
)
def test_hold_each_limit(limits):
    with pytest.raises(UnreadableTable, match="too much memory or time"):
        read_foreign_table(b"ID,Name\n" + b"1,x\n" * 90_000, "people.csv", limits)


def test_read_one_table_after_the_other(monkeypatch):
    monkeypatch.setattr(limited, "LOCK_SECONDS", 0)
    with (
        limited.one_reader,
        pytest.raises(UnreadableTable, match="Another table is being read"),
    ):
        read_foreign_table(b"ID,Name\n1,x\n", "people.csv", PAGE_LIMITS)


def test_let_one_thread_wait(monkeypatch):
    """The others serve the pages of all accounts."""
    monkeypatch.setattr(limited, "LOCK_SECONDS", 60)
    with (
        limited.one_reader,
        limited.one_waiting,
        pytest.raises(UnreadableTable, match="Another table is being read"),
    ):
        read_foreign_table(b"ID,Name\n1,x\n", "people.csv", PAGE_LIMITS)
    assert read_foreign_table(b"ID,Name\n1,x\n", "people.csv", PAGE_LIMITS).rows
    with limited.one_reader:
        monkeypatch.setattr(limited, "LOCK_SECONDS", 0)
        assert not limited.acquire_reader()
    assert limited.one_waiting.acquire(blocking=False)
    limited.one_waiting.release()


def test_give_the_process_no_secret(monkeypatch):
    seen = {}

    def run(*args, **options):
        seen.update(options)
        raise OSError

    monkeypatch.setattr(limited.subprocess, "run", run)
    with pytest.raises(UnreadableTable):
        read_foreign_table(b"", "a.csv", PAGE_LIMITS)
    assert seen["env"] == {"PYTHONUTF8": "1"}
    assert seen["timeout"] == PAGE_LIMITS.cpu_seconds + limited.EXTRA_SECONDS
    assert limited.one_reader.acquire(timeout=0)
    limited.one_reader.release()


@pytest.mark.parametrize(("argument", "output"), [(10**6, b'{"header":["ID","N"]'), (1, b"")])
def test_write_the_table(argument, output, monkeypatch):
    monkeypatch.setattr(limited.resource, "setrlimit", lambda *args: None)
    monkeypatch.setattr(sys, "argv", ["limited", "1", "1", str(argument)])
    stdin, stdout = io.BytesIO(b'"a.csv"\nID,N\n1,2\n'), io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stdout))
    if output:
        limited.main()
        assert stdout.getvalue().startswith(output)
    else:
        with pytest.raises(SystemExit):
            limited.main()


def test_stop_at_the_last_row_of_a_workbook():
    data = fill(SHEET, b"</sheetData>", b"<row/>", 3_000_000)
    assert len(read_foreign_table(data, "people.xlsx", SMALL).rows) == 1


def test_empty_rows_take_no_memory():
    data = b"ID,Name\n1,x\n" + b"\n" * 500_000
    tracemalloc.start()
    assert len(read_table(data, "people.csv").rows) == 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(data)


def test_decode_again_what_was_guessed():
    data = 'ID;Имя;B\n1;Зоя;"=1"\n2;Я\n'.encode("cp1251")
    table = read_table(data, "people.csv")
    again = decode_again(table, "cp1251")
    assert again.header == ["ID", "Имя", "B"]
    assert again.rows[0].cells == ["1", "Зоя", CellError("formula", "=1")]
    assert again.rows[1].raw == ["2", "Я"]
    assert (again.encoding, again.notes) == ("cp1251", [])
    assert decode_again(again, "cp1250") is again
    assert decode_again(table, "") is table
