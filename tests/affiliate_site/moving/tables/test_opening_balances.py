"""Opening balances come from tables, too."""

from decimal import Decimal

import pytest

from affiliate_site.moving.tables.undo import TableImportBuiltUpon, undo_table_import
from payouts.errors import OpeningBalanceNotFound
from payouts.services.ledger import get_payable_balances_by_slug
from payouts.services.opening_balances import (
    post_opening_balance,
    reverse_opening_balance,
)
from tests.affiliate_site.moving.tables.building import build, store
from tests.affiliate_site.moving.tables.test_undo import LATER
from tests.ledger_checks import assert_ledger_consistent

pytestmark = pytest.mark.django_db

BALANCES = """Affiliate,Balance,Currency,Date
mina@notes.example.org,120.50,EUR,2026-04-01
mina@notes.example.org,-3,USD,2026-04-01
"""


def test_post_opening_balances_once_and_take_them_back(scenario):
    account = scenario.account
    report = store(account, "opening_balances", BALANCES)
    expected = {scenario.mina.slug: {"EUR": Decimal("120.5"), "USD": Decimal(-3)}}
    assert get_payable_balances_by_slug(account) == expected
    assert_ledger_consistent(account)
    again = build(account, "opening_balances", BALANCES).store()
    assert again.counts == {"created": 0, "known": 2, "not_stored": 0}

    removed = undo_table_import(account, public_id=report.table_import.public_id, at=LATER)
    assert removed == {"opening_balance": 2}
    assert get_payable_balances_by_slug(account) == {}
    assert_ledger_consistent(account)
    assert store(account, "opening_balances", BALANCES).counts["created"] == 2


def test_find_what_is_wrong_with_them(scenario):
    account = scenario.account
    store(account, "opening_balances", BALANCES)
    text = f"""Affiliate,Balance,Currency,Date
mina@notes.example.org,7,EUR,
{scenario.mina.slug},5,GBP,
mina@notes.example.org,5,GBP,
{scenario.mina.slug},0,CHF,
{scenario.mina.slug},1.5,JPY,
"""
    report = build(account, "opening_balances", text).preview()
    assert [(each.row, each.column, each.code) for each in report.problems] == [
        (2, "Balance", "other_opening_balance"),
        (3, "Affiliate", "duplicate_balance"),
        (4, "Affiliate", "duplicate_balance"),
        (5, "Balance", "zero_amount"),
        (6, "Balance", "too_many_decimals"),
    ]
    assert "the opening balance 120.50 EUR already" in report.problems[0].sentence


def test_refuse_to_take_back_what_staff_have_posted_instead(scenario):
    account = scenario.account
    report = store(account, "opening_balances", BALANCES)
    key = {"affiliate_id": scenario.mina.slug, "currency": "EUR", "at": LATER}
    old = account.transfers.get(amount=Decimal("120.5"))
    reverse_opening_balance(account, **key)
    post_opening_balance(account, amount=Decimal(130), **key)
    with pytest.raises(TableImportBuiltUpon, match="was taken back since"):
        undo_table_import(account, public_id=report.table_import.public_id, at=LATER)
    with pytest.raises(OpeningBalanceNotFound):
        reverse_opening_balance(account, **key, transfer=old)
    balances = get_payable_balances_by_slug(account)
    assert balances[scenario.mina.slug]["EUR"] == 130
    assert_ledger_consistent(account)


def test_refuse_to_take_back_what_was_paid(scenario):
    account = scenario.account
    report = store(account, "opening_balances", BALANCES)
    scenario.pay("120.5", at=LATER)
    with pytest.raises(TableImportBuiltUpon, match="may pay the balance of affiliate"):
        undo_table_import(account, public_id=report.table_import.public_id, at=LATER)
    assert_ledger_consistent(account)
