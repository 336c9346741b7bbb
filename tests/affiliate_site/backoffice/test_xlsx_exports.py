"""XLSX exports: the rows of the CSV export, without loss.

See docs/reliability.md, section 9.
"""

import io
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
from django.urls import reverse
from django.utils.html import format_html

from accounts.models.api_keys import Role
from affiliate_site import workbooks
from affiliate_site.backoffice.lists import exports
from affiliate_site.cells import format_cell
from affiliate_site.downloads import CONTENT_TYPES
from tests.affiliate_site.backoffice.test_exports import export_csv
from tests.program_scenario import CONVERSION_CREATED_AT

pytestmark = pytest.mark.engine_independent  # cells, of rows that other tests export

NAMESPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
SERIAL_EPOCH = datetime(1899, 12, 30, tzinfo=UTC)  # day 0 of a spreadsheet
ESCAPE_PATTERN = re.compile("_x([0-9A-F]{4})_")


def get_export_url(page):
    return reverse(f"admin:{page}_export_xlsx")


def parse_sheet(content):
    """The rows of the only sheet; each cell as its type and text."""
    with ZipFile(io.BytesIO(content)) as parts:
        assert not [name for name in parts.namelist() if "externalLink" in name]
        tree = ElementTree.fromstring(parts.read("xl/worksheets/sheet1.xml"))  # noqa: S314 - own content
    assert not list(tree.iter(f"{NAMESPACE}f"))
    assert not list(tree.iter(f"{NAMESPACE}hyperlink"))
    return [
        [(cell.get("t", "n"), unescape_text(cell)) for cell in line.iter(f"{NAMESPACE}c")]
        for line in tree.iter(f"{NAMESPACE}row")
    ]


def unescape_text(cell):
    """The text of a cell as a spreadsheet reads it."""
    text = "".join(part.text or "" for part in cell.iter() if part.tag != f"{NAMESPACE}c")
    return ESCAPE_PATTERN.sub(lambda found: chr(int(found.group(1), 16)), text)


def download_sheet(client, page, **filters):
    response = client.get(get_export_url(page), filters)
    assert response.status_code == 200
    assert response["Content-Type"] == CONTENT_TYPES["xlsx"]
    return parse_sheet(response.getvalue())


def write_sheet(*values):
    """A sheet with these values, one below the other."""
    text = io.BytesIO()
    with workbooks.Workbook(text, workbooks.WORKBOOK_OPTIONS) as book:
        sheet = book.add_worksheet()
        for line, value in enumerate(values):
            workbooks.write_row(
                sheet,
                line,
                [value],
                [exports.ExportColumn("Value", ("value",))],
                workbooks.NumberFormats(book),
            )
    return [line[0] for line in parse_sheet(text.getvalue())]


@pytest.mark.parametrize(
    "value",
    [
        "=1+1",
        "@SUM(A1)",
        "{=1+1}",
        "-2+3",
        " =1",
        "\t=1",
        "https://x.example/?a=1",
        "mailto:mina@example.org",
        "internal:Sheet1!A1",
        "12",
        "-12.50",
        "007",
        "1e5",
        "True",
        "NaN",
        " two  blanks ",
        "<b>&\"'",
        "one\ntwo",
        "_x0041_",
        "|calc",
        "\x00\x01\x08\x0b\x1f",
        "caf\u00e9 \U0001f4a1",
        None,
        True,
        format_html("<a href='/x'>{}</a>", "a<b"),
    ],
    ids=repr,
)
def test_writes_texts_as_in_the_csv(value):
    assert write_sheet(value) == [("inlineStr", format_cell(value))]


@pytest.mark.parametrize(
    "value",
    [
        *(0, 7, -3, 10**15, 123456789012345, Decimal("20.50"), Decimal("0.01")),
        *(Decimal("-1234567890.12345"), Decimal(0), Decimal("1E+20")),
    ],
)
def test_writes_numbers_exactly(value):
    ((kind, text),) = write_sheet(value)

    assert (kind, Decimal(text)) == ("n", value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("77.9900"), "77.99"),
        (Decimal("77.32"), "77.32"),
        (Decimal("100.00"), "100"),
        (12, "12"),
    ],
)
def test_stores_no_rounding_errors_of_floats(value, text):
    assert write_sheet(value) == [("n", text)]


@pytest.mark.parametrize(
    "value",
    [2**53 + 1, 1234567890123456, Decimal("0.1234567890123456789"), -(10**30) - 1],
)
def test_writes_numbers_as_text_that_would_lose_digits(value):
    assert write_sheet(value) == [("inlineStr", format_cell(value))]


@pytest.mark.parametrize(
    ("value", "serial"),
    [(datetime(2026, 3, 4, 12, 0, tzinfo=UTC), "46085.5"), (date(2026, 3, 4), "46085")],
)
def test_writes_real_dates(value, serial):
    assert write_sheet(value) == [("n", serial)]


