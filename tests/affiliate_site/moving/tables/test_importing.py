"""Tables are checked row by row, and stored as the other system had them."""

from datetime import UTC, datetime

import pytest

from affiliate_site.moving.tables.files import read_table
from affiliate_site.moving.tables.importing import TableImporter
from affiliate_site.moving.tables.kinds import KINDS
from affiliate_site.moving.tables.mappings import guess_mapping
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)


def build(account, kind, text, *, mapping=None, at=NOW, **options):
    """The import of a CSV file."""
    data = text.encode() if isinstance(text, str) else text
    table = read_table(data, "table.csv")
    guessed = guess_mapping(KINDS[kind], table.header)
    return TableImporter(
        account, KINDS[kind], table, guessed | (mapping or {}), at, **options
    )


def store(account, kind, text, **options):
    report = build(account, kind, text, **options).store()
    assert [problem.serialize() for problem in report.problems] == []
    return report


AFFILIATES = """ID,E-mail,First name,Last name,Group,Parent,Program,Status,Referral code,\
Coupon,Payout method,Payout: email,Country,Created,meta:source
odette,odette@notes.example.org,Odette,Varga,Gold,nils,harbor-lamp-partners,approved,\
od,OD10,PayPal,odette@pay.example.org,HU,2026-03-04,blog
nils,nils@notes.example.org,Nils,Berg,,,Harbor Lamp Partners,pending,,,,,,,
"""


def test_store_affiliates(scenario):
    account = scenario.account
    report = store(account, "affiliates", AFFILIATES)
    assert report.counts == {"created": 2, "known": 0, "not_stored": 0}
    odette = account.affiliates.get(slug="odette")
    assert odette.parent.slug == "nils"
    assert odette.group.title == "Gold"
    assert odette.meta_data == {"source": "blog"}
    enrollment = odette.enrollments.get()
    assert enrollment.approved is True
    assert account.referral_codes.get(enrollment=enrollment).code == "od"
    assert account.coupons.get(enrollment=enrollment).code == "OD10"
    assert account.payout_methods.get(affiliate=odette).details == {
        "email": "odette@pay.example.org"
    }
    assert_ledger_consistent(account)


def test_store_sales_and_payments(scenario):
    account = scenario.account
    store(account, "affiliates", AFFILIATES)
    customers = """Customer ID,Affiliate,Status,Created
member-1,od,paying,2026-03-05
member-2,nils@notes.example.org,,
"""
    store(account, "customers", customers, defaults={"program": "harbor-lamp-partners"})
    payments = """Payment ID,Affiliate,Amount,Currency,Paid
march,odette,10.00,EUR,2026-04-01
,nils,3.5,EUR,2026-04-02
"""
    store(account, "payments", payments)
    conversions = """Order ID,Affiliate,Customer ID,Amount,Currency,Commission,Status,\
Payment,Created
order-1,odette,member-1,100.00,EUR,10.00,paid,march,2026-03-06T10:00:00Z
order-2,nils,member-2,50,EUR,3.5,paid,,2026-03-07T10:00:00Z
order-3,nils,,50,EUR,5,approved,,2026-03-08T10:00:00Z
order-4,nils,,50,EUR,,,,2026-03-09T10:00:00Z
"""
    report = store(
        account,
        "conversions",
        conversions,
        defaults={"program": "harbor-lamp-partners"},
    )
    assert report.counts == {"created": 4, "known": 0, "not_stored": 0}
    assert_ledger_consistent(account)
    again = build(
        account,
        "conversions",
        conversions,
        defaults={"program": "harbor-lamp-partners"},
    ).store()
    assert again.counts == {"created": 0, "known": 4, "not_stored": 0}
    assert again.table_import is None
