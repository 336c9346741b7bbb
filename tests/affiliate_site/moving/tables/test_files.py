"""CSV and XLSX files as tables; what is no table is refused with what to do."""

import io
import zipfile
from contextlib import suppress
from datetime import datetime
from decimal import Decimal

import pytest
from xlsxwriter import Workbook

from affiliate_site.cells import format_csv_line
from affiliate_site.moving.tables import files
from affiliate_site.moving.tables.files import (
    CellError,
    UnreadableTable,
    read_table,
)

DAY = datetime(2026, 3, 4, 9, 15)  # noqa: DTZ001 - spreadsheets know no zones
ROWS = "ID;Name\r\n1;Zoë Łuczak\r\n"


def build_xlsx(*rows, sheets=("Sheet1",), values=None):
    """A workbook; a text that begins with `=` is a formula with one of the values."""
    out = io.BytesIO()
    with Workbook(out, {"default_date_format": "yyyy-mm-dd"}) as book:
        first, *_ = [book.add_worksheet(name) for name in sheets]
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                if isinstance(cell, str) and cell.startswith("="):
                    value = (values or {}).get(cell, "")
                    first.write_formula(number, column, cell, None, value)
                else:
                    first.write(number, column, cell)
    return out.getvalue()


def replace_part(data, name, change):
    """A workbook in which the text of one part is another."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for each in old.namelist():
            content = old.read(each)
            new.writestr(each, change(content) if each == name else content)
    return out.getvalue()


def read_rows(data, name="people.csv"):
    table = read_table(data, name)
    return [list(row.cells) for row in table.rows]


def refuse(data, name="people.csv"):
    with pytest.raises(UnreadableTable) as error:
        read_table(data, name)
    return error.value.text


@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16"),
        ("utf-16-be", "utf-16"),
    ],
)
def test_read_every_encoding_of_spreadsheets(encoding, found):
    marks = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
    table = read_table(marks.get(encoding, b"") + ROWS.encode(encoding), "people.csv")
    assert table.encoding == found
    assert table.rows[0].cells == ["1", "Zoë Łuczak"]
    assert table.notes == []


def test_name_an_encoding_that_was_not_said():
    table = read_table("ID;Name\n1;Zoë Müller\n".encode("cp1252"), "people.csv")
    assert table.encoding == "cp1252"
    assert table.rows[0].cells == ["1", "Zoë Müller"]
    assert "Windows-1252" in table.notes[0]


@pytest.mark.parametrize(("delimiter", "name"), [*files.DELIMITERS.items()], ids=str)
def test_find_the_delimiter(delimiter, name):
    text = f'ID{delimiter}"Name, first"\n1{delimiter}"a{delimiter}b"\n'
    table = read_table(text.encode(), "people.csv")
    assert table.delimiter == name
    assert table.header == ["ID", "Name, first"]
    assert table.rows[0].cells == ["1", f"a{delimiter}b"]


def test_follow_the_delimiter_that_a_spreadsheet_names():
    table = read_table(b"sep=|\nID|Name\n1|Kim\n", "people.csv")
    assert table.header == ["ID", "Name"]
    assert table.rows[0].number == 3


def test_number_rows_as_a_spreadsheet_does():
    text = 'ID,Note\n\n1,"two\nlines"\n,\n2,x\n'
    table = read_table(text.encode(), "people.csv")
    assert [row.number for row in table.rows] == [3, 5]
    assert table.rows[0].cells == ["1", "two\nlines"]


def test_skip_a_title_above_the_header():
    table = read_table(b"[[AFFILIATES]]\n!USERID,!REFID\na,b\n", "people.csv")
    assert table.header == ["!USERID", "!REFID"]
    assert table.notes == ["Row 1 above the header was skipped."]


def test_mark_broken_rows():
    table = read_table(b"ID,Name\n1\n2,b,c\n3,d,,\n4,e\n", "people.csv")
    errors = [row.error and row.error.code for row in table.rows]
    assert errors == ["wrong_number_of_cells"] * 2 + [None, None]


def test_read_what_our_exports_have_made_safe():
    texts = ["=1+1", "+49 170", "-x", "@kim", "a;=b", "\t=c", "plain", "it's"]
    data = format_csv_line(["ID", "Text"]) + "".join(
        format_csv_line([number, text]) for number, text in enumerate(texts)
    )
    found = [row[1] for row in read_rows(data.encode())]
    assert found == texts


def test_read_no_formula():
    data = '="00123",=1+1,"=HYPERLINK(""http://a.example"")"\n'
    assert read_rows(b"a,b,c\n" + data.encode())[0] == [
        "00123",
        CellError("formula", "=1+1"),
        CellError("formula", '=HYPERLINK("http://a.example")'),
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"\n\n,,\n", "is empty"),
        (b"ID,Name\n", "no rows"),
        (b"ID,,Name\n1,2,3\n", "Column 2"),
        (b"ID,Name,id\n1,2,3\n", "two columns id"),
        (b"ID,Name\n1,a\x00b\n", "is no table"),
        (b'ID,Name\n1,"a"b\n', "broken cell in line 2"),
        (b'ID,Name\n1,"a\n', "broken cell"),
        (b"ID,Name\n1," + b"a" * 200_000, "broken cell"),
        (b"\xff\xfeI\x00D", "is damaged"),
        (b"ID,N\x81me\n1,2\n", "is no table"),
        (b"\xd0\xcf\x11\xe0" + bytes(100), "old or encrypted Excel"),
        (b"PK\x03\x04" + bytes(100), "cannot be read as .xlsx"),
        (",".join(map(str, range(300))).encode() + b"\n1\n", "more than 200 columns"),
    ],
)
def test_refuse_what_is_no_table(data, reason):
    assert reason in refuse(data)


def test_refuse_large_files(monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 2**20)
    assert "more than 1 MB" in refuse(b"a" * (2**20 + 1))
    monkeypatch.setattr(files, "MAX_ROWS", 10)
    assert "more than 10 rows" in refuse(b"ID,B\n" + b"1,2\n" * 11)
    sheet = build_xlsx(["ID", "B"], *[[1, 2]] * 11)
    assert "more than 10 rows" in refuse(sheet, "people.xlsx")


def test_read_a_workbook():
    data = build_xlsx(
        ["ID", "Amount", "Day", "Sum", "Yes"],
        ["001", 0.1, DAY, "=1+1", True],
        [None, None, None, None, None],
        [7, 1250.5, "2026-03-04", "=A1", False],
        sheets=("People", "Notes"),
        values={"=1+1": 2},
    )
    table = read_table(data, "people.xlsx")
    first, second = table.rows
    assert (first.number, second.number) == (2, 4)
    assert first.cells == ["001", Decimal("0.1"), DAY, Decimal(2), True]
    assert second.cells[:3] == [Decimal(7), Decimal("1250.5"), "2026-03-04"]
    assert second.cells[3] == CellError("formula", "=A1")
    assert table.notes == ["Only the first sheet was read, not: Notes."]


def test_mark_the_errors_of_a_workbook():
    data = build_xlsx(["ID", "Sum"], [1, "=1/0"], values={"=1/0": "#DIV/0!"})
    table = read_table(data, "people.xlsx")
    assert table.rows[0].cells[1] == CellError("cell_error", "#DIV/0!")


SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
ENTITIES = (
    b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c SYSTEM "file:///etc/hostname">]>'
)


@pytest.mark.parametrize("part", [SHEET, STRINGS, "xl/workbook.xml"])
def test_expand_no_entities(part):
    data = replace_part(
        build_xlsx(["ID", "Name"], ["1", "x"]),
        part,
        lambda xml: xml.replace(b"?>", b"?>" + ENTITIES, 1).replace(b">x<", b">&c;<"),
    )
    assert "cannot be read as .xlsx" in refuse(data, "people.xlsx")


def test_unpack_no_bombs():
    data = replace_part(
        build_xlsx(["ID", "Name"], ["1", "x"]),
        SHEET,
        lambda xml: xml + b" " * (files.MAX_UNPACKED_BYTES + 1),
    )
    assert len(data) < files.MAX_FILE_BYTES
    assert "unpacks to more than 200 MB" in refuse(data, "people.xlsx")


def test_believe_no_archive_that_lies_about_its_size():
    data = build_xlsx(["ID", "Name"], ["1", "x" * 5000])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = archive.getinfo(STRINGS).file_size
    lie = data.replace(size.to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lie != data
    assert "cannot be read as .xlsx" in refuse(lie, "people.xlsx")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'r="A2"', b'r="XFD2"'),
        (b'<row r="2"', b'<row r="1048576"'),
        (b'<dimension ref="A1:B2"/>', b'<dimension ref="A1:XFD1048576"/>'),
        (b"</sheetData>", b"<oops>"),
        (b'<c r="A2"', b'<c r="A0"'),
    ],
)
def test_survive_sheets_that_lie_about_their_size(before, after):
    data = build_xlsx(["ID", "Name"], ["1", "x"])
    changed = replace_part(data, SHEET, lambda xml: xml.replace(before, after))
    assert changed != data
    with suppress(UnreadableTable):
        table = read_table(changed, "people.xlsx")
        assert len(table.rows) == 1
        assert len(table.header) == 2


def test_take_markup_as_text():
    texts = ["<script>alert(1)</script>", "{{ 7*7 }}", "'; DROP TABLE x; --"]
    rows = [[str(number), text] for number, text in enumerate(texts)]
    data = build_xlsx(["ID", "Name"], *rows)
    assert [row[1] for row in read_rows(data, "people.xlsx")] == texts
