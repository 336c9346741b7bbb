"""reliability.md, T26: the rows of the CSV for a spreadsheet, and nothing lost."""

import io
import re
from datetime import UTC, datetime
from decimal import Decimal
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html

from accounts.models.keys import Role
from affiliate_site.backoffice import spreadsheets
from affiliate_site.backoffice.exports import defused
from tests.affiliate_site.backoffice.test_exports import exported
from tests.shop import SOLD, Shop

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
ESCAPED = re.compile("_x([0-9A-F]{4})_")


def address(page):
    return reverse(f"admin:{page}_export_xlsx")


def sheet_of(content):
    """The cells of the only sheet, line by line, each as its type and text."""
    with ZipFile(io.BytesIO(content)) as parts:
        assert not [name for name in parts.namelist() if "externalLink" in name]
        tree = ElementTree.fromstring(parts.read("xl/worksheets/sheet1.xml"))  # noqa: S314 - our own
    assert not list(tree.iter(f"{MAIN}f"))
    assert not list(tree.iter(f"{MAIN}hyperlink"))
    return [
        [(cell.get("t", "n"), text(cell)) for cell in line.iter(f"{MAIN}c")]
        for line in tree.iter(f"{MAIN}row")
    ]


def text(cell):
    """As a spreadsheet reads it back."""
    held = "".join(part.text or "" for part in cell.iter() if part.tag != f"{MAIN}c")
    return ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), held)


def downloaded(client, page, **filters):
    answer = client.get(address(page), filters)
    assert answer.status_code == 200
    assert answer["Content-Type"] == spreadsheets.XLSX
    return sheet_of(b"".join(answer.streaming_content))


def texts(sheet):
    return [[held for _, held in line] for line in sheet]


def written(*values):
    """A sheet with these values, one below the other."""
    held = io.BytesIO()
    with spreadsheets.Workbook(held, spreadsheets.PLAIN) as book:
        sheet = book.add_worksheet()
        for line, value in enumerate(values):
            spreadsheets.write_line(sheet, line, [value], ["Value"])
    return [line[0] for line in sheet_of(held.getvalue())]


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
        "\x00\x01\x08\x0b\x1f",
        "caf\u00e9 \U0001f4a1",
        None,
        True,
        datetime(2026, 3, 4, 9, 15, tzinfo=UTC),
        format_html("<a href='/x'>{}</a>", "a<b"),
    ],
    ids=repr,
)
def test_writes_texts_as_the_csv_does(value):
    assert written(value) == [("inlineStr", defused(value))]


@pytest.mark.parametrize(
    "value",
    [
        *(0, 7, -3, 10**15, 123456789012345, Decimal("20.50"), Decimal("0.01")),
        *(Decimal("-1234567890.12345"), Decimal(0), Decimal("1E+20")),
    ],
)
def test_writes_numbers_to_the_digit(value):
    ((kind, held),) = written(value)

    assert (kind, Decimal(held)) == ("n", value)


@pytest.mark.parametrize(
    "value",
    [2**53 + 1, 1234567890123456, Decimal("0.1234567890123456789"), -(10**30) - 1],
)
def test_writes_a_number_as_a_text_that_would_lose_digits(value):
    assert written(value) == [("inlineStr", defused(value))]


@pytest.mark.parametrize("value", ["<r>x</r>", "<r></c></row></r>", "<r>"])
def test_takes_no_markup_from_a_text(value):
    assert written(value, "after") == [
        ("inlineStr", f"'{value}"),
        ("inlineStr", "after"),
    ]


def test_replaces_what_xml_cannot_hold():
    assert written("a\ufffeb\uffffc") == [("inlineStr", "a\ufffdb\ufffdc")]


def test_holds_the_same_as_the_csv(staff, shop):
    for number in range(55):
        shop.sell("10", external_id=f"=order-{number}", at=SOLD)
    client = staff()

    for page in ("tracking_conversion", "payouts_commission", "tracking_customer"):
        assert texts(downloaded(client, page)) == exported(client, page)


def test_keeps_the_filters_of_the_list(staff, shop):
    sale = shop.sell("10", external_id="order-1", at=SOLD)
    shop.sell("10", external_id="order-2", at=SOLD)
    client = staff(role=Role.VIEWER)

    sheet = downloaded(client, "tracking_conversion", q="order-1")

    assert len(sheet) == 2
    assert sheet[1][:2] == [("n", str(sale.pk)), ("inlineStr", "order-1")]
    page = client.get(reverse("admin:tracking_conversion_changelist"), {"q": "order-1"})
    for link in ("export/?q=order-1", "export/xlsx/?q=order-1"):
        assert f'href="{link}"' in page.content.decode()


def refused(client, page, **filters):
    """Where it leads back to, and what is told there."""
    answer = client.get(address(page), filters, follow=True)
    ((back, status),) = answer.redirect_chain
    assert status == 302
    return back, [str(message) for message in answer.context["messages"]]


def test_cuts_no_text(staff, shop, account, monkeypatch):
    """A cell holds 32,767 UTF-16 units: the list is had as CSV then, whole."""
    client = staff()
    longest = spreadsheets.LONGEST_TEXT
    assert written("x" * longest) == [("inlineStr", "x" * longest)]

    for long in ("x" * (longest + 1), "\U0001f4a1" * (longest // 2 + 1)):
        with pytest.raises(spreadsheets.TooMuch, match="Value in row 1 has more than"):
            written(long)
    account.notes.create(affiliate=shop.mina.affiliate, note="long")
    told_at_length = {"long": "x" * (longest + 1)}
    monkeypatch.setattr(
        spreadsheets,
        "defused",
        lambda value: told_at_length.get(value) or defused(value),
    )

    told = refused(client, "tracking_note", q="minakessler")

    where = reverse("admin:tracking_note_changelist")
    assert told == (
        f"{where}?q=minakessler",
        [
            "Note in row 2 has more than 32,767 characters, which no spreadsheet"
            " holds: take the CSV."
        ],
    )


def test_refuses_more_rows_than_a_sheet_has(staff, shop, monkeypatch):
    for number in range(3):
        shop.sell("10", external_id=f"order-{number}", at=SOLD)
    client = staff()
    monkeypatch.setattr(spreadsheets, "MOST_ROWS", 3)
    assert len(downloaded(client, "tracking_conversion")) == 4
    monkeypatch.setattr(spreadsheets, "MOST_ROWS", 2)

    _, told = refused(client, "tracking_conversion")

    assert told == [
        "A spreadsheet holds 2 rows, and these are more: narrow the list by its"
        " filters, or take the CSV."
    ]
    assert len(downloaded(client, "tracking_conversion", q="order-1")) == 2


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda it: it._meta.label)
def test_holds_nothing_of_another_account(staff, shop, other_account, model):
    theirs = Shop(other_account, mark="zz-marker-", email=None)
    theirs.sell("10", customer_id="zz-marker", external_id="zz-marker")

    for role in Role.values:
        page = f"{model._meta.app_label}_{model._meta.model_name}"
        assert "zz-marker" not in str(downloaded(staff(role=role), page))


def test_is_nothing_for_a_stranger(client, db):
    assert client.get(address("payouts_commission")).status_code == 302