def test_writes_amounts_as_numbers_with_a_column_of_currencies(staff_client, scenario):
    scenario.create_conversion("1249.90", currency="EUR")
    scenario.create_conversion("77", currency="JPY")

    titles, yen, euro = download_sheet(staff_client(), "tracking_conversion")

    index = [text for _, text in titles].index("Amount")
    assert titles[index + 1] == ("inlineStr", "Amount: currency")
    assert yen[index : index + 2] == [("n", "77"), ("inlineStr", "JPY")]
    assert euro[index : index + 2] == [("n", "1249.9"), ("inlineStr", "EUR")]


def test_writes_a_line_of_numbers_for_each_currency(staff_client, scenario, time_machine):
    time_machine.move_to(CONVERSION_CREATED_AT)
    scenario.create_conversion("10.50", currency="EUR")
    scenario.create_conversion("77", currency="JPY")

    titles, *rows = download_sheet(staff_client(), "tracking_affiliate")

    index = [text for _, text in titles].index("Revenue, 30 days")
    assert [row[index : index + 2] for row in rows if row[0][1] == "minakessler"] == [
        [("n", "10.5"), ("inlineStr", "EUR")],
        [("n", "77"), ("inlineStr", "JPY")],
    ]


@pytest.mark.parametrize("value", ["<r>x</r>", "<r></c></row></r>", "<r>"])
def test_escapes_markup_of_the_writer(value):
    assert write_sheet(value, "after") == [
        ("inlineStr", f"'{value}"),
        ("inlineStr", "after"),
    ]


def test_replaces_characters_not_allowed_in_xml():
    assert write_sheet("a\ufffeb\uffffc") == [("inlineStr", "a\ufffdb\ufffdc")]


def test_contains_the_same_cells_as_the_csv(staff_client, scenario):
    for number in range(55):
        scenario.create_conversion("10", external_id=f"=order-{number}", at=CONVERSION_CREATED_AT)
    client = staff_client()

    for page in ("tracking_conversion", "payouts_commission", "tracking_customer"):
        sheet = download_sheet(client, page)
        titles = [text for _, text in sheet[0]]
        assert [
            [to_csv_text(title, *cell) for title, cell in zip(titles, row, strict=True)]
            for row in sheet
        ] == export_csv(client, page)


def to_csv_text(title, kind, text):
    """The text of a cell in the CSV file: times are numbers here."""
    if kind == "n" and title.endswith("(UTC)"):
        at = SERIAL_EPOCH + timedelta(days=float(text))
        return f"{at + timedelta(milliseconds=5):%Y-%m-%dT%H:%M:%SZ}"
    return text


def test_applies_filters(staff_client, scenario):
    conversion = scenario.create_conversion("10", external_id="order-1", at=CONVERSION_CREATED_AT)
    scenario.create_conversion("10", external_id="order-2", at=CONVERSION_CREATED_AT)
    client = staff_client(role=Role.VIEWER)

    sheet = download_sheet(client, "tracking_conversion", q="order-1")

    assert len(sheet) == 2
    assert sheet[1][:2] == [("n", str(conversion.pk)), ("inlineStr", "order-1")]
    page = client.get(reverse("admin:tracking_conversion_changelist"), {"q": "order-1"})
    for link in ("export/?q=order-1", "export/xlsx/?q=order-1"):
        assert f'href="{link}"' in page.content.decode()


def get_rejection(client, page, **filters):
    """The URL of the redirect, and the messages there."""
    response = client.get(get_export_url(page), filters, follow=True)
    ((url, status),) = response.redirect_chain
    assert status == 302
    return url, [str(message) for message in response.context["messages"]]


def test_rejects_texts_that_are_too_long(staff_client, scenario, account, monkeypatch):
    """A cell holds at most 32,767 UTF-16 code units."""
    client = staff_client()
    max_length = workbooks.MAX_CELL_LENGTH
    assert write_sheet("x" * max_length) == [("inlineStr", "x" * max_length)]

    for text in ("x" * (max_length + 1), "\U0001f4a1" * (max_length // 2 + 1)):
        with pytest.raises(workbooks.ExportTooLarge, match="Value in row 1 is longer than"):
            write_sheet(text)
    account.notes.create(affiliate=scenario.mina.affiliate, note="long")
    texts = {"long": "x" * (max_length + 1)}
    monkeypatch.setattr(
        workbooks,
        "format_cell",
        lambda value: texts.get(value) or format_cell(value),
    )

    messages = get_rejection(client, "tracking_note", q="minakessler")

    url = reverse("admin:tracking_note_changelist")
    assert messages == (
        f"{url}?q=minakessler",
        [
            "Note in row 2 is longer than 32,767 characters, the limit of an Excel"
            " cell. Export as CSV instead."
        ],
    )


def test_rejects_too_many_rows(staff_client, scenario, monkeypatch):
    for number in range(3):
        scenario.create_conversion("10", external_id=f"order-{number}", at=CONVERSION_CREATED_AT)
    client = staff_client()
    monkeypatch.setattr(workbooks, "MAX_ROWS", 3)
    assert len(download_sheet(client, "tracking_conversion")) == 4
    monkeypatch.setattr(workbooks, "MAX_ROWS", 2)

    _, messages = get_rejection(client, "tracking_conversion")

    assert messages == ["Excel exports hold at most 2 rows. Filter the list, or export as CSV."]
    assert len(download_sheet(client, "tracking_conversion", q="order-1")) == 2
