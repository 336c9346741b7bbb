"""10,000 rows with 50 planted faults of 20 kinds: each is found, and nothing else."""

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest

from tests.affiliate_site.moving.tables.building import build, store
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.django_db

ROWS = 10_000
FIRST = datetime(2026, 3, 5, tzinfo=UTC)
HEADER = (
    *("External ID", "Program", "Affiliate", "Customer ID", "Amount", "Currency"),
    *("Commission", "Status", "Payment", "Created", "Deleted at"),
)
AMOUNTS = ("Amount", "Commission")
# The code, the column, and the values of cells that cause it.
FAULTS = (
    ("missing", "Affiliate", ("", "", "")),
    ("missing", "Currency", ("",)),
    ("invalid_number", "Amount", ("twelve", "12 CATS", "1.2.3")),
    ("invalid_number", "Commission", ("5.00.00",)),
    ("negative_amount", "Amount", ("-5.00", "-0.01")),
    ("too_many_decimals", "Amount", ("9.9999", "0.0001")),
    ("too_many_decimals", "Commission", ("1.99999",)),
    ("amount_too_large", "Amount", ("99999999999999.00",)),
    ("invalid_date", "Created", ("2026-02-30", "March 2026", "2026-13-01")),
    ("date_out_of_range", "Created", ("2031-01-01",)),
    ("date_out_of_range", "Created", ("1899-12-30",)),
    ("unknown_affiliate", "Affiliate", ("nobody", "who@notes.example.org", "-", "0")),
    ("unknown_program", "Program", ("lamps", "harbor")),
    ("other_currency", "Amount", ("12 USD", "£5.00", "$3.00")),
    ("unknown_payment", "Payment", ("april", "pa_unknown")),
    ("affiliate_of_payment", "Payment", ("of-nils",)),
    ("unknown_currency", "Currency", ("EURO", "€")),
    ("left_out", "Status", ("maybe", "2", "approved, pending")),
    ("duplicate_row", "External ID", ("order-1", "order-2", "order-3")),
    ("too_long", "External ID", ("x" * 300,)),
    ("control_character", "External ID", ("order\x07", "\x1border")),
    ("formula", "Amount", ("=1+1",)),
    ("removed_at_source", "Deleted at", ("2026-04-01", "yes", "x")),
    ("wrong_number_of_cells", "", (None, None, None, None)),
)


@pytest.fixture
def moved(scenario):
    account = scenario.account
    people = "ID,First name\nnils,Nils\nodette,Odette\n"
    store(account, "affiliates", people)
    customers = "Customer ID,Affiliate\n" + "".join(
        f"member-{number},nils\n" for number in range(20)
    )
    defaults = {"program": scenario.program.slug}
    store(account, "customers", customers, defaults=defaults)
    payments = "ID,Affiliate,Amount,Currency,Paid\nof-nils,nils,5,EUR,2026-03-05\n"
    store(account, "payments", payments)
    return account


def build_rows(program):
    return [
        [
            *(f"order-{number}", program, "odette", f"member-{number % 20}"),
            *(f"{number % 90 + 10}.50", "EUR", "1.25", "approved", ""),
            *((FIRST + timedelta(minutes=number)).isoformat(), ""),
        ]
        for number in range(1, ROWS + 1)
    ]


def plant_faults(rows):
    """Spoil one row after the other; return what must be found."""
    expected, index = set(), 10
    for code, column, values in FAULTS:
        for value in values:
            if value is None:
                rows[index] = rows[index][:5]
            else:
                rows[index][HEADER.index(column)] = value
            expected.add((index + 2, column, code))
            index += 190
    return expected


def write(rows):
    out = io.StringIO()
    csv.writer(out).writerows([HEADER, *rows])
    return out.getvalue()


def test_find_each_of_fifty_faults_in_ten_thousand_rows(scenario, moved):
    rows = build_rows(scenario.program.slug)
    expected = plant_faults(rows)
    assert len(expected) == 50
    assert len({code for _, _, code in expected}) == 20

    words = ("maybe", "2", "approved, pending")
    answers = {f"value:status:{word}": "leave_out" for word in words}
    report = build(moved, "conversions", write(rows), answers=answers).preview()

    found = {(each.row, each.column, each.code) for each in report.problems}
    assert found == expected
    assert len(report.problems) == len(expected)
    assert report.counts == {"created": ROWS - 50, "known": 0, "not_stored": 50}
    assert not moved.conversions.exists()


def test_store_what_the_preview_says(scenario, moved):
    rows = build_rows(scenario.program.slug)[:300]
    rows[100][2], rows[200][4] = "nobody", "x"
    importer = build(moved, "conversions", write(rows))
    assert importer.store().table_import is None
    assert not moved.conversions.exists()
    assert not moved.table_imports.filter(kind="conversions").exists()

    importer.only_good = True
    report = importer.store()
    assert report.counts == importer.preview().counts | {"created": 298, "known": 0}
    assert moved.conversions.count() == 298
    assert_ledger_consistent(moved)
