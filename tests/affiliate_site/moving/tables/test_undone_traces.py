"""Affiliates see nothing of what an undone import had made."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from affiliate_site.moving.tables.undo import undo_table_import
from affiliate_site.portal.earnings import select_earnings
from payouts.services.statements import get_statement, hide_undone_payments, sum_statements
from tests.affiliate_site.moving.tables.building import NOW, store
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(days=1)
DEFAULTS = {"program": "harbor-lamp-partners"}
SALES = """Order,Affiliate,Amount,Currency,Commission,Status,Created,Day of payment
o-1,mina@notes.example.org,100,EUR,10,paid,2026-03-06,2026-04-01
o-2,mina@notes.example.org,100,EUR,7,approved,2026-03-07,
o-3,mina@notes.example.org,100,EUR,5,pending,2026-03-08,
"""
BALANCE = """Affiliate,Balance,Currency,Date
mina@notes.example.org,120.50,EUR,2026-03-01
"""


def read_trace(account, mina):
    """What an affiliate sees: sales, payments, statements of two periods, totals."""
    periods = [
        (date(2026, 3, 1), date(2026, 3, 31)),
        (date(2026, 4, 1), date(2026, 12, 31)),
    ]
    return [
        list(select_earnings(mina)),
        list(hide_undone_payments(account, account.payments.filter(affiliate=mina))),
        *(get_statement(account, mina, start=start, end=end).currencies for start, end in periods),
        *(sum_statements(account, [mina.pk], start=a, end=b) for a, b in periods),
    ]


def test_hide_what_an_undone_import_had_made(scenario):
    account, mina = scenario.account, scenario.mina.affiliate
    scenario.create_conversion("50")
    before = read_trace(account, mina)
    reports = [
        store(account, "conversions", SALES, defaults=DEFAULTS),
        store(account, "opening_balances", BALANCE),
    ]
    seen = read_trace(account, mina)
    assert len(seen[0]) == len(before[0]) + 3
    assert [it.amount for it in seen[1]] == [Decimal(10)]
    for report in reversed(reports):
        public_id = report.table_import.public_id
        undo_table_import(account, public_id=public_id, at=LATER)
    assert read_trace(account, mina) == before
    assert not account.mails.exists()
    assert_ledger_consistent(account)
    # The rows can be stored once more, and are seen then.
    store(account, "conversions", SALES, defaults=DEFAULTS)
    assert len(read_trace(account, mina)[0]) == len(before[0]) + 3
